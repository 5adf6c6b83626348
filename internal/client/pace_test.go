package client

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestPace checks that a server that answers nothing costs the whole timeout once, and that only the
// request that had the whole timeout is given up.
func TestPace(t *testing.T) {
	inBubble(t, Options{}, neverRespond, func(t *testing.T, c *Conversation, _ *scripted) {
		for i, want := range []time.Duration{DefaultTimeout, minWait, minWait} {
			began := time.Now()
			if r := c.Do(t.Context(), "ping", nil); !errors.Is(r.Err, ErrUnanswered) {
				t.Errorf("the reply is %+v", r)
			}
			if took := time.Since(began); took != want {
				t.Errorf("request %d was waited for %v, not %v", i, took, want)
			}
		}
		if of := givenUpRequests(c); len(of) != 1 {
			t.Errorf("given up on %v; want the first request alone", of)
		}
	})
}

// TestPaceOfRetries checks that in a retry a request has the whole timeout, though a fence and
// another request before it got no response, and that a server that answers nothing does not cost it
// for each request.
func TestPaceOfRetries(t *testing.T) {
	inBubble(t, Options{Thorough: true}, neverRespond, func(t *testing.T, c *Conversation, _ *scripted) {
		_ = c.Fence(t.Context())
		for i, want := range []time.Duration{DefaultTimeout, DefaultTimeout, DefaultTimeout, minWait} {
			began := time.Now()
			c.Do(t.Context(), "ping", nil)
			if took := time.Since(began); took != want {
				t.Errorf("request %d was waited for %v, not %v", i, took, want)
			}
		}
		if of := givenUpRequests(c); len(of) != thoroughWaits {
			t.Errorf("given up on %v; want the first %d requests", of, thoroughWaits)
		}
		began := time.Now()
		c.Do(t.Context(), "tools/call", nil, Within(0))
		if took := time.Since(began); took < minWait || took >= DefaultTimeout {
			t.Errorf("a call was waited for %v", took)
		}
	})
}

// TestShortWaits checks that a wait that was shorter than the timeout is recorded if the caller
// wants to know, and marked.
func TestShortWaits(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		inBubble(t, Options{NoteShortWaits: wanted}, neverRespond, func(t *testing.T, c *Conversation, _ *scripted) {
			c.Do(t.Context(), "ping", nil)
			c.Do(t.Context(), "ping", nil)
			c.DoAll(t.Context(), [][]byte{c.Request(c.NewID(), "ping", nil), c.Request(c.NewID(), "ping", nil)})
			c.Do(t.Context(), "tools/call", nil, Within(0)) // may take any time
			var short []bool
			for _, e := range c.Record.From(0) {
				if e.Kind == transcript.GaveUp {
					short = append(short, e.Short)
				}
			}
			want := []bool{false}
			if wanted {
				want = append(want, true, true, true)
			}
			if !slices.Equal(short, want) {
				t.Errorf("wanted %v: the waits are short: %v, want %v", wanted, short, want)
			}
			if !c.IsHung(t.Context()) {
				t.Error("the server does not count as hung")
			}
		})
	}
}

// TestPaceOfFences checks how long fences wait that get no response: the first one waits the whole
// time and later ones less, unless the pace is thorough.
func TestPaceOfFences(t *testing.T) {
	for _, b := range []struct {
		thorough bool
		want     []time.Duration
	}{
		{false, []time.Duration{3 * time.Second, DefaultTimeout / fenceDivisor, DefaultTimeout / fenceDivisor}},
		{true, []time.Duration{DefaultTimeout, minWait, minWait}},
	} {
		inBubble(t, Options{Thorough: b.thorough}, neverRespond, func(t *testing.T, c *Conversation, _ *scripted) {
			for i, want := range b.want {
				began := time.Now()
				if err := c.Fence(t.Context()); !errors.Is(err, ErrUnanswered) {
					t.Errorf("the fence says %v", err)
				}
				if took := time.Since(began); took != want {
					t.Errorf("thorough %v: fence %d was waited for %v, not %v", b.thorough, i, took, want)
				}
			}
		})
	}
	// A slow server gets the time that it needs, even after a fence has timed out.
	slow := func(s *scripted, m *wire.Message) {
		if m.Method == "tools/list" {
			s.runAfter(100*time.Millisecond, func() { s.write(wire.NewResult(m.ID, nil)) })
		}
	}
	inBubble(t, Options{}, slow, func(t *testing.T, c *Conversation, _ *scripted) {
		c.Do(t.Context(), "tools/list", nil)
		_ = c.Fence(t.Context())
		began := time.Now()
		_ = c.Fence(t.Context())
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the second fence was waited for %v", took)
		}
	})
}

