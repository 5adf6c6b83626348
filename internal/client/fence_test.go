package client

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// idleCounter counts the idle waits and how many of them were resumed. A wait within another one
// counts as the same: whether they nest depends on whether the server's first message was already
// noticed.
type idleCounter struct {
	begun, resumed int

	mu    sync.Mutex
	depth int
}

func (i *idleCounter) wait() func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.depth++; i.depth == 1 {
		i.begun++
	}
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.depth--; i.depth == 0 {
			i.resumed++
		}
	}
}

func TestProbe(t *testing.T) {
	const patience = 500 * time.Millisecond
	answer := func(s *scripted, m *wire.Message) { s.write(wire.NewResult(m.ID, m.Method)) }
	for _, c := range []struct {
		name    string
		on      func(s *scripted, m *wire.Message)
		took    time.Duration
		err     error // nil: answered
		noFence bool
		idle    int
		gaveUp  int
	}{
		{"answered at once, the fence never", func(s *scripted, m *wire.Message) {
			if m.Method == "x" {
				answer(s, m)
			}
		}, 0, nil, false, 0, 0},
		{"answered before the fence", func(s *scripted, m *wire.Message) {
			d := time.Second
			if m.Method == "ping" {
				d = 3 * time.Second
			}
			s.runAfter(d, func() { answer(s, m) })
		}, time.Second, nil, false, 0, 0},
		{"answered after the fence, within the grace", func(s *scripted, m *wire.Message) {
			d := 100 * time.Millisecond
			if m.Method == "ping" {
				d = time.Millisecond
			}
			s.runAfter(d, func() { answer(s, m) })
		}, 100 * time.Millisecond, nil, false, 1, 0},
		{"the fence is answered with an error", func(s *scripted, m *wire.Message) {
			if m.Method == "ping" {
				s.write(wire.NewError(m.ID, -32601, "", nil))
			}
		}, patience, ErrUnanswered, false, 1, 1},
		{"silence", func(s *scripted, m *wire.Message) {
			if m.Method == "ping" {
				answer(s, m)
			}
		}, patience, ErrUnanswered, false, 1, 1},
		{"silence of a slow server", func(s *scripted, m *wire.Message) {
			if m.Method == "ping" {
				s.runAfter(time.Second, func() { answer(s, m) })
			}
		}, 5 * time.Second, ErrUnanswered, false, 1, 1}, // the fence, and twice the grace
		{"mute", neverRespond, 3*time.Second + 100*time.Millisecond, ErrUnanswered, true, 1, 0},
		{"ended before the fence was answered", func(s *scripted, m *wire.Message) {
			if m.Method == "ping" {
				s.runAfter(time.Second, s.end)
			}
		}, time.Second, ErrEnded, false, 0, 0},
		{"ended before the fence was sent", func(s *scripted, _ *wire.Message) { s.end() }, 0, ErrEnded, false, 1, 0},
		{"answered, and ended before the fence was sent", func(s *scripted, m *wire.Message) { answer(s, m); s.end() }, 0, nil, false, 1, 0},
		{"ended within the grace", func(s *scripted, m *wire.Message) {
			if m.Method == "ping" {
				answer(s, m)
				s.runAfter(time.Millisecond, s.end)
			}
		}, time.Millisecond, ErrEnded, false, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var waits idleCounter
			inBubble(t, Options{Idle: waits.wait}, c.on, func(t *testing.T, conv *Conversation, _ *scripted) {
				began := time.Now()
				id := conv.NewID()
				r := conv.DoRaw(t.Context(), id, wire.NewRequest(id, "x", nil), MayIgnore)
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %v, not %v", took, c.took)
				}
				if !errors.Is(r.Err, c.err) || r.Answered() != (c.err == nil) || errors.Is(r.Err, ErrNoFence) != c.noFence {
					t.Errorf("the reply is %+v", r)
				}
				if r.Sent == nil || r.Sent.Messages()[0].Method != "x" {
					t.Errorf("sent is %+v", r.Sent)
				}
				if of := givenUpRequests(conv); len(of) != c.gaveUp {
					t.Errorf("given up on %v", of)
				}
				if waits.begun != c.idle || waits.resumed != waits.begun {
					t.Errorf("idle %d times, resumed %d times", waits.begun, waits.resumed)
				}
			})
		})
	}
}

func TestProbeCancelledByCaller(t *testing.T) {
	var waits idleCounter
	inBubble(t, Options{Idle: waits.wait}, neverRespond, func(t *testing.T, c *Conversation, _ *scripted) {
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		r := c.DoRaw(ctx, wire.IntID(99), wire.NewRequest(wire.IntID(99), "x", nil), MayIgnore)
		if !errors.Is(r.Err, enough) || errors.Is(r.Err, ErrUnanswered) || len(givenUpRequests(c)) > 0 || waits.begun != waits.resumed {
			t.Errorf("the reply is %+v, given up on %v", r, givenUpRequests(c))
		}
	})
}

