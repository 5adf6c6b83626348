package discount

import (
	"strings"
	"testing"
)

func TestRefusedCalls(t *testing.T) {
	const (
		list    = `> {"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b"}]}}`
		call    = `> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","arguments":{}}}`
		call2   = `> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b","arguments":{}}}`
		unknown = `> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"none","arguments":{}}}`
		refused = `< {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"in use"}}`
		another = `< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}`
		failed  = `< {"jsonrpc":"2.0","id":3,"result":{"content":[],"isError":true}}`
		want    = `every call of a tool was refused (2 tools; "a" with the error -32600 "in use"), so little of them was judged: is the server configured correctly, and are the arguments right (tools.arguments in mcp-conform.yaml)?`
	)
	for _, x := range []struct {
		name          string
		conversations [][]string
		want          string
	}{
		{"all", [][]string{{list, call, refused, call2, another}}, want},
		{"all, in two conversations", [][]string{{list, call, refused}, {call2, another}}, want},
		{"one tool", [][]string{{list, call, refused}}, ""},
		{"one tool and an unknown one", [][]string{{list, call, refused, unknown, another}}, ""},
		{"one tool runs and fails", [][]string{{list, call, refused, call2, failed}}, ""},
		{"no response", [][]string{{list, call, call2}}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := refusedCalls{}
			for _, lines := range x.conversations {
				r.observe(conversation(eventsOf(t, strings.Join(lines, "\n"))))
			}
			if got := r.notice(); got != x.want {
				t.Errorf("said %q, want %q", got, x.want)
			}
		})
	}
}
