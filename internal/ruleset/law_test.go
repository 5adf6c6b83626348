package ruleset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// line is one frame: "> " and what the client sends, or "< " and what the server sends.
type line string

// and joins lines that stay together.
func and(lines ...line) line {
	parts := make([]string, 0, len(lines))
	for _, l := range lines {
		parts = append(parts, string(l))
	}
	return line(strings.Join(parts, "\n"))
}

// strand is a sequence of lines that keeps its order: a request and its response, and what
// belongs between them. Lines of other strands may come between any two of its lines.
type strand []line

// weaver draws strands of a session in one revision.
type weaver struct {
	t        *rapid.T
	revision spec.Revision
	nextID   int
	serverID int
}

func (w *weaver) id() string {
	w.nextID++
	if rapid.Bool().Draw(w.t, "id is a text") {
		return fmt.Sprintf(`"c-%d"`, w.nextID)
	}
	return fmt.Sprint(w.nextID)
}

func (w *weaver) ask(id, method, params string) line {
	if params != "" {
		params = `,"params":` + params
	}
	return line(fmt.Sprintf(`> {"jsonrpc":"2.0","id":%s,"method":%q%s}`, id, method, params))
}

func result(id, result string) line {
	return line(fmt.Sprintf(`< {"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

func refusal(id string, code int, message, data string) line {
	if data != "" {
		data = `,"data":` + data
	}
	return line(fmt.Sprintf(`< {"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q%s}}`, id, code, message, data))
}

func notice(side, method, params string) line {
	if params != "" {
		params = `,"params":` + params
	}
	return line(fmt.Sprintf(`%s {"jsonrpc":"2.0","method":%q%s}`, side, method, params))
}

// exchange returns a request and its response.
func (w *weaver) exchange(method, params, answer string) strand {
	id := w.id()
	return strand{w.ask(id, method, params), result(id, answer)}
}

func (w *weaver) refused(method, params string, code int, message, data string) strand {
	id := w.id()
	return strand{w.ask(id, method, params), refusal(id, code, message, data)}
}

const (
	toolList = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}},` +
		`{"name":"slow","description":"","inputSchema":{"type":"object"}}]}`
	resourceList = `{"resources":[{"uri":"file:///a.txt","name":"a"},{"uri":"example://b","name":"b","mimeType":"image/png"}]}`
	promptList   = `{"prompts":[{"name":"greet","arguments":[{"name":"who","required":true}]},{"name":"bare"}]}`
	said         = `{"content":[{"type":"text","text":"done"}]}`
)

// plainly returns an exchange with nothing in between.
func (w *weaver) plainly() strand {
	all := []func() strand{
		func() strand { return w.exchange("ping", "", `{}`) },
		func() strand { return w.exchange("tools/list", "", toolList) },
		func() strand { return w.exchange("tools/list", `{}`, toolList) },
		func() strand { return w.exchange("resources/list", "", resourceList) },
		func() strand {
			return w.exchange("resources/templates/list", "", `{"resourceTemplates":[{"uriTemplate":"file:///{+path}","name":"files"}]}`)
		},
		func() strand {
			return w.exchange("resources/read", `{"uri":"file:///a.txt"}`, `{"contents":[{"uri":"file:///a.txt","text":""}]}`)
		},
		func() strand {
			return w.exchange("resources/read", `{"uri":"example://b"}`, `{"contents":[{"uri":"example://b","mimeType":"image/png","blob":"iVBORw0KGgo="}]}`)
		},
		func() strand { return w.exchange("prompts/list", "", promptList) },
		func() strand {
			return w.exchange("prompts/get", `{"name":"greet","arguments":{"who":"x"}}`, `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}]}`)
		},
		func() strand { return w.exchange("prompts/get", `{"name":"bare"}`, `{"messages":[]}`) },
		func() strand { return w.exchange("tools/call", `{"name":"echo","arguments":{"text":"x"}}`, said) },
		func() strand {
			return w.exchange("tools/call", `{"name":"echo","arguments":{"text":"x"}}`, `{"content":[{"type":"text","text":"It is not there."}],"isError":true}`)
		},
		func() strand {
			return w.exchange("completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"}}`,
				`{"completion":{"values":["ab","ac"],"total":2,"hasMore":false}}`)
		},
		func() strand { return w.refused("tools/call", `{"name":"no-such-tool"}`, -32602, "Unknown tool", "") },
		func() strand {
			return w.refused("prompts/get", `{"name":"no-such-prompt"}`, -32602, "Unknown prompt", "")
		},
		func() strand {
			return w.refused("resources/read", `{"uri":"other://nowhere/at/all"}`, -32002, "Resource not found", `{"uri":"other://nowhere/at/all"}`)
		},
		func() strand { return w.refused("example/unknown", `{}`, -32601, "Method not found", "") },
		func() strand {
			return w.refused("tools/list", `{"cursor":"no such cursor"}`, -32602, "Invalid cursor", "")
		},
		func() strand {
			return strand{notice("<", "notifications/"+rapid.SampledFrom([]string{"tools", "resources", "prompts"}).Draw(w.t, "list")+"/list_changed", "")}
		},
		func() strand {
			return strand{notice(">", "notifications/roots/list_changed", "")}
		},
		func() strand { return strand{notice(">", "notifications/example", `{"a":1}`)} },
	}
	return rapid.SampledFrom(all).Draw(w.t, "exchange")()
}

