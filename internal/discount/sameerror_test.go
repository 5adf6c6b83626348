package discount

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

func TestSameError(t *testing.T) {
	const (
		listTools   = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		listPrompts = `{"jsonrpc":"2.0","id":2,"method":"prompts/list","params":{}}`
		turnPage    = `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"x"}}`
		ping        = `{"jsonrpc":"2.0","id":4,"method":"ping"}`
		refused     = `,"error":{"code":-32603,"message":"no tenant"}}`
		otherwise   = `,"error":{"code":-32602,"message":"no such cursor"}}`
		served      = `,"result":{}}`
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
		{"one list", []exchange{{listTools, "1", refused}, {ping, "4", served}}, ""},
		{"one list is served", []exchange{{listTools, "1", refused}, {ping, "4", refused}, {listPrompts, "2", served}}, ""},
		{"for two reasons", []exchange{{listTools, "1", refused}, {listPrompts, "2", otherwise}}, ""},
		{"all are served", []exchange{{listTools, "1", served}, {listPrompts, "2", served}}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			record := transcript.New()
			for _, e := range x.met {
				record.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(e.request)})
				record.Add(transcript.Event{Kind: transcript.Received, Raw: []byte(`{"jsonrpc":"2.0","id":` + e.id + e.answer)})
			}
			r := sameError{}
			r.observe(conversation(record.From(0)))
			if got := r.commonError(spec.V20251125); got != x.want {
				t.Errorf("the common error is %q, want %q", got, x.want)
			}
			if got := r.isCommonError(spec.V20251125, record.From(0), []int{0, 1}); got != (x.want != "") {
				t.Errorf("it explains the first answer: %v", got)
			}
			if (r.notice() != "") != (x.want != "") {
				t.Errorf("it says %q", r.notice())
			}
		})
	}
}
