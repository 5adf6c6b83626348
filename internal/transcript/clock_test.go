package transcript_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

var errLate = errors.New("late")

// TestClock checks that the time of overlapping holds counts once, and not for timeouts.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c transcript.Clock
		began, m := time.Now(), c.Moment()
		ctx, cancel := c.WithTimeout(t.Context(), 3*time.Second, errLate)
		defer cancel()
		time.Sleep(time.Second)
		first := c.Hold()
		time.Sleep(10 * time.Second)
		second := c.Hold()
		first()
		first()
		time.Sleep(10 * time.Second)
		second()
		if got := c.HeldTime(); got != 20*time.Second {
			t.Errorf("held for %v", got)
		}
		if got := c.Since(m); got != time.Second {
			t.Errorf("by the clock %v have passed", got)
		}
		if ctx.Err() != nil {
			t.Fatal("held time counts")
		}
		<-ctx.Done()
		if took := time.Since(began).Truncate(10 * time.Millisecond); took != 23*time.Second || !errors.Is(context.Cause(ctx), errLate) {
			t.Errorf("it ended after %v: %v", took, context.Cause(ctx))
		}
	})
}

// TestClockWithoutHolds checks that a timeout is exact, and that cancelling it or its parent ends
// it.
func TestClockWithoutHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c transcript.Clock
		began := time.Now()
		ctx, cancel := c.WithTimeout(t.Context(), time.Second, errLate)
		defer cancel()
		<-ctx.Done()
		if took := time.Since(began); took != time.Second || !errors.Is(context.Cause(ctx), errLate) {
			t.Errorf("it ended after %v: %v", took, context.Cause(ctx))
		}
		parent, end := context.WithCancelCause(t.Context())
		ctx, cancel = c.WithTimeout(parent, time.Hour, errLate)
		end(errLate)
		<-ctx.Done()
		cancel()
		ctx, cancel = c.WithTimeout(t.Context(), time.Hour, errLate)
		cancel()
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Error(context.Cause(ctx))
		}
	})
}

// TestRetract checks that an exchange that is retracted leaves only remarks, and that the next one
// keeps its events.
func TestRetract(t *testing.T) {
	budget := transcript.NewBudget()
	rec := transcript.NewWithin(budget, transcript.Limits{})
	post := func() int {
		n := rec.Add(transcript.Event{Kind: transcript.Requested, Raw: []byte("POST /mcp HTTP/1.1")}).Exchange
		rec.Add(transcript.Event{Kind: transcript.Sent, Exchange: n, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)})
		return n
	}
	rec.Retract(post(), "it was refused")
	before := budget.HeldBytes()
	again := post()
	rec.Retract(again, "it was refused again")
	if after := budget.HeldBytes() - before; after > 1000 {
		t.Errorf("a retracted exchange still weighs %d", after)
	}
	last := post()
	all := transcript.ExchangesOf(rec.From(0)).All()
	if len(all) != 1 || all[0].Number != last || all[0].Sent == nil {
		t.Errorf("%d exchanges remain", len(all))
	}
	if got := len(rec.Dialogue().Requests()); got != 1 {
		t.Errorf("%d requests remain", got)
	}
	for i, e := range rec.From(0)[:4] {
		if e.Kind != transcript.Remark || e.Seq != i || e.Detail == "" {
			t.Errorf("event %d is %q, %q at %d", i, e.Kind, e.Detail, e.Seq)
		}
	}
}