// TestUnknownIDEndsTheWait checks that the client stops waiting after a response with a wrong id,
// unless it may belong to another request.
func TestUnknownIDEndsTheWait(t *testing.T) {
	stray := func(s *scripted, m *wire.Message) {
		s.write(wire.NewResult(wire.StringID("stray"), nil))
		s.runAfter(time.Second, func() { s.write(wire.NewResult(m.ID, nil)) })
	}
	inBubble(t, Options{}, stray, func(t *testing.T, c *Conversation, _ *scripted) {
		began := time.Now()
		if r := c.Do(t.Context(), "ping", nil); !errors.Is(r.Err, ErrUnanswered) || time.Since(began) != c.Grace() {
			t.Errorf("after %v the reply is %+v", time.Since(began), r)
		}
	})
	inBubble(t, Options{}, func(s *scripted, m *wire.Message) {
		if m.ID.Same(wire.IntID(2)) { // the first one is waited for by now
			s.write(wire.NewResult(wire.StringID("stray"), nil))
		}
		s.runAfter(time.Second, func() { s.write(wire.NewResult(m.ID, nil)) })
	}, func(t *testing.T, c *Conversation, _ *scripted) {
		both := make(chan *Reply, 2)
		for range 2 {
			go func() { both <- c.Do(t.Context(), "ping", nil) }()
			synctest.Wait() // it is waited for
		}
		for range 2 {
			if r := <-both; !r.Succeeded() {
				t.Errorf("the reply is %+v", r)
			}
		}
	})
}

// TestBurstSize checks that a server that is slow each time gets smaller bursts than one whose
// response was late once.
func TestBurstSize(t *testing.T) {
	took := map[string][]time.Duration{
		"prompts/list": {3 * time.Second, time.Millisecond, 2 * time.Second},
		"tools/list":   {500 * time.Millisecond, 400 * time.Millisecond, 600 * time.Millisecond},
	}
	slow := func(s *scripted, m *wire.Message) {
		if left := took[m.Method]; len(left) > 0 {
			took[m.Method] = left[1:]
			time.Sleep(left[0])
		}
		s.write(wire.NewResult(m.ID, map[string]any{}))
	}
	inBubble(t, Options{}, slow, func(t *testing.T, c *Conversation, _ *scripted) {
		of := func(methods ...string) int {
			var requests [][]byte
			for _, m := range methods {
				requests = append(requests, c.Request(c.NewID(), m, nil))
			}
			return c.BurstSize(64, requests...)
		}
		if got := of("ping"); got != 64 {
			t.Errorf("of a server that was asked for nothing: %d requests at once, not 64", got)
		}
		for range 3 {
			c.Do(t.Context(), "prompts/list", nil)
			c.Do(t.Context(), "tools/list", nil)
		}
		for _, b := range []struct {
			name    string
			methods []string
			want    int
		}{
			{"what was late twice", []string{"prompts/list"}, 64},
			{"what is slow each time", []string{"tools/list"}, 10},
			{"one of both", []string{"prompts/list", "tools/list"}, 10},
			{"what was not asked for", []string{"prompts/list", "resources/list"}, 4},
		} {
			if got := of(b.methods...); got != b.want {
				t.Errorf("of %s: %d requests at once, not %d", b.name, got, b.want)
			}
		}
	})
}

// TestFenceIdle checks for how long an idle server is waited for in a retry: until another
// server, started meanwhile, has shown that the machine is not busy.
func TestFenceIdle(t *testing.T) {
	for _, c := range []struct {
		name     string
		thorough bool
		others   *fakeStarts
		err      error
		took     time.Duration
		responds time.Duration // when the server responds
	}{
		{"others respond at once", true, &fakeStarts{}, ErrUnanswered, 3*time.Second + 100*time.Millisecond, never},
		{"others respond later", true, &fakeStarts{takes: 2 * time.Second}, ErrUnanswered, 6 * time.Second, never},
		{"others don't respond", true, &fakeStarts{takes: never}, ErrUnanswered, 3*time.Second + DefaultTimeout, never},
		{"no second copy", true, &fakeStarts{refused: true}, ErrUnanswered, DefaultTimeout, never},
		{"as late as the others", true, &fakeStarts{takes: 2 * time.Second}, nil, 5 * time.Second, 5 * time.Second},
		{"a first run", false, &fakeStarts{}, ErrUnanswered, 3 * time.Second, never},
	} {
		o := Options{Thorough: c.thorough, Starts: c.others}
		on := func(s *scripted, m *wire.Message) {
			s.runAfter(c.responds, func() { s.write(wire.NewResult(m.ID, nil)) })
		}
		inBubble(t, o, on, func(t *testing.T, conv *Conversation, _ *scripted) {
			began := time.Now()
			if err := conv.FenceIdle(t.Context()); !errors.Is(err, c.err) {
				t.Errorf("%s: the fence returns %v, not %v", c.name, err, c.err)
			}
			if took := time.Since(began); took != c.took {
				t.Errorf("%s: it took %v, not %v", c.name, took, c.took)
			}
		})
	}
}
