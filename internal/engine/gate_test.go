package engine

import (
	"testing"
	"testing/synctest"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

func TestMaxAlive(t *testing.T) {
	for _, x := range []struct {
		jobs   int
		over   spec.Transport
		isSlow bool
		want   int
	}{
		{1, spec.Stdio, false, 8}, {2, spec.Stdio, false, 16}, {8, spec.Stdio, false, 32}, {2, spec.Stdio, true, 16},
		{1, spec.StreamableHTTP, false, 8}, {2, spec.StreamableHTTP, false, 16}, {2, spec.SSE, false, 16}, {4, spec.StreamableHTTP, false, 16}, {8, spec.StreamableHTTP, false, 32},
		{1, spec.StreamableHTTP, true, 24}, {2, spec.StreamableHTTP, true, 48}, {2, spec.SSE, true, 48}, {8, spec.StreamableHTTP, true, 48},
	} {
		if got := maxAlive(x.jobs, x.over, x.isSlow); got != x.want {
			t.Errorf("%d jobs over %s, slow %v: %d are alive at most, not %d", x.jobs, x.over, x.isSlow, got, x.want)
		}
	}
}

// TestExclusiveCallerBlocksNoOther checks that a pending exclusive caller
// does not block others while a long-running pass exists: that pass may stay until
// the others are done.
func TestExclusiveCallerBlocksNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2, 8)
		probe := g.enter(false, 0)
		probe.markLongRunning()
		probe.finishWork()
		alone := make(chan *pass, 1)
		go func() { alone <- g.enter(true, 0) }()
		synctest.Wait()
		other := g.enter(false, 0) // if this blocks forever, synctest fails
		other.finishWork()
		other.leave()
		select {
		case <-alone:
			t.Fatal("an exclusive pass entered while another one was there")
		default:
		}
		probe.leave()
		last := <-alone
		last.finishWork()
		last.leave()
	})
}

// TestNoUnitEntersUnderPressure checks that, while the records of a run use
// much memory, a unit enters only after the others have left, and then does
// enter.
func TestNoUnitEntersUnderPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2, 8)
		g.budget = transcript.NewBudget()
		probe := g.enter(false, 0)
		probe.markLongRunning() // does not count: it stays until others are done
		probe.finishWork()
		first := g.enter(false, 0)
		rec := transcript.NewWithin(g.budget, transcript.Limits{})
		for !g.budget.IsHalfUsed() {
			rec.Add(transcript.Event{Kind: transcript.Stderr, Raw: make([]byte, 1<<20)})
		}
		first.finishWork()
		entered := make(chan *pass, 1)
		go func() { entered <- g.enter(false, 0) }()
		synctest.Wait()
		select {
		case <-entered:
			t.Fatal("one entered while much was held")
		default:
		}
		first.leave() // its records are quoted, so they stay
		second := <-entered
		second.finishWork()
		second.leave()
		probe.leave()
	})
}

// TestLowestRankEntersFirst checks that of the callers that wait for a slot the one with the
// lowest rank gets it, whoever came first.
func TestLowestRankEntersFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, 8)
		first := g.enter(false, 0)
		entered := make(chan int, 3)
		for _, rank := range []int{3, 1, 2} {
			go func() {
				p := g.enter(false, rank)
				entered <- rank
				p.finishWork()
				p.leave()
			}()
			synctest.Wait()
		}
		first.finishWork()
		first.leave()
		for want := 1; want <= 3; want++ {
			if got := <-entered; got != want {
				t.Errorf("rank %d entered instead of %d", got, want)
			}
		}
	})
}
