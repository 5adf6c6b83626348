package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestExchangesOf checks the summary of what a case sent in a
// conversation that several cases share.
func TestExchangesOf(t *testing.T) {
	rec, err := transcript.ParseScript(`revision: 2025-11-25
transport: stdio
> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
< {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
! case tools.calls
> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
< {"jsonrpc":"2.0","id":2,"result":{"content":[]}}
> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b"}}
< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}
> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"slow"}}
> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}
> {"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"x"}}
> {"jsonrpc":"2.0","id":7,"method":"tasks/cancel","params":{"taskId":"t"}}
< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"has ended"}}
! case prompts.gets
> {"jsonrpc":"2.0","id":6,"method":"prompts/get","params":{"name":"p"}}
`)
	if err != nil {
		t.Fatal(err)
	}
	o := outcomes{}
	o.addDialogue(transcript.DialogueOf(eventsOfCase(rec.Events, true, "tools.calls")))
	if diff := cmp.Diff("resources/read (no response), tasks/cancel, tools/call (error -32602, result)", o.String()); diff != "" {
		t.Errorf("what tools.calls sent (-want +got):\n%s", diff)
	}
}
