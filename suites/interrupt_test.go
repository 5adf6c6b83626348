package suites_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/suites"
)

// TestAnInterruptBreaksNoCase interrupts each case at one of its messages, early in some and late
// in others, or at every message if MCP_CONFORM_INTERRUPTS is all. A case must cope when nothing
// more is sent or answered.
func TestAnInterruptBreaksNoCase(t *testing.T) {
	all := os.Getenv("MCP_CONFORM_INTERRUPTS") == "all"
	if !all {
		skip.Slowest(t)
	}
	for i, c := range suites.Cases() {
		revisions := slices.DeleteFunc(spec.Revisions(), func(r spec.Revision) bool {
			return !c.AppliesTo(r, spec.Stdio) || c.OnlyOver != "" && c.OnlyOver != spec.Stdio
		})
		if len(revisions) == 0 {
			continue
		}
		rev := revisions[len(revisions)-1]
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				messages := runInterrupted(t, c, rev, 0)
				for at := 1; at <= messages; at++ {
					if all || at == 1+i*7%messages {
						runInterrupted(t, c, rev, at)
					}
				}
			})
		})
	}
}

// runInterrupted runs a case, and interrupts it when the client sends its message number at; 0
// means never. It returns the number of messages that were sent.
func runInterrupted(t *testing.T, c suite.Case, rev spec.Revision, at int) int {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := &interrupter{Dialer: inprocess.MisbehavingDialer(nil), at: int64(at), cancel: cancel}
	report, err := engine.Run(ctx, engine.Options{
		Dialer: d, Cases: []suite.Case{c}, Rules: ruleset.All(), Revisions: []spec.Revision{rev}, Unconfirmed: true, Jobs: 1,
		Policy: inventory.Config{Policy: inventory.CallAll}, Timeout: time.Second, StartTimeout: 2 * time.Second,
	})
	if at > 0 && errors.As(err, new(*engine.NothingJudgedError)) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Verdicts {
		if v.Outcome == verdict.HarnessError {
			t.Errorf("interrupted at message %d of %d: %s", at, d.sent.Load(), v.Reason)
			break
		}
	}
	return int(d.sent.Load())
}

// interrupter cancels a context when a message is sent on any link.
type interrupter struct {
	transport.Dialer
	at     int64
	sent   atomic.Int64
	cancel context.CancelFunc
}

// Dial implements transport.Dialer.
func (d *interrupter) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	l, err := d.Dialer.Dial(ctx, rec)
	if err != nil {
		return nil, err
	}
	return &interruptedLink{l, d}, nil
}

type interruptedLink struct {
	transport.Link
	d *interrupter
}

// Send implements transport.Link.
func (l *interruptedLink) Send(ctx context.Context, frames ...[]byte) error {
	l.count()
	return l.Link.Send(ctx, frames...)
}

// SendBytes implements transport.Link.
func (l *interruptedLink) SendBytes(ctx context.Context, chunks ...[]byte) error {
	l.count()
	return l.Link.SendBytes(ctx, chunks...)
}

func (l *interruptedLink) count() {
	if l.d.sent.Add(1) == l.d.at {
		l.d.cancel()
	}
}
