package script

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// agreeable answers every request with as little as it can.
func agreeable(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		for _, m := range wire.Parse(lines.Bytes()).Messages {
			switch {
			case m.Kind != wire.Request:
			case m.Method == spec.MethodInitialize:
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"a","version":"1"}}}`+"\n", m.ID.Raw(), spec.V20250618)
			default:
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID.Raw())
			}
		}
	}
	return 0
}

// TestPlay: what operations send is put down to them, one whose Take finds
// nothing is skipped, and a player that was stopped begins none.
func TestPlay(t *testing.T) {
	t.Parallel()
	ping := Operation{Do: Send, Method: spec.MethodPing, Message: wire.NewRequest(wire.IntID(100), spec.MethodPing, nil)}
	next := Operation{
		Do: Send, Method: spec.MethodToolsList, Message: wire.NewRequest(wire.IntID(101), spec.MethodToolsList, nil),
		Take: []Take{{ID: Bytes("100"), From: "/result/nextCursor", Into: "cursor"}},
	}
	s := Script{Revision: spec.V20250618, Operations: []Operation{ping, {Do: Fence}, next}}
	p := Player{Dialer: stdio.InProcess("agreeable", agreeable), Timeout: time.Second, Start: 10 * time.Second}
	o := p.Play(t.Context(), s)
	if len(o.Conversations) != 1 || len(o.Skipped) != 1 || o.Skipped[0] != 2 || o.Unanswered() != "" || o.Hurried() {
		t.Fatalf("%d conversations, skipped %v, without an answer: %q", len(o.Conversations), o.Skipped, o.Unanswered())
	}
	if at, ok := o.Conversations[0].Requested(wire.IntID(100)); !ok || at != 0 || o.Operation(o.Conversations[0], wire.IntID(101)) != nil {
		t.Errorf("the ping is put down to operation %d, %v", at, ok)
	}
	stop := make(chan struct{})
	close(stop)
	p.Stop = stop
	if o := p.Play(t.Context(), s); len(o.Skipped) != 3 || len(o.Conversations) != 0 {
		t.Errorf("once stopped, %d operations were skipped and %d conversations held", len(o.Skipped), len(o.Conversations))
	}
}
