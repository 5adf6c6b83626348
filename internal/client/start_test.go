package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// fakeStarts simulates the controls that are started while a conversation waits for its server.
type fakeStarts struct {
	takes    time.Duration // how long a control takes to start
	slowest  time.Duration // how long the slowest start took before
	refused  bool          // no control can be started
	controls int
	waited   time.Duration // for servers that may still have been starting
}

func (o *fakeStarts) BeginWait() (over func()) {
	began := time.Now()
	return func() { o.waited += time.Since(began) }
}

func (o *fakeStarts) Slowest() time.Duration { return o.slowest }

func (o *fakeStarts) StartControl(ctx context.Context) error {
	o.controls++
	if o.refused {
		return errors.New("a second copy can't be started")
	}
	select {
	case <-time.After(o.takes):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// never is longer than any wait.
const never = 24 * time.Hour

// TestFirstMessages checks that the first message of any kind gets the time of a start, and that a
// missing response to it counts only if a control responds meanwhile.
func TestFirstMessages(t *testing.T) {
	odd := func(ctx context.Context, c *Conversation) *Reply {
		params := c.InitializeParams()
		delete(params, "clientInfo")
		return c.Do(ctx, spec.MethodInitialize, params)
	}
	ordinary := func(ctx context.Context, c *Conversation) *Reply { return c.Initialize(ctx) }
	early := func(ctx context.Context, c *Conversation) *Reply { return c.Do(ctx, spec.MethodToolsList, nil) }
	for _, test := range []struct {
		name    string
		ask     func(context.Context, *Conversation) *Reply
		takes   time.Duration // until the server responds
		others  *fakeStarts   // nil for a conversation that has none
		err     error
		took    time.Duration
		unclear bool
		gaveUp  int
	}{
		{name: "odd, ready", ask: odd, others: &fakeStarts{}},
		{name: "odd, slow start", ask: odd, takes: 12 * time.Second, others: &fakeStarts{takes: 12 * time.Second}, took: 12 * time.Second},
		{name: "odd, very slow start", ask: odd, takes: 55 * time.Second, others: &fakeStarts{takes: 55 * time.Second}, took: 55 * time.Second},
		{name: "odd, slow start, no others", ask: odd, takes: 55 * time.Second, took: 55 * time.Second},
		{name: "odd, silent, others fast", ask: odd, takes: never, others: &fakeStarts{takes: time.Second}, err: ErrUnanswered, took: 11*time.Second + time.Second/2, gaveUp: 1},
		{name: "odd, silent, others slow", ask: odd, takes: never, others: &fakeStarts{takes: 12 * time.Second}, err: ErrUnanswered, took: 28 * time.Second, gaveUp: 1},
		{name: "odd, silent, others too", ask: odd, takes: never, others: &fakeStarts{takes: never}, err: ErrStarting, took: 70 * time.Second, unclear: true},
		{name: "odd, silent, no second copy", ask: odd, takes: never, others: &fakeStarts{refused: true}, err: ErrStarting, took: time.Minute, unclear: true},
		{name: "odd, silent, no others", ask: odd, takes: never, err: ErrUnanswered, took: time.Minute, gaveUp: 1},
		{name: "ordinary, slow start", ask: ordinary, takes: 12 * time.Second, others: &fakeStarts{takes: 12 * time.Second}, took: 12 * time.Second},
		{name: "ordinary, silent, others fast", ask: ordinary, takes: never, others: &fakeStarts{takes: time.Second}, err: ErrUnanswered, took: 11*time.Second + time.Second/2},
		{name: "early request, slow start", ask: early, takes: 55 * time.Second, others: &fakeStarts{takes: 55 * time.Second}, took: 55 * time.Second},
		{name: "early request, silent, others too", ask: early, takes: never, others: &fakeStarts{takes: never}, err: ErrStarting, took: 70 * time.Second, unclear: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := Options{Revision: spec.V20251125}
				if test.others != nil {
					o.Starts = test.others
				}
				s := &scripted{on: func(s *scripted, m *wire.Message) {
					frame := normalResponse(m)
					s.runAfter(test.takes, func() { s.write(frame) })
				}}
				c, err := Open(t.Context(), s, o)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				began := time.Now()
				r := test.ask(t.Context(), c)
				if took := time.Since(began); !errors.Is(r.Err, test.err) || took != test.took {
					t.Errorf("after %v the error is %v, not %v after %v", took, r.Err, test.err, test.took)
				}
				if c.IsStartUnclear() != test.unclear {
					t.Errorf("the start is unclear: %v", c.IsStartUnclear())
				}
				if got := len(givenUpRequests(c)); got != test.gaveUp {
					t.Errorf("%d requests were given up", got)
				}
				if test.err == nil && c.slowest != 0 {
					t.Errorf("the start counts for the grace: %v", c.slowest)
				}
				if test.others != nil && test.others.waited != test.took {
					t.Errorf("Starts saw the wait as %v", test.others.waited)
				}
			})
		})
	}
}

// TestUsualStartsNeedNoControl checks that a start that is about as slow as earlier ones is not
// slowed down further by a control, and that a missing response still counts after that.
func TestUsualStartsNeedNoControl(t *testing.T) {
	for _, test := range []struct {
		name           string
		slowest, takes time.Duration
		controls       int
		err            error
		took           time.Duration
	}{
		{"as slow as others", 10 * time.Second, 14 * time.Second, 0, nil, 14 * time.Second},
		{"slower than others", 2 * time.Second, 12 * time.Second, 1, nil, 12 * time.Second},
		{"silent, others slow", 20 * time.Second, never, 1, ErrUnanswered, 36 * time.Second},
		{"silent, others very slow", time.Minute, never, 1, ErrUnanswered, 66 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				starts := &fakeStarts{takes: 4 * time.Second, slowest: test.slowest}
				s := &scripted{on: func(s *scripted, m *wire.Message) {
					frame := normalResponse(m)
					s.runAfter(test.takes, func() { s.write(frame) })
				}}
				c, err := Open(t.Context(), s, Options{Revision: spec.V20251125, Starts: starts})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				began := time.Now()
				r := c.Initialize(t.Context())
				if took := time.Since(began); !errors.Is(r.Err, test.err) || took.Round(time.Millisecond) != test.took || starts.controls != test.controls {
					t.Errorf("after %v and %d controls the error is %v", took, starts.controls, r.Err)
				}
			})
		})
	}
}

// TestFirstResponseEndsTheStart checks that a server gets only the usual time once it has
// responded, and that output before that, such as a banner, does not count as a response.
func TestFirstResponseEndsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{on: func(s *scripted, m *wire.Message) {
			if m.Method == spec.MethodToolsList {
				s.runAfter(20*time.Second, func() { s.write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not yet"}}`)) })
			}
		}}
		c, err := Open(t.Context(), s, Options{Revision: spec.V20251125, Starts: &fakeStarts{takes: never}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s.write([]byte("listening on stdin"))
		s.rec.Add(transcript.Event{Kind: transcript.Stderr, Raw: []byte("ready")})
		if c.HasStarted() {
			t.Error("a banner is taken for a response")
		}
		began := time.Now()
		r := c.Do(t.Context(), spec.MethodToolsList, nil)
		if took := time.Since(began); !errors.Is(r.Err, ErrUnanswered) || took != 30*time.Second {
			t.Errorf("after %v the error is %v", took, r.Err)
		}
		if !c.HasStarted() || c.IsStartUnclear() {
			t.Error("a response does not show that the server runs")
		}
	})
}
