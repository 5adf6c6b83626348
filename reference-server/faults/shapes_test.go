package faults_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// notOfShape contains the requirements and faults in the tables of shape faults that
// validation against a schema does not find, each with the reason.
var notOfShape = map[string]string{
	"content.prompt-embedded.mime-type-present":                      "the type has it optional, the page of prompts demands it",
	"tools.structured.present":                                       "it is a matter of the tool's outputSchema",
	"tools.structured.text-copy":                                     "it is a comparison",
	"cancellation.request-id-present":                                "the type has it optional, the page demands it",
	"logging.set-level.empty-result":                                 "results are open to other members",
	"elicitation.required-error.lists-elicitations-2025-11-25/empty": "the type does not say how many",
}

// TestShapesShow validates the messages of each server with a shape fault against the
// schemas. The validation must report the faults, at the pointers in the golden file, and
// no legal variation.
func TestShapesShow(t *testing.T) {
	var golden strings.Builder
	right := map[spec.Revision]string{}
	for _, r := range spec.HandshakeRevisions() {
		_, right[r] = objections(t, faultless, r)
	}
	for _, f := range faults.Shapes() {
		f := *f
		found := map[spec.Revision]string{}
		for _, r := range revisions(f, spec.Stdio) {
			all, said := objections(t, f.Seams, r)
			if found[r] = strings.Join(all, "\n\t"); said == right[r] {
				t.Errorf("%s in %s: the fault has no effect", f.ID, r)
			}
			why := notOfShape[f.Requirement] + notOfShape[f.ID]
			if silent := f.Legal || why != ""; silent != (found[r] == "") {
				t.Errorf("%s in %s: the schemas report %q; want no report: %v", f.ID, r, found[r], silent)
			}
		}
		if last := revisions(f, spec.Stdio)[len(revisions(f, spec.Stdio))-1]; found[last] != "" {
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

// TestTheRightServerHasShape checks that the messages of the server without faults are
// valid and reproducible.
func TestTheRightServerHasShape(t *testing.T) {
	for _, r := range spec.HandshakeRevisions() {
		got, first := objections(t, faultless, r)
		if len(got) > 0 {
			t.Errorf("%s: %q", r, got)
		}
		if _, second := objections(t, faultless, r); first != second {
			t.Errorf("%s: two runs differ:\n%s", r, cmp.Diff(first, second))
		}
	}
}

var (
	index  = regexp.MustCompile(`/\d+`)
	random = regexp.MustCompile(`[A-Z2-7]{26}`) // random ids, such as those of elicitations
)

// objections returns the schema violations in the messages of a server, one for each
// place, and the server's messages, sorted.
func objections(t *testing.T, seams func() refserver.Seams, r spec.Revision) (found []string, text string) {
	t.Helper()
	v := schema.For(r)
	var out []string
	var outputs []schema.Violation
	object := func(method string, all []schema.Violation) {
		for _, x := range all {
			line := fmt.Sprintf("%s %s %s %s", method, index.ReplaceAllString(x.Pointer, "/*"), x.Kind, x.Basis)
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	all := playTour(t, acceptingVisitor, seams, r)
	for _, s := range all {
		for i := range s.messages {
			m := &s.messages[i]
			method := s.method + m.Method
			object(method, v.CheckMessage(m, s.method))
			if got := wire.At(m.Result(), "/structuredContent"); s.method == spec.MethodToolsCall && got.Kind() == '{' {
				outputs = append(outputs, v.CheckStructuredContent(outputSchema, got)...)
			}
		}
	}
	object("structured", outputs)
	slices.Sort(out)
	return out, messagesText(all)
}

// messagesText returns the server's messages, sorted.
func messagesText(all []receivedFrame) string {
	var lines []string
	for _, h := range all {
		for _, m := range h.messages {
			lines = append(lines, random.ReplaceAllString(string(m.Raw), "ID"))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// outputSchema is the output schema of add, the only called tool with structured
// content.
var outputSchema = []byte(`{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}`)