func TestAwaitMatchesEachEventOnce(t *testing.T) {
	inBubble(t, Options{}, func(s *scripted, m *wire.Message) {
		if m.Method == "ping" {
			s.write([]byte(`{"method":"before"}`))
			s.runAfter(time.Millisecond, func() {
				s.write(wire.NewResult(m.ID, nil))
				s.runAfter(time.Millisecond, func() { s.write([]byte(`{"method":"after"}`)) })
			})
		}
	}, func(t *testing.T, c *Conversation, _ *scripted) {
		from := c.Record.Len()
		seen := map[int]int{}
		e, err := c.Await(t.Context(), from, func(e *transcript.Event) bool {
			seen[e.Seq]++
			return false
		}, MayIgnore)
		if e != nil || !errors.Is(err, ErrUnanswered) {
			t.Errorf("got %v, %v", e, err)
		}
		for seq := from; seq < c.Record.Len(); seq++ {
			if seen[seq] != 1 {
				t.Errorf("event %d was looked at %d times", seq, seen[seq])
			}
		}
		e, err = c.Await(t.Context(), from, func(e *transcript.Event) bool {
			return len(e.Messages()) > 0 && e.Messages()[0].Method == "after"
		}, MayIgnore)
		if err != nil || e.Messages()[0].Method != "after" {
			t.Errorf("got %v, %v", e, err)
		}
	})
}

func TestAwaitQuiet(t *testing.T) {
	var waits idleCounter
	inBubble(t, Options{Idle: waits.wait}, func(s *scripted, m *wire.Message) {
		s.runAfter(50*time.Millisecond, func() { s.write(wire.NewResult(m.ID, nil)) })
		s.runAfter(100*time.Millisecond, func() { s.write([]byte(`{"method":"stray"}`)) })
	}, func(t *testing.T, c *Conversation, _ *scripted) {
		began := time.Now()
		if err := c.AwaitQuiet(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 200*time.Millisecond { // the fence, and three times as long
			t.Errorf("it took %v", took)
		}
		events := c.Record.From(0)
		if last := events[len(events)-1]; len(last.Messages()) == 0 || last.Messages()[0].Method != "stray" {
			t.Errorf("the last event is %s", last.Raw)
		}
	})
	if waits.begun != 1 || waits.resumed != 1 {
		t.Errorf("idle %d times, resumed %d times", waits.begun, waits.resumed)
	}
}

func TestFenceTime(t *testing.T) {
	for _, x := range []struct{ slowest, want time.Duration }{
		{0, 3 * time.Second}, {100 * time.Millisecond, 3 * time.Second}, {200 * time.Millisecond, 4 * time.Second}, {time.Minute, DefaultTimeout},
	} {
		inBubble(t, Options{}, neverRespond, func(t *testing.T, c *Conversation, _ *scripted) {
			c.noteDuration(x.slowest)
			began := time.Now()
			if err := c.Fence(t.Context()); !errors.Is(err, ErrUnanswered) || time.Since(began) != x.want || len(givenUpRequests(c)) > 0 {
				t.Errorf("after an answer in %v a fence is given up after %v: %v", x.slowest, time.Since(began), err)
			}
		})
	}
}

func TestAwaitQuietFails(t *testing.T) {
	inBubble(t, Options{}, neverRespond, func(t *testing.T, c *Conversation, _ *scripted) {
		if err := c.AwaitQuiet(t.Context()); !errors.Is(err, ErrUnanswered) {
			t.Errorf("of a mute server: %v", err)
		}
	})
	inBubble(t, Options{}, respondNormally, func(t *testing.T, c *Conversation, s *scripted) {
		s.runAfter(10*time.Millisecond, s.end)
		began := time.Now()
		if err := c.AwaitQuiet(t.Context()); err != nil || time.Since(began) != 10*time.Millisecond {
			t.Errorf("of one that ends: %v after %v", err, time.Since(began))
		}
		if err := c.AwaitQuiet(t.Context()); !errors.Is(err, ErrEnded) {
			t.Errorf("of one that ended: %v", err)
		}
	})
	inBubble(t, Options{}, respondNormally, func(t *testing.T, c *Conversation, _ *scripted) {
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		go func() {
			synctest.Wait()
			cancel(enough)
		}()
		if err := c.AwaitQuiet(ctx); !errors.Is(err, enough) {
			t.Errorf("of one that is cut off: %v", err)
		}
	})
}

func TestSetIdle(t *testing.T) {
	var before, after idleCounter
	inBubble(t, Options{Idle: before.wait}, respondNormally, func(t *testing.T, c *Conversation, _ *scripted) {
		c.SetIdle(after.wait)
		if err := c.AwaitQuiet(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.BeginIdle()()
	})
	if before.begun != 0 || after.begun != 2 || after.resumed != 2 {
		t.Errorf("the first was idle %d times, the second %+v", before.begun, &after)
	}
}

// TestEarlierResponseIsNoFence checks that a response that came before the fence was sent does not
// count as its response, even with the same id.
func TestEarlierResponseIsNoFence(t *testing.T) {
	inBubble(t, Options{}, neverRespond, func(t *testing.T, c *Conversation, s *scripted) {
		s.write(wire.NewResult(wire.IntID(1), nil))
		_, err := c.Await(t.Context(), 0, func(*transcript.Event) bool { return false }, MayIgnore)
		if !errors.Is(err, ErrNoFence) {
			t.Errorf("the error is %v", err)
		}
	})
}
