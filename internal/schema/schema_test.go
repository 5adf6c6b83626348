package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// describeAll returns the violations as text, one per line.
func describeAll(all []Violation) string {
	var lines []string
	for _, v := range all {
		lines = append(lines, fmt.Sprintf("%s %s %s", v.Basis, v.Kind, v))
	}
	return strings.Join(lines, "\n")
}

func TestViolations(t *testing.T) {
	const (
		r24, r3, r6, r11, r26 = spec.V20241105, spec.V20250326, spec.V20250618, spec.V20251125, spec.V20260728
		tool, ok              = spec.MethodToolsCall, ""
	)
	answer := func(result string) string { return `{"jsonrpc":"2.0","id":1,"result":` + result + `}` }
	tools := func(tool string) string { return answer(`{"tools":[` + tool + `]}`) }
	for _, c := range []struct {
		name     string
		revision spec.Revision
		asked    string
		message  string
		want     string
	}{
		{"a sound result", r11, tool, answer(`{"content":[{"type":"text","text":"a"}]}`), ok},
		{"a required member is missing", r11, spec.MethodToolsList, tools(`{"name":"a"}`),
			`schema missing /result/tools/0/inputSchema (Tool): permitted: an object that has "type"; seen: a missing member`},
		{"null is not an absent member", r11, spec.MethodToolsList, answer(`{"tools":[],"nextCursor":null}`),
			`schema wrong-type /result/nextCursor (ListToolsResult): permitted: a string; seen: null`},
		{"the result is not an object", r3, spec.MethodPing, answer(`"pong"`),
			`schema wrong-type /result: permitted: an object of type Result; seen: "pong"`},
		{"a content type of a later revision", r24, tool, answer(`{"content":[{"type":"audio","data":"","mimeType":"audio/wav"}]}`),
			`schema wrong-word /result/content/0/type (CallToolResult): permitted: one of "text", "image", "resource"; seen: "audio"`},
		{"content without a type", r6, tool, answer(`{"content":[{"text":"a"}]}`),
			`schema missing /result/content/0/type (CallToolResult): permitted: one of "text", "image", "audio", "resource_link", "resource"; seen: a missing member`},
		{"a member of a later revision may be anything", r24, spec.MethodToolsList, tools(`{"name":"a","inputSchema":{"type":"object"},"annotations":1}`), ok},
		{"a member of a later revision is judged in that revision", r3, spec.MethodToolsList, tools(`{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}`),
			`schema wrong-type /result/tools/0/annotations/readOnlyHint (ToolAnnotations): permitted: true or false; seen: "yes"`},
		{"structuredContent is an object", r11, tool, answer(`{"content":[],"structuredContent":[1]}`),
			`schema wrong-type /result/structuredContent (CallToolResult): permitted: an object; seen: [1]`},
		{"structuredContent may be anything since 2026-07-28", r26, tool, answer(`{"resultType":"complete","content":[],"structuredContent":null}`), ok},
		{"the stateless era wants a resultType", r26, tool, answer(`{"content":[]}`),
			`schema missing /result/resultType (CallToolResult): permitted: a string; seen: a missing member`},
		{"a result that requires input", r26, tool, answer(`{"resultType":"input_required","inputRequests":{"a/b":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a"}},"c":{"method":"ping"}}}`),
			`schema wrong-word /result/inputRequests/c/method (InputRequiredResult): permitted: one of "sampling/createMessage", "roots/list", "elicitation/create"; seen: "ping"`},
		{"a result that requires nothing", r26, tool, answer(`{"resultType":"input_required"}`),
			`beyond-schema no-input-required /result (InputRequiredResult): permitted: inputRequests, requestState or both; seen: neither`},
		{"a result of an extension", r26, tool, answer(`{"resultType":"example","anything":1}`), ok},
		{"a task instead of the result", r11, tool, answer(`{"task":{"taskId":"1","status":"working","createdAt":"2025-01-01T00:00:00Z","lastUpdatedAt":"now","ttl":null}}`),
			`beyond-schema not-date /result/task/lastUpdatedAt (Task): permitted: an ISO 8601 date or time, such as 2025-01-12T15:00:58Z; seen: "now"`},
		{"priority beyond 1", r6, spec.MethodResourcesList, answer(`{"resources":[{"uri":"a:b","name":"n","annotations":{"priority":1.5}}]}`),
			`schema out-of-range /result/resources/0/annotations/priority (Annotations): permitted: a number from 0 to 1; seen: 1.5`},
		{"a size that is not an integer", r6, spec.MethodResourcesList, answer(`{"resources":[{"uri":"a:b","name":"n","size":1.5},{"uri":"a:b","name":"n","size":1e2}]}`),
			`schema wrong-type /result/resources/0/size (Resource): permitted: an integer; seen: 1.5`},
		{"no absolute URI", r6, spec.MethodResourcesList, answer(`{"resources":[{"uri":"a b","name":"n"}]}`),
			`beyond-schema not-uri /result/resources/0/uri (Resource): permitted: an absolute URI (RFC 3986), with a scheme and without illegal characters; seen: "a b"`},
		{"neither text nor blob", r6, spec.MethodResourcesRead, answer(`{"contents":[{"uri":"a:b"}]}`),
			`schema missing /result/contents/0 (ResourceContents): permitted: an object with text or blob; seen: {"uri":"a:b"}`},
		{"text that is none", r6, spec.MethodResourcesRead, answer(`{"contents":[{"uri":"a:b","text":1}]}`),
			`schema wrong-type /result/contents/0/text (TextResourceContents): permitted: a string; seen: 1`},
		{"both text and blob", r6, spec.MethodResourcesRead, answer(`{"contents":[{"uri":"a:b","text":"","blob":""}]}`),
			`beyond-schema text-and-blob /result/contents/0 (ResourceContents): permitted: either text or blob; seen: both`},
		{"a blob that is not base64", r6, spec.MethodResourcesRead, answer(`{"contents":[{"uri":"a:b","blob":"data:,a"}]}`),
			`beyond-schema not-base64 /result/contents/0/blob (BlobResourceContents): permitted: standard base64 (RFC 4648, section 4), without the prefix of a data: URI; seen: "data:,a"`},
		{"an image that is text", r6, tool, answer(`{"content":[{"type":"image","data":"","mimeType":"text/plain"}]}`),
			`beyond-schema other-mime /result/content/0/mimeType (ImageContent): permitted: the MIME type of an image; seen: "text/plain"`},
		{"too many values", r11, spec.MethodComplete, answer(`{"completion":{"values":["` + strings.Repeat(`a","`, 100) + `"]}}`),
			`beyond-schema too-many /result/completion/values (Completion): permitted: at most 100 elements; seen: 101 elements`},
		{"too many values, asserted", r26, spec.MethodComplete, answer(`{"resultType":"complete","completion":{"values":["` + strings.Repeat(`a","`, 100) + `"]}}`),
			`schema too-many /result/completion/values (Completion): permitted: at most 100 elements; seen: 101 elements`},
		{"an icon that is a script", r11, spec.MethodInitialize, answer(`{"protocolVersion":"","capabilities":{"tools":{}},"serverInfo":{"name":"","version":"","icons":[{"src":"javascript:a","sizes":["48"]}]}}`),
			`beyond-schema icon-scheme /result/serverInfo/icons/0/src (Icon): permitted: an http, https or data URI; seen: "javascript:a"` + "\n" +
				`beyond-schema icon-size /result/serverInfo/icons/0/sizes/0 (Icon): permitted: a size such as "48x48", or "any"; seen: "48"`},
		{"a schema that is none", r11, spec.MethodToolsList, tools(`{"name":"a","inputSchema":{"type":"object","properties":{"a":{"type":"text"}}}}`),
			`beyond-schema not-dialect /result/tools/0/inputSchema (Tool): permitted: a valid JSON Schema of its dialect; seen: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string' at /properties/a/type`},
		{"an error without a code", r6, "", `{"jsonrpc":"2.0","id":1,"error":{"message":"a"}}`,
			`schema missing /error/code (Error): permitted: an integer; seen: a missing member`},
		{"an error with data of its own", r26, "", `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"a","data":{"supported":"2026-07-28","requested":""}}}`,
			`schema wrong-type /error/data/supported (UnsupportedProtocolVersionError): permitted: an array; seen: "2026-07-28"`},
		{"params that are missing", r6, "", `{"jsonrpc":"2.0","method":"notifications/progress"}`,
			`schema missing /params: permitted: an object that has "progressToken" and "progress"; seen: a missing member`},
		{"a progress token", r6, "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.5,"progress":1}}`,
			`schema wrong-type /params/progressToken (ProgressNotification): permitted: a string or an integer; seen: 1.5`},
		{"a log level", r6, "", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warn","data":1}}`,
			`schema wrong-word /params/level (LoggingMessageNotification): permitted: one of "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"; seen: "warn"`},
		{"a method of an extension", r11, "", `{"jsonrpc":"2.0","method":"notifications/x","params":[]}`,
			`schema wrong-type /params: permitted: an object; seen: []`},
		{"a request", r6, "", `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[]}}`,
			`schema missing /params/maxTokens (CreateMessageRequestParams): permitted: an integer; seen: a missing member`},
		{"the last of two counts", r6, spec.MethodToolsList, answer(`{"tools":1,"tools":[]}`), ok},
		{"a name with escapes", r6, spec.MethodToolsList, answer(`{"\u0074ools":1}`),
			`schema wrong-type /result/tools (ListToolsResult): permitted: an array; seen: 1`},
		{"a name that pointers escape", r6, spec.MethodInitialize, answer(`{"protocolVersion":"","capabilities":{"experimental":{"a/~\"b":1}},"serverInfo":{"name":"","version":""}}`),
			`schema wrong-type /result/capabilities/experimental/a~1~0"b (ServerCapabilities): permitted: an object; seen: 1`},
		{"what is not a message", r6, "", `[]`, ok},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []Violation
			for _, m := range wire.Parse([]byte(c.message)).Messages {
				got = For(c.revision).CheckMessage(&m, c.asked)
			}
			if diff := cmp.Diff(c.want, describeAll(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.message, diff)
			}
		})
	}
}

