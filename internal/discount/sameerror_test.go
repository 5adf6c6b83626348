package discount

import (
	"fmt"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

func TestSameError(t *testing.T) {
	const (
		listTools   = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		listPrompts = `{"jsonrpc":"2.0","id":2,"method":"prompts/list","params":{}}`
		turnPage    = `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"x"}}`
		early       = `{"jsonrpc":"2.0","id":5,"method":"ping"}`
		initialize  = `{"jsonrpc":"2.0","id":8,"method":"initialize"}`
		onlyTools   = `,"result":{"capabilities":{"tools":{}}}}`
		ready       = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		malformed   = `{"jsonrpc":"2.0","id":6,"method":"ping","params":"text"}`
		unversioned = `{"id":7,"method":"ping"}`
		oddID       = `{"jsonrpc":"2.0","id":true,"method":"tools/list"}`
		ping        = `{"jsonrpc":"2.0","id":4,"method":"ping"}`
		refused     = `,"error":{"code":-32603,"message":"no tenant"}}`
		otherwise   = `,"error":{"code":-32602,"message":"no such cursor"}}`
		served      = `,"result":{}}`
		listed      = `,"result":{"tools":[],"prompts":[]}}`
		want        = `error -32603 "no tenant"`
	)
	type exchange struct{ request, id, answer string }
	for _, x := range []struct {
		name string
		met  []exchange
		want string
	}{
		{"all lists", []exchange{{listTools, "1", refused}, {listPrompts, "2", refused}}, want},
		{"a list and the pings", []exchange{{listTools, "1", refused}, {ping, "4", refused}}, want},
		{"all lists, and pings are served", []exchange{{listTools, "1", refused}, {ping, "4", served}, {listPrompts, "2", refused}}, want},
		{"a cursor for another reason", []exchange{{listTools, "1", refused}, {turnPage, "3", otherwise}, {listPrompts, "2", refused}}, want},
		{"malformed requests for other reasons", []exchange{{listTools, "1", refused}, {malformed, "6", otherwise}, {unversioned, "7", otherwise}, {oddID, "true", otherwise}, {ping, "4", refused}}, want},
		{"a request before the handshake for another reason", []exchange{{early, "5", otherwise}, {ready, "", ""}, {listTools, "1", refused}, {ping, "4", refused}}, want},
		{"a list that is declared, and the pings", []exchange{{initialize, "8", onlyTools}, {ready, "", ""}, {listTools, "1", refused}, {ping, "4", refused}}, want},
		{"a list that is not declared, and the pings", []exchange{{initialize, "8", onlyTools}, {ready, "", ""}, {listPrompts, "2", refused}, {ping, "4", refused}}, ""},
		{"one list", []exchange{{listTools, "1", refused}, {ping, "4", served}}, ""},
		{"one list is served", []exchange{{listTools, "1", refused}, {ping, "4", refused}, {listPrompts, "2", served}}, ""},
		{"for two reasons", []exchange{{listTools, "1", refused}, {listPrompts, "2", otherwise}}, ""},
		{"all are served", []exchange{{listTools, "1", listed}, {listPrompts, "2", listed}}, ""},
		{"all get {}", []exchange{{listTools, "1", served}, {listPrompts, "2", served}}, emptyResult},
		{"all but one get {}", []exchange{{listTools, "1", served}, {listPrompts, "2", listed}}, ""},
		{"one list gets {}", []exchange{{listTools, "1", served}, {ping, "4", served}}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			record := transcript.New()
			if x.met[0].request != early && x.met[0].request != initialize {
				record.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(ready)})
			}
			var first []int // positions of the responses to listTools
			for _, e := range x.met {
				record.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(e.request)})
				if e.answer == "" {
					continue
				}
				if e.request == listTools {
					first = append(first, record.Len())
				}
				record.Add(transcript.Event{Kind: transcript.Received, Raw: []byte(`{"jsonrpc":"2.0","id":` + e.id + e.answer)})
			}
			r := sameError{}
			r.observe(conversation(record.From(0)))
			if got := r.commonError(spec.V20251125); got != x.want {
				t.Errorf("the common error is %q, want %q", got, x.want)
			}
			if got := r.isCommonError(spec.V20251125, record.From(0), first); got != (x.want != "") {
				t.Errorf("it explains the first answer: %v", got)
			}
			if (r.notice() != "") != (x.want != "") {
				t.Errorf("it says %q", r.notice())
			}
		})
	}
}

// TestSameErrorWithoutHandshake checks the same in the stateless era: requests with flawed
// metadata or headers are refused for other reasons.
func TestSameErrorWithoutHandshake(t *testing.T) {
	const (
		meta    = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
		refused = `"error":{"code":-32603,"message":"no tenant"}`
		want    = `error -32603 "no tenant"`
	)
	type exchange struct{ method, meta, answer string }
	tools, prompts := exchange{"tools/list", meta, refused}, exchange{"prompts/list", meta, refused}
	for name, c := range map[string]struct {
		met  []exchange
		want string
	}{
		"all lists":          {[]exchange{tools, prompts}, want},
		"one list":           {[]exchange{tools}, ""},
		"one is served":      {[]exchange{tools, prompts, {"resources/list", meta, `"result":{}`}}, ""},
		"flawed metadata":    {[]exchange{tools, prompts, {"tools/list", ``, `"error":{"code":-32602,"message":"no version"}`}}, want},
		"a log level":        {[]exchange{tools, prompts, {"tools/list", meta + `,"io.modelcontextprotocol/logLevel":"loud"`, `"error":{"code":-32602,"message":"no level"}`}}, want},
		"flawed headers":     {[]exchange{tools, prompts, {"tools/list", meta, `"error":{"code":-32020,"message":"no method"}`}}, want},
		"an undeclared list": {[]exchange{{"server/discover", meta, `"result":{"capabilities":{"tools":{}}}`}, tools, prompts}, ""},
		"both declared":      {[]exchange{{"server/discover", meta, `"result":{"capabilities":{"tools":{},"prompts":{}}}`}, tools, prompts}, want},
		"pings":              {[]exchange{tools, {"ping", meta, refused}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			record := transcript.New()
			for i, e := range c.met {
				record.Add(transcript.Event{Kind: transcript.Sent, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":{%s}}}`, i, e.method, e.meta)})
				record.Add(transcript.Event{Kind: transcript.Received, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,%s}`, i, e.answer)})
			}
			r, events := sameError{}, record.From(0)
			r.observe(Conversation{Revision: spec.V20260728, Events: events, Dialogue: transcript.DialogueOf(events)})
			if got := r.commonError(spec.V20260728); got != c.want {
				t.Errorf("the common error is %q, want %q", got, c.want)
			}
		})
	}
}