// reporting returns a call that reports its progress.
func (w *weaver) reporting() strand {
	id, token := w.id(), w.id()
	s := strand{w.ask(id, "tools/call", fmt.Sprintf(`{"name":"slow","_meta":{"progressToken":%s}}`, token))}
	for i := range rapid.IntRange(0, 4).Draw(w.t, "reports") {
		s = append(s, notice("<", "notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%g,"total":4}`, token, float64(i)+0.5)))
	}
	return append(s, result(id, said))
}

// cancelled returns a call that is cancelled. A response in transit may still come, but not after
// the response to a later request.
func (w *weaver) cancelled() strand {
	id, token := w.id(), w.id()
	report := func(n int) line {
		return notice("<", "notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, token, n))
	}
	s := strand{w.ask(id, "tools/call", fmt.Sprintf(`{"name":"slow","_meta":{"progressToken":%s}}`, token))}
	if rapid.Bool().Draw(w.t, "a report before") {
		s = append(s, report(1))
	}
	cancel := notice(">", "notifications/cancelled", fmt.Sprintf(`{"requestId":%s,"reason":"enough"}`, id))
	switch rapid.IntRange(0, 3).Draw(w.t, "after the cancellation") {
	case 1:
		cancel = and(cancel, result(id, said))
	case 2:
		cancel = and(cancel, refusal(id, -32603, "It failed", ""))
	}
	return append(s, cancel)
}

// asking returns a call during which the server sends a request to the client, if the revision has
// the request that is drawn.
func (w *weaver) asking() strand {
	id := w.id()
	w.serverID++
	own := fmt.Sprint(w.serverID)
	if rapid.Bool().Draw(w.t, "the server's id is a text") {
		own = fmt.Sprintf(`"s-%d"`, w.serverID)
	}
	s := strand{w.ask(id, "tools/call", `{"name":"slow"}`)}
	pose := func(method, params, reply string) {
		if params != "" {
			params = `,"params":` + params
		}
		s = append(s, line(fmt.Sprintf(`< {"jsonrpc":"2.0","id":%s,"method":%q%s}`, own, method, params)),
			line(fmt.Sprintf(`> {"jsonrpc":"2.0","id":%s,%s}`, own, reply)))
	}
	switch rapid.IntRange(0, 3).Draw(w.t, "what is asked") {
	case 0:
		pose("roots/list", "", `"result":{"roots":[{"uri":"file:///r"}]}`)
	case 1:
		pose("sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":10}`,
			`"result":{"role":"assistant","content":{"type":"text","text":"Hi"},"model":"m"}`)
	case 2:
		pose("ping", "", `"result":{}`)
	case 3:
		if w.revision.AtLeast(spec.V20250618) {
			pose("elicitation/create", `{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`,
				`"result":{"action":"decline"}`)
		}
	}
	return append(s, result(id, said))
}

// subscribing returns a subscription with its updates; an update may cross its end.
func (w *weaver) subscribing() strand {
	on, off := w.id(), w.id()
	updated := notice("<", "notifications/resources/updated", `{"uri":"file:///a.txt"}`)
	s := strand{w.ask(on, "resources/subscribe", `{"uri":"file:///a.txt"}`)}
	if rapid.Bool().Draw(w.t, "an update before the answer") {
		s = append(s, updated)
	}
	s = append(s, result(on, `{}`))
	for range rapid.IntRange(0, 2).Draw(w.t, "updates") {
		s = append(s, updated)
	}
	s = append(s, w.ask(off, "resources/unsubscribe", `{"uri":"file:///a.txt"}`))
	if rapid.Bool().Draw(w.t, "an update that crosses the end") {
		s = append(s, updated)
	}
	return append(s, result(off, `{}`))
}

// logging returns log messages around a change of the level.
func (w *weaver) logging() strand {
	levels := []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	say := func(from int) line {
		return notice("<", "notifications/message", fmt.Sprintf(`{"level":%q,"logger":"x","data":"y"}`, levels[rapid.IntRange(from, 7).Draw(w.t, "level")]))
	}
	id, least := w.id(), rapid.IntRange(0, 7).Draw(w.t, "least level")
	s := strand{say(0), w.ask(id, "logging/setLevel", fmt.Sprintf(`{"level":%q}`, levels[least]))}
	if rapid.Bool().Draw(w.t, "a message that crosses the change") {
		s = append(s, say(0))
	}
	s = append(s, result(id, `{}`))
	for range rapid.IntRange(0, 2).Draw(w.t, "messages") {
		s = append(s, say(least))
	}
	return s
}

// walking returns a walk through a list of two pages.
func (w *weaver) walking() strand {
	first, second := w.id(), w.id()
	return strand{
		w.ask(first, "tools/list", ""),
		result(first, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":"2"}`),
		w.ask(second, "tools/list", `{"cursor":"2"}`),
		result(second, `{"tools":[{"name":"slow","inputSchema":{"type":"object"}}]}`),
	}
}

// batched returns two requests in a batch, and the batch with their responses.
func (w *weaver) batched() strand {
	a, b := w.id(), w.id()
	answers := []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, a), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, b, toolList),
	}
	if rapid.Bool().Draw(w.t, "answered in another order") {
		slices.Reverse(answers)
	}
	return strand{
		line(fmt.Sprintf(`> [{"jsonrpc":"2.0","id":%s,"method":"ping"},{"jsonrpc":"2.0","id":%s,"method":"tools/list"}]`, a, b)),
		line("< [" + strings.Join(answers, ",") + "]"),
	}
}

