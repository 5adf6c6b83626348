package faults_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

var update = flag.Bool("update", false, "write the golden file anew")

// besideShape are the requirements, or faults, that no schema shows, and why
// they are kept among the faults of shape.
var besideShape = map[string]string{
	"content.prompt-embedded.mime-type-present":                      "the type has it optional, the page of prompts demands it",
	"tools.structured.present":                                       "it is a matter of the tool's outputSchema",
	"tools.structured.text-copy":                                     "it is a comparison",
	"completion.total.not-below-values":                              "it is a comparison",
	"completion.has-more.consistent":                                 "it is a comparison",
	"cancellation.request-id-present":                                "the type has it optional, the page demands it",
	"logging.set-level.empty-result":                                 "results are open to other members",
	"elicitation.required-error.lists-elicitations-2025-11-25/empty": "the type does not say how many",
}

// TestShapesShow holds a conversation with each server whose fault is one of
// shape, and holds what it says against the schemas: they object to the
// faults, at the places that the golden file shows, and to no variation.
func TestShapesShow(t *testing.T) {
	var golden strings.Builder
	right := map[spec.Revision]string{}
	for _, r := range spec.HandshakeRevisions() {
		_, right[r] = objections(t, refserver.Seams{}, r)
	}
	for _, f := range faults.Shapes() {
		found := map[spec.Revision]string{}
		for _, r := range revisions(f) {
			all, said := objections(t, f.Seams(), r)
			if found[r] = strings.Join(all, "\n\t"); said == right[r] {
				t.Errorf("%s in %s: the server behaves as without the fault", f.ID, r)
			}
			why := besideShape[f.Requirement] + besideShape[f.ID]
			if silent := f.Legal || why != ""; silent != (found[r] == "") {
				t.Errorf("%s in %s: the schemas say %q; to be silent: %v", f.ID, r, found[r], silent)
			}
		}
		if last := revisions(f)[len(revisions(f))-1]; found[last] != "" {
			fmt.Fprintf(&golden, "%s\n\t%s\n", f.ID, found[last])
		}
	}
	const file = "testdata/shapes.golden"
	if *update {
		if err := os.WriteFile(file, []byte(golden.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(golden.String(), "\n")); diff != "" {
		t.Errorf("objections (-want +got), see -update:\n%s", diff)
	}
}

// TestTheRightServerHasShape shows that an objection means something.
func TestTheRightServerHasShape(t *testing.T) {
	for _, r := range spec.HandshakeRevisions() {
		got, first := objections(t, refserver.Seams{}, r)
		if len(got) > 0 {
			t.Errorf("%s: %q", r, got)
		}
		if _, second := objections(t, refserver.Seams{}, r); first != second {
			t.Errorf("%s: two runs differ:\n%s", r, cmp.Diff(first, second))
		}
	}
}

var (
	index  = regexp.MustCompile(`/\d+`)
	random = regexp.MustCompile(`[A-Z2-7]{26}`) // the ids of elicitations
)

// objections returns what the schemas say of a server, each place once, and
// what the server said, in some order.
func objections(t *testing.T, seams refserver.Seams, r spec.Revision) (found []string, said string) {
	t.Helper()
	v := schema.For(r)
	var out, lines []string
	var outputs []schema.Violation
	object := func(method string, all []schema.Violation) {
		for _, x := range all {
			line := fmt.Sprintf("%s %s %s %s", method, index.ReplaceAllString(x.Pointer, "/*"), x.Kind, x.Basis)
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	for _, s := range tour(t, seams, r) {
		for i := range s.messages {
			m := &s.messages[i]
			lines = append(lines, random.ReplaceAllString(string(m.Raw), "ID"))
			method := s.asked + m.Method
			object(method, v.Message(m, s.asked))
			if got := wire.At(m.Result(), "/structuredContent"); s.asked == spec.MethodToolsCall && got.Kind() == '{' {
				outputs = append(outputs, v.Structured(outputSchema, got)...)
			}
		}
	}
	object("structured", outputs)
	slices.Sort(out)
	slices.Sort(lines)
	return out, strings.Join(lines, "\n")
}

// outputSchema is that of the one tool called that has structured content.
var outputSchema = []byte(`{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}`)

// heard is one frame of the server: its messages, and what they answer.
type heard struct {
	asked    string
	messages []wire.Message
}

// tour uses everything that the server offers, in a bubble whose time passes
// at once, and returns what it said.
func tour(t *testing.T, seams refserver.Seams, r spec.Revision) []heard {
	t.Helper()
	var all []heard
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards all, and the session's reader
		var s *refserver.Session
		replies := make(chan []byte, 100)
		s = refserver.NewSession(t.Context(), refserver.Options{Seams: seams, PageSize: 100, AskTimeout: time.Second}, func(o *refserver.Out) {
			mu.Lock()
			defer mu.Unlock()
			for _, raw := range o.Frames {
				h := heard{messages: wire.Parse(raw).Messages}
				if o.Kind == refserver.OutResult || o.Kind == refserver.OutError {
					h.asked = o.Method
				}
				all = append(all, h)
				for _, m := range h.messages {
					if m.Kind == wire.Request && m.Method != spec.MethodPing { // a ping is given up in the end
						replies <- wire.NewResult(m.ID, map[string]any{"action": "accept", "content": map[string]any{}})
					}
				}
			}
		})
		for _, line := range questions(r) {
			s.Deliver([]byte(line))
			synctest.Wait()
			for len(replies) > 0 {
				s.Deliver(<-replies)
				synctest.Wait()
			}
			time.Sleep(100 * time.Millisecond) // for the tools that take their time
		}
		s.Close(context.Background())
	})
	return all
}

func questions(r spec.Revision) []string {
	lines := []string{
		initialize(string(r), `{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}`), initialized,
		request("1", "tools/list", ""), request("2", "prompts/list", ""), request("3", "resources/list", ""), request("4", "resources/templates/list", ""),
		request("5", "logging/setLevel", `{"level":"debug"}`), request("6", "resources/subscribe", `{"uri":"demo://note"}`),
		request("7", "completion/complete", `{"ref":{"type":"ref/prompt","name":"greeting"},"argument":{"name":"style","value":"f"}}`),
		request("8", "completion/complete", `{"ref":{"type":"ref/resource","uri":"demo://items/{number}"},"argument":{"name":"number","value":""}}`),
		request("9", "com.example/none", ""), request("10", "tools/call", `{"name":"add","arguments":{"a":1,"b":2}}`),
		request("11", "tools/call", `{"name":"slow","arguments":{"durationMs":20,"steps":2},"_meta":{"progressToken":"t"}}`),
		request("12", "tools/call", `{"name":"trigger-list-changed"}`), request("13", "resources/read", `{"uri":"demo://items/1"}`),
	}
	for i, name := range []string{"echo", "content", "fail", "log", "update-resource", "ask-ping", "ask-roots", "ask-sampling", "ask-sampling-media", "ask-elicitation", "ask-elicitation-fields", "ask-elicitation-url"} {
		arguments := "{}"
		if name == "echo" {
			arguments = `{"text":"é"}`
		}
		lines = append(lines, request(fmt.Sprint(20+i), "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)))
	}
	for i, name := range []string{"hello", "greeting", "conversation", "picture", "document", "sound", "everything"} {
		lines = append(lines, request(fmt.Sprint(40+i), "prompts/get", fmt.Sprintf(`{"name":%q,"arguments":{"name":"Ada"}}`, name)))
	}
	for i, uri := range []string{"demo://text/hello", "demo://image/dot", "demo://json/object", "demo://note"} {
		lines = append(lines, request(fmt.Sprint(60+i), "resources/read", fmt.Sprintf(`{"uri":%q}`, uri)))
	}
	return append(lines, request("70", "resources/unsubscribe", `{"uri":"demo://note"}`))
}
