package fuzz

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
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

// pingBreaches is the Judge of a law that every ping breaks.
func pingBreaches(o *Execution) []Breach {
	for i := range o.Script.Operations {
		if o.Script.Operations[i].Method == spec.MethodPing && len(o.Conversations) > 0 {
			return []Breach{{Deviation: verdict.Deviation{Requirement: "base.request-answered", Summary: "It was pinged."}}}
		}
	}
	return nil
}

// TestDeadlines checks that, when the time is over, findings are shrunk and
// retried until the deadlines, and are reported in any case.
func TestDeadlines(t *testing.T) {
	past, later := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	var pinging script.Script
	pinging.Revision = spec.V20250618
	for i := range 6 {
		pinging.Operations = append(pinging.Operations, script.Operation{
			Do: script.Send, Method: spec.MethodPing, Await: true, Message: wire.NewRequest(wire.IntID(int64(100+i)), spec.MethodPing, nil),
		})
	}
	law := Law{ID: "pings", Judge: pingBreaches}
	for _, c := range []struct {
		name      string
		deadlines deadlines
		cause     error
		want      string
	}{
		{"no end", deadlines{}, nil, "3 of 3, 1 operations, cut false, unconfirmed false"},
		{"in time", deadlines{later, later, later}, nil, "3 of 3, 1 operations, cut false, unconfirmed false"},
		{"the search time is over", deadlines{past, later, later}, nil, "1 of 1, 1 operations, cut false, unconfirmed false"},
		{"too late to shrink", deadlines{past, past, later}, nil, "1 of 1, 6 operations, cut true, unconfirmed false"},
		{"too late to retry", deadlines{past, past, past}, nil, "0 of 0, 6 operations, cut true, unconfirmed true"},
		{"interrupted", deadlines{later, later, later}, context.Canceled, "0 of 0, 6 operations, cut true, unconfirmed true"},
		{"the search is finished", deadlines{later, later, later}, errFinished, "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Dialer: stdio.InProcess("minimal", minimalServer), Laws: []Law{law}}.withDefaults()
			s := newSearch(o)
			s.deadlines = c.deadlines
			server, _, err := Probe(t.Context(), o.Dialer, spec.V20250618, inventory.Config{Policy: inventory.CallNone}, client.Options{Timeout: s.Timeout, StartTimeout: s.Start})
			if err != nil || server == nil {
				t.Fatal("the server can't be probed", err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			first := s.executor.playFresh(ctx, server, pinging, searchTimeout)
			if c.cause != nil {
				cancel(c.cause)
			}
			candidates := Judge(o.Laws, first)
			if len(candidates) != 1 {
				t.Fatalf("%d candidates", len(candidates))
			}
			got := "nothing"
			if f := s.investigate(ctx, input{script: pinging, server: server}, first, candidates[0]); f != nil {
				if f.unretried != (f.Retries.Attempts == 0) {
					t.Error("what was not retried makes a search incomplete, and nothing else does")
				}
				got = fmt.Sprintf("%d of %d, %d operations, cut %v, unconfirmed %v", f.Retries.Reproduced, f.Retries.Attempts, len(f.Script.Operations), f.Cut, f.Outcome == verdict.Unconfirmed)
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
