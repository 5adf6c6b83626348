package exchange_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
)

const longBody = 3 << 20

// body returns the recorded body, or nil.
func body(x *exchange.Client) *transcript.Event {
	for _, e := range x.Record.From(0) {
		if e.Kind == transcript.Received {
			return e
		}
	}
	return nil
}

// TestLongBodies checks that long bodies are read completely, although only a few are read
// at a time.
func TestLongBodies(t *testing.T) {
	u := serve(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", longBody, strings.Repeat("x", longBody)))
	var all []*exchange.Client
	for range 20 {
		x := &exchange.Client{Record: transcript.New()}
		x.Begin(t.Context(), exchange.Request{URL: u, Request: transport.Request{Method: "GET"}})
		all = append(all, x)
	}
	for _, x := range all {
		x.Wait()
		if e := body(x); e == nil || len(e.Raw) != longBody || e.IsCut() || e.Unterminated {
			t.Fatalf("%+v is not the body", e)
		}
	}
}

// TestLongBodiesThatBreakOff checks that only the head of an incomplete long body is kept,
// and that exchanges waiting for a slot can be dropped.
func TestLongBodiesThatBreakOff(t *testing.T) {
	hung := make(chan struct{})
	u := hang(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", 2*longBody, strings.Repeat("x", longBody)), hung)
	var all []*exchange.Pending
	var clients []*exchange.Client
	for range 10 {
		x := &exchange.Client{Record: transcript.New()}
		p := x.Begin(t.Context(), exchange.Request{URL: u, Request: transport.Request{Method: "GET"}})
		<-p.Responded()
		all, clients = append(all, p), append(clients, x)
	}
	for i, p := range slices.Backward(all) { // the last have to wait
		p.Drop()
		clients[i].Wait()
		if how, detail := p.HowEnded(); how != transcript.Dropped {
			t.Errorf("the exchange is %s: %s", how, detail)
		}
		if e := body(clients[i]); e != nil && (!e.Unterminated || e.Size > 256<<10 && (!e.IsCut() || len(e.Raw) > 4<<10)) {
			t.Errorf("of a body of %d bytes %d are kept", e.Size, len(e.Raw))
		}
	}
	close(hung)
}

// TestLongEventsThatBreakOff checks that only the beginning of a long event is kept if the stream
// ends within it, and that long events that end are complete.
func TestLongEventsThatBreakOff(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	comments := strings.Repeat(": a comment\n", longBody/12)
	for _, c := range []struct {
		end  string
		most int
	}{{"", 4 << 10}, {"data: x\n\n", 2 * longBody}} {
		u := serve(t, head+comments+c.end)
		var all []*exchange.Client
		for range 10 {
			x := &exchange.Client{Record: transcript.New()}
			x.Begin(t.Context(), exchange.Request{URL: u, Request: transport.Request{Method: "GET"}})
			all = append(all, x)
		}
		for _, x := range all {
			x.Wait()
			kept := 0
			for _, e := range x.Record.From(0) {
				kept += len(e.Stream)
			}
			if kept > c.most || c.end != "" && kept != len(comments+c.end) {
				t.Fatalf("of a stream that ends with %q, %d bytes are kept", c.end, kept)
			}
		}
	}
}
