package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const prepared = "lifecycle.error-cases-prepared"

// oddFirstMessageCase returns a case that opens with an initialize without clientInfo, to
// which every server must respond.
func oddFirstMessageCase() suite.Case {
	return suite.Case{ID: "toy.odd", Title: "initialize without clientInfo", Requirements: []string{prepared}, Run: func(ctx context.Context, t *suite.T) {
		c := t.Open(ctx, client.Options{})
		params := c.InitializeParams()
		delete(params, "clientInfo")
		if r := c.Do(ctx, spec.MethodInitialize, params); r.Answered() {
			t.MarkKept(prepared)
		} else {
			t.Report(c, verdict.Deviation{Requirement: prepared, Summary: "no answer", Permitted: "any", Seen: suite.Describe(r), At: r.Positions()})
		}
	}}
}

// TestMissingResponseToOddFirstMessage checks that a missing response to an odd first
// message counts only if an ordinary one gets a response at the same time.
func TestMissingResponseToOddFirstMessage(t *testing.T) {
	const timeout, start = 300 * time.Millisecond, 1500 * time.Millisecond
	odd := func(m *wire.Message) bool { return wire.At(m.Params(), "/clientInfo") == nil }
	silence := []byte("silence")
	for name, test := range map[string]struct {
		answer func(start int64, m *wire.Message) []byte
		want   string
	}{
		"a slow start": {func(start int64, m *wire.Message) []byte {
			if start > 1 && m.Method == spec.MethodInitialize {
				time.Sleep(2 * timeout)
			}
			return nil
		}, "kept"},
		"silence to the odd one": {func(_ int64, m *wire.Message) []byte {
			if m.Method == spec.MethodInitialize && odd(m) {
				return silence
			}
			return nil
		}, "warning"},
		"silence to all from then on": {func(start int64, _ *wire.Message) []byte {
			if start > 1 {
				return silence
			}
			return nil
		}, "not observed: " + client.ErrStarting.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, err := judge(t, &toy{answer: test.answer}, engine.Options{
					Cases: []suite.Case{oddFirstMessageCase()}, Rules: rules.Base(), Revisions: []spec.Revision{spec.V20250618}, Timeout: timeout, StartTimeout: start,
					Selection: engine.Selection{Focus: []string{prepared, "base.request-answered"}},
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range p.Verdicts {
					got := strings.TrimSuffix(v.Outcome.String()+": "+v.Reason, ": ")
					if v.Requirement == prepared && got != test.want {
						t.Errorf("%s is %s, not %s", v.Requirement, got, test.want)
					}
					if v.Outcome == verdict.Broken && test.want != "warning" { // the missing response also breaks base.request-answered
						t.Errorf("%s is broken", v.Requirement)
					}
				}
			})
		})
	}
}

// waits records what the run waits for.
type waits struct {
	ignoringProgress
	mu   sync.Mutex
	said []string
}

func (w *waits) Waiting(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

// TestWaitsAreReported checks that the progress reports what the run waits for.
func TestWaitsAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &waits{}
		y := &toy{answer: func(start int64, m *wire.Message) []byte {
			if start == 1 && m.Method == spec.MethodInitialize {
				time.Sleep(3500 * time.Millisecond)
			}
			return nil
		}}
		if _, err := judge(t, y, engine.Options{Cases: []suite.Case{pinging(false)}, Revisions: []spec.Revision{spec.V20250618}, Progress: w}); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, second := range []int{2, 3} {
			want = append(want, fmt.Sprintf("waiting for the server's first response (%d s of 60 s)", second))
		}
		if diff := cmp.Diff(append(want, ""), w.said); diff != "" {
			t.Errorf("said (-want +got):\n%s", diff)
		}
	})
}

// TestNoFreshServerForRetry checks that a deviation that could not be
// retried, because no fresh server started, is neither broken nor flaky.
func TestNoFreshServerForRetry(t *testing.T) {
	const timeout, start = 200 * time.Millisecond, 500 * time.Millisecond
	silence := func(start int64, m *wire.Message) []byte {
		if start > 2 {
			return []byte("silence")
		}
		return wrongPing(m)
	}
	type result struct {
		Outcome                 verdict.Outcome
		Tries, Reproduced, Void int
	}
	for name, test := range map[string]struct {
		toy  *toy
		want result
	}{
		"they stay silent": {&toy{answer: silence}, result{verdict.Unconfirmed, 0, 0, 3}},
		"they end": {&toy{
			answer: func(_ int64, m *wire.Message) []byte { return wrongPing(m) },
			exits:  func(start int64, _ *wire.Message) bool { return start > 2 },
		}, result{verdict.Unconfirmed, 0, 0, 3}},
		"the first one ends": {&toy{
			answer: func(_ int64, m *wire.Message) []byte { return wrongPing(m) },
			exits:  func(start int64, _ *wire.Message) bool { return start == 3 },
		}, result{verdict.Broken, 1, 1, 1}},
		"it does not come back": {&toy{answer: func(start int64, m *wire.Message) []byte {
			if start > 2 {
				return nil
			}
			return wrongPing(m)
		}}, result{verdict.Flaky, 3, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, err := judge(t, test.toy, engine.Options{
					Cases: []suite.Case{pinging(false)}, Revisions: []spec.Revision{spec.V20250618}, Timeout: timeout, StartTimeout: start,
				})
				if err != nil {
					t.Fatal(err)
				}
				if len(p.Findings) != 1 {
					t.Fatalf("%d findings", len(p.Findings))
				}
				f := p.Findings[0]
				if diff := cmp.Diff(test.want, result{f.Outcome, f.Tries, f.Reproduced, f.Void}); diff != "" {
					t.Errorf("the finding (-want +got):\n%s", diff)
				}
				if p.Verdicts[0].Outcome != test.want.Outcome {
					t.Errorf("the verdict is %v", p.Verdicts[0].Outcome)
				}
			})
		})
	}
}

// ignoringProgress is a Progress that ignores all calls.
type ignoringProgress struct{}

func (ignoringProgress) Begin(string, spec.Transport, []spec.Revision, int) {}
func (ignoringProgress) Found(int)                                          {}
func (ignoringProgress) Area(string, int, int)                              {}
func (ignoringProgress) Notice(string)                                      {}
func (ignoringProgress) Waiting(string)                                     {}
func (ignoringProgress) Remaining(time.Duration, string, string)            {}
