package faults

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// calls remembers which calls run, and the progress tokens of all, as neither
// answers nor cancellations have them.
type calls struct {
	method string // of which requests are remembered; "" for all

	mu sync.Mutex
	of map[callKey]*call
}

type callKey struct {
	session *refserver.Session
	id      string
}

type call struct {
	token     jsontext.Value // nil where there is none
	tool      string         // that it calls, if any
	running   bool
	cancelled bool
}

func newCalls() *calls { return &calls{of: map[callKey]*call{}} }

// seams are what must be part of the fault that asks. A call runs from the
// moment on in which it was read, so that a cancellation which is read behind
// it always meets it.
func (t *calls) seams() refserver.Seams {
	return refserver.Seams{BeforeHandle: func(c *refserver.Call) {
		if t.method != "" && t.method != c.Method {
			return
		}
		tool, _ := wire.Text(wire.At(c.Params, "/name"))
		t.mu.Lock()
		defer t.mu.Unlock()
		t.of[callKey{c.Session, c.ID.Key()}] = &call{token: tokenOf(c), tool: tool, running: true}
	}, Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		defer t.ended(c)
		return next(c)
	}}
}

func (t *calls) ended(c *refserver.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.of[callKey{c.Session, c.ID.Key()}]; now != nil {
		now.running = false
	}
}

// token returns the token of the newest request with the id.
func (t *calls) token(s *refserver.Session, id wire.ID) jsontext.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.of[callKey{s, id.Key()}]; c != nil {
		return c.token
	}
	return nil
}

// cancel marks the call that a cancellation names, and reports whether it runs
// and was not cancelled before.
func (t *calls) cancel(n *refserver.Notification) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.of[callKey{n.Session, cancelledIn(n).Key()}]
	if c == nil || !c.running || c.cancelled {
		return false
	}
	c.cancelled = true
	return true
}

// cancelled reports whether the call with the id was cancelled while it ran.
func (t *calls) cancelled(s *refserver.Session, id wire.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.of[callKey{s, id.Key()}]
	return c != nil && c.cancelled
}

// onceCancelled sends something 150 ms after the cancellation of a call.
func onceCancelled(frame func(id wire.ID, token jsontext.Value) []byte) refserver.Seams {
	return afterCancelled(150*time.Millisecond, frame)
}

// afterCancelled does so behind a delay.
func afterCancelled(delay time.Duration, frame func(id wire.ID, token jsontext.Value) []byte) refserver.Seams {
	t := newCalls()
	return together(t.seams(), cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
		runs := t.cancel(n)
		next(n)
		if runs {
			id := cancelledIn(n)
			later(n.Session, delay, frame(id, t.token(n.Session, id)))
		}
	}))
}

// unansweredOnceCancelled keeps back the answers to cancelled calls.
func unansweredOnceCancelled() refserver.Seams {
	t := newCalls()
	return together(t.seams(), cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
		t.cancel(n)
		next(n)
	}), mute(func(o *refserver.Out) bool { return Answers()(o) && t.cancelled(o.Session, o.ID) }))
}

// diesOfRunning ends the process when a call is cancelled that runs.
func diesOfRunning() refserver.Seams {
	t := newCalls()
	return together(t.seams(), cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
		if t.cancel(n) {
			n.Session.Exit(1)
			<-n.Session.Context().Done() // at once: what follows is not read any more
			return
		}
		next(n)
	}))
}

// afterGivingUp does something of the answers to requests that the server has
// cancelled.
func afterGivingUp(f func(s *refserver.Session, raw []byte) refserver.FrameAction) refserver.Seams {
	var mu sync.Mutex
	given := map[string]bool{}
	return together(Outgoing(isCancellation, func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		given[cancels(&wire.Parse(o.Frames[0]).Messages[0]).Key()] = true
	}), incoming(func(_ *refserver.Session, frame *wire.Frame) bool {
		mu.Lock()
		defer mu.Unlock()
		return len(frame.Messages) == 1 && frame.Messages[0].Kind == wire.Response && given[frame.Messages[0].ID.Key()]
	}, f))
}

// later sends frames after some time, in one go.
func later(s *refserver.Session, after time.Duration, frames ...[]byte) {
	s.Go(func(ctx context.Context) {
		if pause(ctx, after) {
			for _, frame := range frames {
				s.SendRaw(frame)
			}
		}
	})
}

// known reports whether a cancellation names a call that was made.
func (t *calls) known(n *refserver.Notification) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[callKey{n.Session, cancelledIn(n).Key()}] != nil
}

// cancelAnother marks one of the calls of the session that run and were not
// cancelled.
func (t *calls) cancelAnother(s *refserver.Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, c := range t.of {
		if key.session == s && c.running && !c.cancelled {
			c.cancelled = true
			return
		}
	}
}

// waits reports whether a cancellation names a call of a tool that asks the
// client.
func (t *calls) waits(n *refserver.Notification) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.of[callKey{n.Session, cancelledIn(n).Key()}]
	return c != nil && strings.HasPrefix(c.tool, "ask-")
}
