package inventory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

func TestFixtureOutcomes(t *testing.T) {
	const (
		hello     = `> {"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}`
		mute      = `> {"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		call      = `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"t"},"name":"work","arguments":{"ms":60}}}`
		tokenless = `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":{"ms":60}}}`
		another   = `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":{"ms":60,"more":1}}}`
		done      = `< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"}]}}`
		fails     = `< {"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"no such place"}]}}`
		refuses   = `< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"ms is missing"}}`
		busy      = `< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"too many requests"}}`
		progress  = `< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`
		cancel    = `> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
		soon      = "! at 3ms"
		later     = "! at 60ms"
		debug     = "> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"debug\"}}\n< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}"
		logs      = `< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`
		samples   = `< {"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}`
		list      = `> {"jsonrpc":"2.0","id":3,"method":"tools/list"}`
		one       = `< {"jsonrpc":"2.0","id":3,"result":{"tools":[]}}`
		two       = `< {"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"a"}]}}`
		read      = `> {"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"a:b"}}`
		holds     = `< {"jsonrpc":"2.0","id":4,"result":{"contents":[]}}`
		changed   = `< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	)
	counting := map[string]any{"ms": "{count}"}
	for _, x := range []struct {
		name  string
		role  Role
		lines []string
		want  string
	}{
		{"slow", Slow, []string{call, progress, later, done}, ""},
		{"too soon", Slow, []string{call, progress, soon, done}, "answered in 3ms"},
		{"too soon and without progress", Slow, []string{call, soon, done}, "answered in 3ms, and without progress"},
		{"slow without progress", Slow, []string{call, later, done}, "reported no progress, by which it would be seen to run"},
		{"slow, and progress was not asked for", Slow, []string{tokenless, later, done}, ""},
		{"short when cancelled alone", Slow, []string{call, progress, soon, cancel}, ""},
		{"other arguments", Slow, []string{another, soon, done}, ""},
		{"never called", Slow, []string{hello}, ""},
		{"refused", Slow, []string{call, soon, refuses}, `its calls fail: error -32602 "ms is missing"`},
		{"fails", Logging, []string{call, fails}, `its calls fail: isError, and "no such place"`},
		{"fails now and then", Fails, []string{call, fails, call, done}, ""},
		{"busy", Slow, []string{call, soon, busy}, ""},
		{"progress", Progress, []string{call, progress, done}, ""},
		{"no progress", Progress, []string{call, done}, "reported no progress"},
		{"no progress asked for", Progress, []string{tokenless, done}, ""},
		{"logs", Logging, []string{debug, call, done, logs}, ""},
		{"logs nothing", Logging, []string{debug, call, done}, "sent no log message, though the level debug was set"},
		{"logs nothing where no level was set", Logging, []string{call, done}, ""},
		{"asks", AsksSampling, []string{hello, call, samples, done}, ""},
		{"asks nothing", AsksSampling, []string{hello, call, done}, "sent no sampling/createMessage"},
		{"asks nothing of who can't answer", AsksSampling, []string{mute, call, done}, ""},
		{"changes a list", ChangesTools, []string{list, one, call, done, list, two}, ""},
		{"tells of a change", ChangesTools, []string{list, one, call, done, changed, list, one}, ""},
		{"changes nothing", ChangesTools, []string{list, one, call, done, list, one}, "the list was the same afterwards, and no notification announced a change"},
		{"changes back", ChangesTools, []string{list, one, call, done, call, done, list, one}, ""},
		{"a list that was not read before", ChangesTools, []string{call, done, list, one}, ""},
		{"changes no resource", ChangesResource, []string{read, holds, call, done, read, holds}, "the resource was the same afterwards, and no notification announced a change"},
		{"fails not", Fails, []string{call, done}, "its result does not say isError"},
		{"a text", GivesText, []string{call, done}, ""},
		{"no image", GivesImage, []string{call, done}, "its result has no image"},
		{"no structure", Structured, []string{call, done}, "its result has no structuredContent"},
	} {
		t.Run(x.name, func(t *testing.T) {
			d := NewFixtureOutcomes([]Fixture{{Role: x.role, Tool: "work", Arguments: counting, Resource: "a:b", Where: "f.yaml:2:3"}})
			events := eventsOf(t, strings.Join(x.lines, "\n"))
			d.Observe(spec.V20251125, events, transcript.DialogueOf(events))
			var want []string
			if x.want != "" {
				want = []string{`f.yaml:2:3: the tool "work" is configured as ` + string(x.role) + ", but " + x.want}
			}
			if diff := cmp.Diff(want, d.Notices()); diff != "" {
				t.Errorf("notices (-want +got):\n%s", diff)
			}
		})
	}
}

// eventsOf reads the script of one conversation.
func eventsOf(t *testing.T, script string) []*transcript.Event {
	t.Helper()
	r, err := transcript.ParseScript(strings.ReplaceAll(script, "\t", ""))
	if err != nil {
		t.Fatal(err)
	}
	return r.Events
}
