package script

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestAttribute checks that missing responses count as a failure of the first
// request after which no request has a response.
func TestAttribute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		want         []int // positions of the requests that count as unanswered
	}{
		{"all after a prompt", `
> {"jsonrpc":"2.0","id":1,"method":"resources/list"}
< {"jsonrpc":"2.0","id":1,"result":{"resources":[]}}
> {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"a"}}
> {"jsonrpc":"2.0","id":3,"method":"resources/list"}
> {"jsonrpc":"2.0","id":4,"method":"ping"}
! gave-up 3
! gave-up 4`, []int{2}},
		{"a ping after it is answered", `
> {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"a"}}
> {"jsonrpc":"2.0","id":3,"method":"resources/list"}
> {"jsonrpc":"2.0","id":4,"method":"ping"}
< {"jsonrpc":"2.0","id":4,"result":{}}
! gave-up 3`, []int{1}},
		{"it was cancelled", `
> {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"a"}}
> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
> {"jsonrpc":"2.0","id":3,"method":"resources/list"}
> {"jsonrpc":"2.0","id":4,"method":"ping"}
! gave-up 4
! gave-up 3`, []int{2}},
		{"a call is before it", `
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
> {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"a"}}
> {"jsonrpc":"2.0","id":4,"method":"ping"}
! gave-up 4`, []int{2}},
		{"a call is after it", `
> {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"a"}}
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
> {"jsonrpc":"2.0","id":4,"method":"ping"}
! gave-up 4`, []int{2}},
		{"a list is between it and a call", `
> {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"a"}}
> {"jsonrpc":"2.0","id":3,"method":"resources/list"}
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
> {"jsonrpc":"2.0","id":4,"method":"ping"}
! gave-up 3
! gave-up 4`, []int{0, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec, err := transcript.ParseScript("revision: 2025-11-25\ntransport: stdio\n" + strings.TrimPrefix(c.script, "\n") + "\n")
			if err != nil {
				t.Fatal(err)
			}
			held := &Conversation{Events: rec.Events, Unresponsive: true}
			held.attributeToHungRequest()
			var got []int
			for _, e := range held.Events {
				if e.Kind == transcript.GaveUp {
					got = append(got, e.Of-1) // position 0 is the start of the process
				}
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("positions of the requests given up (-want +got):\n%s", diff)
			}
		})
	}
}