// TestDescribe checks that the texts name a missing member, and that they name the place of an
// object that lacks one of several members.
func TestDescribe(t *testing.T) {
	for name, c := range map[string]struct{ asked, result, permitted, seen string }{
		"a missing member":          {spec.MethodResourcesRead, `{"contents":[{"text":""}]}`, "uri: a string", "no uri in /result/contents/0"},
		"one of several is missing": {spec.MethodResourcesRead, `{"contents":[{"uri":"a:b"}]}`, "an object with text or blob", `{"uri":"a:b"} at /result/contents/0`},
		"a wrong value":             {spec.MethodToolsList, `{"tools":1}`, "an array", "1 at /result/tools"},
	} {
		t.Run(name, func(t *testing.T) {
			m := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":` + c.result + `}`)).Messages[0]
			permitted, seen := For(spec.V20250618).CheckMessage(&m, c.asked)[0].Describe("")
			if diff := cmp.Diff([]string{c.permitted, c.seen}, []string{permitted, seen}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.result, diff)
			}
		})
	}
}

func TestForAnyRevision(t *testing.T) {
	for asked, want := range map[spec.Revision]spec.Revision{
		"": spec.V20241105, "2024-10-07": spec.V20241105, spec.V20250618: spec.V20250618, "2025-12-01": spec.V20251125, "2030-01-01": spec.V20260728,
	} {
		if got := For(asked).Revision(); got != want {
			t.Errorf("For(%q) judges by %s, want %s", asked, got, want)
		}
	}
	if first, second := For(spec.V20250618), For(spec.V20250618); first != second {
		t.Error("For compiles a validator twice")
	}
}

