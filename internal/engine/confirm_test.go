package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// deviating returns n cases that share a conversation. Case i reports a
// deviation of the given weight in each run for which seen returns true.
func deviating(n int, weight verdict.Weight, seen func(i int, run int64) bool) []suite.Case {
	runs := make([]atomic.Int64, n)
	var out []suite.Case
	for i := range n {
		out = append(out, suite.Case{
			ID: fmt.Sprintf("toy.deviates-%d", i), Title: "ping", Requirements: []string{pinged}, SharesConversation: true,
			Run: func(ctx context.Context, t *suite.T) {
				c := t.Conversation(ctx)
				c.Do(ctx, "ping", nil)
				if seen(i, runs[i].Add(1)) {
					t.Report(c, verdict.Deviation{Requirement: pinged, Summary: "A pong is wrong.", Weight: weight})
				}
			},
		})
	}
	return out
}

func always(int, int64) bool { return true }

// TestServersStartedByConfirmation checks that the retries start one more
// server for all warnings together, and one for each case that may be broken.
func TestServersStartedByConfirmation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		weight verdict.Weight
		seen   func(i int, run int64) bool
		starts int64
		want   []string // outcome and reproduced/attempts of each finding
	}{
		{"warnings", verdict.AtMostWarning, always, 2, []string{"warning 1/1", "warning 1/1", "warning 1/1"}},
		{"broken", verdict.Full, always, 4, []string{"broken 1/1", "broken 1/1", "broken 1/1"}},
		{"a warning that comes back by itself alone", verdict.AtMostWarning, func(i int, run int64) bool { return i > 0 || run != 2 }, 3, []string{"warning 1/2", "warning 1/1", "warning 1/1"}},
		{"a warning that does not come back", verdict.AtMostWarning, func(i int, run int64) bool { return i > 0 || run == 1 }, 4, []string{"flaky 0/3", "warning 1/1", "warning 1/1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y := &toy{}
				p, err := judge(t, y, engine.Options{Cases: deviating(3, c.weight, c.seen), Revisions: []spec.Revision{spec.V20250618}})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, f := range p.Findings {
					got = append(got, fmt.Sprintf("%v %d/%d", f.Outcome, f.Reproduced, f.Tries))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("findings (-want +got):\n%s", diff)
				}
				if n := y.starts.Load(); n != c.starts {
					t.Errorf("%d servers were started, want %d", n, c.starts)
				}
			})
		})
	}
}

// TestExitOfASecondCopy checks a case that starts a second server while its first one runs, and
// finds that the second one exits at its first request. If the server permits no second copy, that
// is not the server's mistake; otherwise the finding is reported.
func TestExitOfASecondCopy(t *testing.T) {
	t.Parallel()
	const odd = "1900-01-01"
	opening := suite.Case{ID: "toy.twice", Title: "starts two servers", Requirements: []string{pinged}, SharesConversation: true, Run: func(ctx context.Context, t *suite.T) {
		t.Conversation(ctx)
		c := t.Open(ctx, client.Options{Version: odd})
		if r := c.Initialize(ctx); !r.Answered() {
			t.Report(c, verdict.Deviation{Requirement: pinged, Summary: "The server exits.", At: transcript.Positions(r.Sent)})
		}
	}}
	for name, test := range map[string]struct {
		toy  *toy
		want string
	}{
		"a server that exits": {&toy{exits: func(_ int64, m *wire.Message) bool {
			version, _ := wire.Text(wire.At(m.Params(), "/protocolVersion"))
			return version == odd
		}}, "broken"},
		"a server that permits one copy": {&toy{refuses: true}, "flaky"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := judge(t, test.toy, engine.Options{Cases: []suite.Case{opening}, Revisions: []spec.Revision{spec.V20251125}})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(allOutcomes(test.want, spec.V20251125), summary(p)); diff != "" {
					t.Errorf("verdicts (-want +got):\n%s", diff)
				}
			})
		})
	}
}
