package script

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// minimalServer is a server that answers every request with a minimal result.
func minimalServer(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
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

// TestPlay checks that requests are attributed to their operations, that an operation whose Take
// finds no value is skipped, and that a stopped player begins no further operation.
func TestPlay(t *testing.T) {
	t.Parallel()
	ping := Operation{Do: Send, Method: spec.MethodPing, Message: wire.NewRequest(wire.IntID(100), spec.MethodPing, nil)}
	next := Operation{
		Do: Send, Method: spec.MethodToolsList, Message: wire.NewRequest(wire.IntID(101), spec.MethodToolsList, nil),
		Take: []Take{{ID: Bytes("100"), From: "/result/nextCursor", Into: "cursor"}},
	}
	s := Script{Revision: spec.V20250618, Operations: []Operation{ping, {Do: Fence}, next}}
	p := Player{Dialer: stdio.InProcess("agreeable", minimalServer), Timeout: time.Second, Start: 10 * time.Second}
	o := p.Play(t.Context(), s)
	if len(o.Conversations) != 1 || len(o.Skipped) != 1 || o.Skipped[0] != 2 || o.Unanswered() != "" || o.WaitedBriefly() {
		t.Fatalf("%d conversations, skipped %v, without an answer: %q", len(o.Conversations), o.Skipped, o.Unanswered())
	}
	c := o.Conversations[0]
	for _, m := range transcript.Messages(c.Events, transcript.Sent) {
		switch got := o.OperationOf(c, m); m.ID.Key() {
		case wire.IntID(100).Key():
			if got != &o.Script.Operations[0] {
				t.Errorf("the ping is attributed to %+v", got)
			}
		case wire.IntID(101).Key():
			t.Errorf("the skipped request was sent, for %+v", got)
		}
	}
	stop := make(chan struct{})
	close(stop)
	p.Stop = stop
	if o := p.Play(t.Context(), s); len(o.Skipped) != 3 || len(o.Conversations) != 0 {
		t.Errorf("once stopped, %d operations were skipped and %d conversations held", len(o.Skipped), len(o.Conversations))
	}
}

// TestReusedID checks that each response is attributed to the operation that sent its request, also
// if several operations use the same id.
func TestReusedID(t *testing.T) {
	t.Parallel()
	s := Script{Revision: spec.V20250618}
	for _, method := range []string{spec.MethodToolsList, spec.MethodPing, spec.MethodPing} {
		s.Operations = append(s.Operations, Operation{Do: Send, Method: method, Message: wire.NewRequest(wire.IntID(100), method, nil), Await: true})
	}
	o := Player{Dialer: stdio.InProcess("agreeable", minimalServer), Timeout: time.Second, Start: 10 * time.Second}.Play(t.Context(), s)
	if len(o.Conversations) != 1 {
		t.Fatalf("%d conversations", len(o.Conversations))
	}
	var requests, responses []int
	for e, m := range transcript.Messages(o.Conversations[0].Events) {
		switch at, ok := o.Conversations[0].Requested(m); {
		case !ok:
		case e.Kind == transcript.Sent:
			requests = append(requests, at)
		default:
			responses = append(responses, at)
		}
	}
	want := []int{0, 1, 2}
	if !slices.Equal(requests, want) || !slices.Equal(responses, want) {
		t.Errorf("the requests are attributed to the operations %v, the responses to %v", requests, responses)
	}
}

// TestHungRequest checks the request that is blamed if a server that handles
// requests one by one never finishes one: the first pending request, or none if
// a tool call may be the cause of the delay.
func TestHungRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		methods []string
		want    string
	}{
		{"alone", []string{spec.MethodPromptsGet}, spec.MethodPromptsGet},
		{"before a read", []string{spec.MethodPromptsGet, spec.MethodResourcesRead}, spec.MethodPromptsGet},
		{"before a list", []string{spec.MethodPromptsGet, spec.MethodResourcesRead, spec.MethodToolsList}, spec.MethodPromptsGet},
		{"before a call", []string{spec.MethodPromptsGet, spec.MethodToolsCall, spec.MethodToolsList}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Script{Revision: spec.V20250618}
			for i, method := range c.methods {
				s.Operations = append(s.Operations, Operation{
					Do: Send, Method: method, Message: wire.NewRequest(wire.IntID(int64(100+i)), method, nil), Together: i+1 < len(c.methods),
				})
			}
			p := Player{Dialer: stdio.InProcess("stuck", stuckAt(spec.MethodPromptsGet)), Timeout: 300 * time.Millisecond, Start: 10 * time.Second}
			o := p.Play(t.Context(), s)
			if len(o.Conversations) != 1 {
				t.Fatalf("%d conversations", len(o.Conversations))
			}
			got := ""
			if hung := o.Conversations[0].Hung; hung != nil {
				got = hung.Frame.Messages[0].Method
			}
			if got != c.want {
				t.Errorf("the request that hangs the server is %q, not %q", got, c.want)
			}
		})
	}
}

// stuckAt is like minimalServer until the first request of the method.
func stuckAt(method string) stdio.Serve {
	return func(ctx context.Context, in io.Reader, out, log io.Writer, signals <-chan string) int {
		read, write := io.Pipe()
		defer write.Close()
		go minimalServer(ctx, read, out, log, signals)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			if m := wire.Parse(lines.Bytes()).Messages; len(m) == 1 && m[0].Method == method {
				select {
				case <-ctx.Done():
				case <-signals:
				}
				return 1
			}
			fmt.Fprintf(write, "%s\n", lines.Bytes())
		}
		return 0
	}
}
