package engine

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestRemaining plays runs on a fake clock, and checks that the estimate is near the truth from a
// third of the run on, and that there is none at first.
func TestRemaining(t *testing.T) {
	const response = 150 * time.Millisecond
	for _, c := range []struct {
		name   string
		factor float64 // by which cases take longer than expected
		empty  int     // each so many cases has nothing to do
	}{
		{name: "as expected", factor: 1},
		{name: "longer", factor: 2.5},
		{name: "shorter", factor: 0.5},
		{name: "many have nothing to do", factor: 1, empty: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				shared := &unit{revision: spec.V20251125, sharesConversation: true}
				units := []*unit{shared}
				for i := range 80 {
					each := withRounds(fmt.Sprint("own.", i), 1+random.IntN(40))
					if i%2 == 0 {
						shared.cases = append(shared.cases, withRounds(fmt.Sprint("shared.", i), 1+random.IntN(10)))
					}
					units = append(units, own(spec.V20251125, each))
				}
				x := planned(response, units...)
				plannerOf(x).orderUnits(t.Context(), x.plan)
				type guess struct{ at, left time.Duration }
				var guesses []guess
				began, done := time.Now(), make(chan struct{})
				var all, guessing sync.WaitGroup
				guessing.Go(func() {
					for {
						select {
						case <-done:
							return
						case <-time.After(time.Second):
							guesses = append(guesses, guess{time.Since(began), x.remaining()})
						}
					}
				})
				slots := make(chan struct{}, x.s.gate.maxAlive)
				for i, u := range x.plan.units {
					slots <- struct{}{}
					all.Go(func() {
						for j, each := range u.cases {
							d := time.Duration(c.factor * float64(each.Rounds.Stdio) * float64(response))
							if c.empty > 0 && (i+j)%c.empty == 0 {
								d = 0
							}
							ended := x.outlook.begin(each, u.revision)
							<-time.After(d)
							ended()
						}
						<-slots
					})
				}
				all.Wait()
				whole := time.Since(began)
				close(done)
				guessing.Wait()
				for i, g := range guesses {
					truth := whole - g.at
					switch ratio := g.left.Seconds() / truth.Seconds(); {
					case i == 0 && g.left != 0:
						t.Errorf("there is an estimate after %v", g.at)
					case g.at > whole/3 && truth > 3*time.Second && (ratio > 1.5 || ratio < 1/1.5):
						t.Errorf("after %v of %v the estimate is %v", g.at, whole, g.left)
					}
				}
			})
		})
	}
}

// TestRemainingIncludesRetries checks that the retries of deviations that are known make the
// estimate longer, once each.
func TestRemainingIncludesRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, rest := withRounds("own.first", 50), withRounds("own.rest", 10)
		x := planned(100*time.Millisecond, own(spec.V20251125, first), own(spec.V20251125, rest))
		ended := x.outlook.begin(first, spec.V20251125)
		<-time.After(5 * time.Second)
		ended()
		before := x.remaining()
		attempt := func(key string) *attempt {
			c := &candidate{key: verdict.Key{Judge: key}, outcome: verdict.Broken}
			return &attempt{revision: spec.V20251125, during: first, candidates: []*candidate{c}}
		}
		a := attempt("one")
		x.outlook.expectRetry(a, true)
		x.outlook.expectRetry(attempt("one"), true)
		// 50 rounds of the case, and those of the retry itself
		if got, want := x.remaining()-before, 5*time.Second+retryRounds*100*time.Millisecond; got != want {
			t.Errorf("a retry adds %v, not %v", got, want)
		}
		x.outlook.endRetry(a)
		if got := x.remaining(); got != before {
			t.Errorf("after the retry %v are left, not %v", got, before)
		}
	})
}

// TestSlowStartDoesNotDistortEstimate checks that the first case of a shared conversation, which
// also waits for the server to start, does not make the other work look slow.
func TestSlowStartDoesNotDistortEstimate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const start = 12 * time.Second
		shared := &unit{revision: spec.V20251125, sharesConversation: true}
		for i := range 5 {
			shared.cases = append(shared.cases, withRounds(fmt.Sprint("shared.", i), 3))
		}
		x := planned(time.Millisecond, shared)
		x.s.timing.slowestStart = start
		for i, c := range shared.cases {
			ended := x.outlook.begin(c, spec.V20251125)
			if i == 0 {
				<-time.After(start)
			}
			<-time.After(3 * time.Millisecond)
			ended()
		}
		a := &attempt{revision: spec.V20251125, during: shared.cases[0], candidates: []*candidate{{outcome: verdict.Broken}}}
		x.outlook.expectRetry(a, true)
		if left := x.remaining(); left < start || left > 2*start {
			t.Errorf("a retry with a start of %v is expected to take %v", start, left)
		}
	})
}

