package fuzz

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
)

// countingDialer counts the servers that were started, and keeps the
// transcripts of their conversations.
type countingDialer struct {
	transport.Dialer
	servers atomic.Int64
	records chan *transcript.Transcript
}

func (d *countingDialer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	d.servers.Add(1)
	d.records <- rec
	return d.Dialer.Dial(ctx, rec)
}

// TestEffortIsReported checks that a report counts the servers and the messages of
// a search, including those that confirmed a finding.
func TestEffortIsReported(t *testing.T) {
	t.Parallel()
	d := &countingDialer{Dialer: stdio.InProcess("minimal", minimalServer), records: make(chan *transcript.Transcript, 10000)}
	got, err := Run(t.Context(), Options{
		Dialer: d, Laws: []Law{{ID: "pings", Judge: pingBreaches}}, Revisions: []spec.Revision{spec.V20250618}, Policy: inventory.Config{Policy: inventory.CallNone},
		Cases: 6, Jobs: 2, Timeout: time.Second, Start: 10 * time.Second, Shrink: Budget{Time: time.Second, Attempts: 30},
	})
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	close(d.records)
	for rec := range d.records {
		messages += script.CountFrames(rec.From(0))
	}
	if got.Servers != d.servers.Load() || got.Messages != int64(messages) || messages == 0 {
		t.Errorf("reported %d servers and %d messages; there were %d and %d", got.Servers, got.Messages, d.servers.Load(), messages)
	}
}

// TestProgressCountsRequestsAtOnce checks that the progress counts each request when it is sent, and
// not only when its script has ended, which takes long with a limit.
func TestProgressCountsRequestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []int64
		got, err := Run(t.Context(), Options{
			Dialer: stdio.InProcess("minimal", minimalServer), Revisions: []spec.Revision{spec.V20250618}, Policy: inventory.Config{Policy: inventory.CallNone},
			Cases: 1, Jobs: 1, Rate: 1, Timeout: time.Second, Start: 10 * time.Second,
			Progress: func(s Status) { seen = append(seen, s.Requests) },
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range seen {
			if n > 0 && n < got.Requests {
				return
			}
		}
		t.Errorf("of %d requests, the progress showed only %v", got.Requests, seen)
	})
}