// strands draws the strands after the handshake.
func (w *weaver) strands() []strand {
	var out []strand
	for range rapid.IntRange(1, 12).Draw(w.t, "exchanges") {
		out = append(out, w.plainly())
	}
	for _, more := range []func() strand{w.reporting, w.reporting, w.cancelled, w.asking, w.asking, w.subscribing, w.logging} {
		if rapid.Bool().Draw(w.t, "more") {
			out = append(out, more())
		}
	}
	if w.revision.HasBatches() {
		out = append(out, w.batched())
	}
	return out
}

// woven draws an order of the lines of all strands.
func (w *weaver) woven(strands []strand) []line {
	var out []line
	for len(strands) > 0 {
		i := rapid.IntRange(0, len(strands)-1).Draw(w.t, "who is next")
		out = append(out, strands[i][0])
		if strands[i] = strands[i][1:]; len(strands[i]) == 0 {
			strands = slices.Delete(strands, i, i+1)
		}
	}
	return out
}

func (w *weaver) handshake() []line {
	capabilities := `{"roots":{"listChanged":true},"sampling":{}}`
	switch {
	case w.revision.AtLeast(spec.V20251125):
		capabilities = `{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}`
	case w.revision.AtLeast(spec.V20250618):
		capabilities = `{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}`
	}
	completions := `,"completions":{}`
	if !w.revision.AtLeast(spec.V20250326) {
		completions = ""
	}
	id := w.id()
	return []line{
		w.ask(id, "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"c","version":"1"}}`, w.revision, capabilities)),
		result(id, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},`+
			`"resources":{"subscribe":true,"listChanged":true},"logging":{}%s},"serverInfo":{"name":"s","version":"1"}}`, w.revision, completions)),
		notice(">", "notifications/initialized", ""),
	}
}

// record makes a transcript of lines, with times between them.
func record(t *rapid.T, woven []line) []*transcript.Event {
	events := []*transcript.Event{{Kind: transcript.Opened}}
	var lines []string
	for _, l := range woven {
		lines = append(lines, strings.Split(string(l), "\n")...)
	}
	var now time.Duration
	for _, l := range lines {
		now += time.Duration(rapid.IntRange(0, 3000).Draw(t, "milliseconds")) * time.Millisecond
		e := &transcript.Event{Kind: transcript.Sent, At: now, Raw: []byte(l[2:])}
		if l[0] == '<' {
			e.Kind = transcript.Received
		}
		e.Frame, e.Size = wire.Parse(e.Raw), int64(len(e.Raw))
		events = append(events, e)
	}
	events = append(events, &transcript.Event{Kind: transcript.InputClosed, At: now},
		&transcript.Event{Kind: transcript.OutputClosed, At: now}, &transcript.Event{Kind: transcript.Exited, At: now, Detail: "exit code 0"})
	for i, e := range events {
		e.Seq = i
	}
	return events
}

// TestValidSessionsInAnyOrder checks that a valid session has no findings but notes, in whatever
// order and at whatever times its parts come; nor has any prefix of it.
func TestValidSessionsInAnyOrder(t *testing.T) {
	all := ruleset.All()
	rapid.Check(t, func(t *rapid.T) {
		w := &weaver{t: t, revision: rapid.SampledFrom(spec.Revisions()).Draw(t, "revision")}
		lines := w.handshake()
		if rapid.Bool().Draw(t, "one list in pages") {
			lines = append(lines, w.walking()...)
		}
		events := record(t, append(lines, w.woven(w.strands())...))
		cut := rapid.IntRange(0, len(events)).Draw(t, "so far")
		for _, heard := range [][]*transcript.Event{events, events[:cut]} {
			if r, d := heavy(rules.Judge(all, heard, w.revision, spec.Stdio)); d != nil {
				t.Fatalf("%s of %s: %s\npermitted: %s\nseen: %s\nin:\n%s", r.Requirement, r.Rule, d.Summary, d.Permitted, d.Seen, transcriptOf(heard))
			}
		}
	})
}

func transcriptOf(events []*transcript.Event) string {
	var b strings.Builder
	for _, e := range events {
		if len(e.Raw) > 0 {
			fmt.Fprintf(&b, "%3d %-8s %s\n", e.Seq, e.Kind, e.Raw)
		}
	}
	return b.String()
}
