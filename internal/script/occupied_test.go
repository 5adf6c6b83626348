package script

import (
	"slices"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

func TestExcuse(t *testing.T) {
	for _, test := range []struct {
		name, script string
		excused      bool
	}{
		{"a ping after a call", `
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
> {"jsonrpc":"2.0","id":2,"method":"ping"}
! gave-up 2`, true},
		{"what was asked before was answered", `
> {"jsonrpc":"2.0","id":1,"method":"ping"}
> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
< {"jsonrpc":"2.0","id":1,"result":{}}
> {"jsonrpc":"2.0","id":3,"method":"ping"}
! gave-up 3`, true},
		{"what was asked after the call was answered", `
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
> {"jsonrpc":"2.0","id":2,"method":"ping"}
< {"jsonrpc":"2.0","id":2,"result":{}}
> {"jsonrpc":"2.0","id":3,"method":"ping"}
! gave-up 3`, false},
		{"the call was answered", `
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
> {"jsonrpc":"2.0","id":2,"method":"ping"}
! gave-up 2`, false},
		{"no call", `
> {"jsonrpc":"2.0","id":1,"method":"resources/list"}
> {"jsonrpc":"2.0","id":2,"method":"ping"}
! gave-up 2`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec, err := transcript.ParseScript("revision: 2025-11-25\ntransport: stdio\n" + test.script + "\n")
			if err != nil {
				t.Fatal(err)
			}
			talk := &Conversation{Events: rec.Events, Unresponsive: true}
			talk.excuse()
			gaveUp := slices.ContainsFunc(talk.Events, func(e *transcript.Event) bool { return e.Kind == transcript.GaveUp })
			if talk.Unresponsive != !test.excused || gaveUp == test.excused || (talk.Unanswered != "") != !talk.Unresponsive {
				t.Errorf("deaf %t, counted %t, unanswered %q", talk.Unresponsive, gaveUp, talk.Unanswered)
			}
		})
	}
}