func TestWaitsSpent(t *testing.T) {
	at := func(seconds float64) time.Time {
		return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
	}
	w := &waits{all: []wait{
		{forStarts, at(0), at(2)},
		{forResponses, at(1), at(3)},
		{forResponses, at(5), at(6)},
		{forResponses, at(5), at(6)},
	}}
	got := w.timeSpentByKind()
	want := [waitKinds]time.Duration{forResponses: 2500 * time.Millisecond, forStarts: 1500 * time.Millisecond}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSlowRunNotice checks what a run says about its time at the end.
func TestSlowRunNotice(t *testing.T) {
	for _, c := range []struct {
		name   string
		took   time.Duration
		start  time.Duration
		silent time.Duration // waits without a response
		quick  bool          // the user wants a quick run already
		copies bool          // several servers can run
		ended  string        // why the run ended early
		fast   bool          // most responses come at once
		want   string
	}{
		{name: "fast", took: 19 * time.Second},
		{name: "ended early", took: 30 * time.Second, ended: "interrupted", want: "30 s, of which the run waited 28 s for responses (typically 150 ms each)"},
		{name: "several that are slow to start", took: 30 * time.Second, start: 8 * time.Second, copies: true, want: "30 s, of which the run waited 24 s for responses (typically 150 ms each), 4 s for servers to start (8.0 s each); faster: --revision 2025-11-25 judges one of 2 revisions, --jobs 4 starts more servers at once"},
		{name: "a few slow responses", took: 30 * time.Second, fast: true, ended: "interrupted", want: "30 s, of which the run waited 28 s for responses"},
		{name: "slow", took: 30 * time.Second, want: "30 s, of which the run waited 28 s for responses (typically 150 ms each); faster: --revision 2025-11-25 judges one of 2 revisions"},
		{name: "slow to start", took: 30 * time.Second, start: 8 * time.Second, want: "30 s, of which the run waited 24 s for responses (typically 150 ms each), 4 s for servers to start (8.0 s each); faster: --revision 2025-11-25 judges one of 2 revisions"},
		{name: "quick", took: 30 * time.Second, quick: true, want: "30 s, of which the run waited 28 s for responses (typically 150 ms each)"},
		{name: "silent", took: 30 * time.Second, silent: 20 * time.Second, want: "30 s, of which the run waited 18 s for responses (typically 150 ms each), 10 s for responses that did not come; faster: --revision 2025-11-25 judges one of 2 revisions, --timeout 2s ends the waits for responses that don't come"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				response := 150 * time.Millisecond
				if c.fast {
					response = time.Millisecond
				}
				x := planned(response,
					own(spec.V20250618, withRounds("own.old", 150)),
					&unit{revision: spec.V20251125, sharesConversation: true, cases: []*suite.Case{withRounds("shared.new", 20)}},
				)
				x.s.o.Quick = c.quick
				x.s.gate.isSingle, x.s.o.Jobs = !c.copies, 2
				began := time.Now()
				x.s.timing.waits.all = []wait{{forResponses, began, began.Add(28 * time.Second)}}
				if c.start > 0 {
					x.s.timing.waits.all = append(x.s.timing.waits.all, wait{forStarts, began, began.Add(c.start)})
					x.s.timing.waits.starts, x.s.timing.waits.start = 1, c.start
				}
				if c.silent > 0 {
					x.s.timing.waits.all = append(x.s.timing.waits.all, wait{forNothing, began, began.Add(c.silent)})
				}
				// The cases run one after the other, and retries follow.
				for _, u := range x.plan.units {
					ended := x.outlook.begin(u.cases[0], u.revision)
					<-time.After(response * time.Duration(u.cases[0].Rounds.Stdio))
					ended()
				}
				<-time.After(c.took - time.Since(began))
				if diff := cmp.Diff(c.want, x.slowRunNotice(c.took, c.ended)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