func TestSeveralGoroutines(t *testing.T) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for _, c := range typicalMessages() {
				for _, m := range wire.Parse([]byte(c.message)).Messages {
					v := For(spec.Revisions()[i%4])
					if got := v.CheckMessage(&m, c.asked); len(got) > 0 != (c.name == "broken") {
						t.Errorf("%s: %v", c.name, got)
					}
					if got := v.CheckStructuredContent([]byte(`{"type":"null"}`), []byte(`1`)); len(got) != 1 {
						t.Errorf("structured: %v", got)
					}
				}
			}
		})
	}
	group.Wait()
}

func TestManyViolationsAreBounded(t *testing.T) {
	v := For(spec.V20250618)
	if got := len(v.CheckResult(spec.MethodToolsList, []byte(`{"tools":[`+strings.Repeat("1,", 10_000)+`1]}`))); got != MaxViolations {
		t.Errorf("%d violations, want %d", got, MaxViolations)
	}
	long := strings.Repeat(`a`, 1<<20)
	for _, f := range v.CheckResult(spec.MethodToolsList, []byte(`{"tools":"`+long+`"}`)) {
		if len(f.String()) > 400 {
			t.Errorf("a violation has %d bytes", len(f.String()))
		}
	}
	for _, f := range v.CheckResult(spec.MethodInitialize, []byte(`{"protocolVersion":"","capabilities":{"experimental":{"`+long+`":1}},"serverInfo":{"name":"","version":""}}`)) {
		if len(f.String()) > 400 {
			t.Errorf("a violation has %d bytes", len(f.String()))
		}
	}
}

// judgedMethods are the methods by which arbitrary values are judged.
var judgedMethods = []string{
	spec.MethodInitialize, spec.MethodToolsList, spec.MethodToolsCall, spec.MethodResourcesRead, spec.MethodResourcesList,
	spec.MethodResourcesTemplates, spec.MethodPromptsGet, spec.MethodComplete, spec.MethodTasksGet, spec.MethodSampling, "other",
}

func TestArbitraryBytes(t *testing.T) {
	fragments := []string{
		"{", "}", "[", "]", ",", ":", `"`, `\`, " ", `"tools":`, `"content":[`, `{"type":"text"`, `"uri":"`, `"mimeType"`, "1", "-", "1e9999", "null", "\xff", `"\ud800"`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		raw := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 30).Draw(rt, "parts"), ""))
		v := For(rapid.SampledFrom(spec.Revisions()).Draw(rt, "revision"))
		v.CheckResult(rapid.SampledFrom(judgedMethods).Draw(rt, "method"), raw)
		v.CheckError(raw)
		v.CheckStructuredContent(raw, raw)
	})
}

func TestDrawnInstancesAreValid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := For(rapid.SampledFrom(spec.Revisions()).Draw(rt, "revision"))
		for _, types := range []map[string]*schemaType{v.notifications, v.requests} {
			t := types[rapid.SampledFrom(append(sorted(types), "")).Draw(rt, "method")]
			if t == nil {
				t = v.plain.notification
			}
			raw := wire.JSON(drawInstance(rt, t))
			if got := asserted(onlyViolations(v.judge("", raw, t))); len(got) > 0 {
				rt.Fatalf("%s: %v", raw, got)
			}
		}
	})
}

func TestArbitraryJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := For(rapid.SampledFrom(spec.Revisions()).Draw(rt, "revision"))
		method := rapid.SampledFrom(judgedMethods).Draw(rt, "method")
		var value any = map[string]any{}
		for _, c := range v.results[method] {
			value = drawInstance(rt, c.typ)
		}
		for range rapid.IntRange(1, 8).Draw(rt, "mutations") {
			if m := drawMutation(rt, value, []string{"type", "text", "tools", "content", "uri"}); !isDropped(m) {
				value = m
			}
		}
		raw := wire.JSON(value)
		all := v.CheckResult(method, raw)
		if len(all) > MaxViolations {
			rt.Fatalf("%d violations", len(all))
		}
		for _, f := range all {
			at := wire.At(raw, f.Pointer)
			if f.Kind == Missing && !strings.HasPrefix(f.Permitted, "an object with") {
				if at != nil {
					rt.Fatalf("%s: %v is there", raw, f)
				}
			} else if at == nil {
				rt.Fatalf("%s: %v points nowhere", raw, f)
			}
			if f.Permitted == "" || f.Seen == "" {
				rt.Fatalf("%+v says nothing", f)
			}
		}
		// Whitespace must not change the result.
		var spaced strings.Builder
		enc := json.NewEncoder(&spaced)
		enc.SetIndent(" ", "\t")
		enc.SetEscapeHTML(true)
		if err := enc.Encode(value); err != nil {
			rt.Fatal(err)
		}
		if got, want := len(v.CheckResult(method, []byte(" "+spaced.String()))), len(all); got != want {
			rt.Fatalf("%d violations with spaces, %d without", got, want)
		}
	})
}
