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

// A callTracker records the state and the progress token of each call, because responses and
// cancellations contain neither.
type callTracker struct {
	method string // the method whose requests are recorded; "" for all methods

	mu    sync.Mutex
	byKey map[callKey]*trackedCall
}

type callKey struct {
	session *refserver.Session
	id      string
}

type trackedCall struct {
	token     jsontext.Value // nil if there is none
	tool      string         // the called tool, if any
	running   bool
	cancelled bool
}

func newCallTracker() *callTracker { return &callTracker{byKey: map[callKey]*trackedCall{}} }

// seams returns the seams that record calls; the fault must include them. A call counts as running
// from the moment it is read, so that a later cancellation always finds it.
func (t *callTracker) seams() *refserver.Seams {
	return &refserver.Seams{BeforeHandle: func(c *refserver.Call) {
		if t.method != "" && t.method != c.Method {
			return
		}
		tool, _ := wire.Text(wire.At(c.Params, "/name"))
		t.mu.Lock()
		defer t.mu.Unlock()
		t.byKey[callKey{c.Session, c.ID.Key()}] = &trackedCall{token: tokenOf(c), tool: tool, running: true}
	}, Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		defer t.end(c)
		return next(c)
	}}
}

func (t *callTracker) end(c *refserver.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.byKey[callKey{c.Session, c.ID.Key()}]; now != nil {
		now.running = false
	}
}

// token returns the progress token of the newest request with the id.
func (t *callTracker) token(s *refserver.Session, id wire.ID) jsontext.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.byKey[callKey{s, id.Key()}]; c != nil {
		return c.token
	}
	return nil
}

// cancel marks as cancelled the call that a cancellation names. It reports whether the call was
// running and not cancelled before.
func (t *callTracker) cancel(n *refserver.Notification) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.byKey[callKey{n.Session, cancelledRequestID(n).Key()}]
	if c == nil || !c.running || c.cancelled {
		return false
	}
	c.cancelled = true
	return true
}

// cancelled reports whether the call with the id was cancelled while it ran.
func (t *callTracker) cancelled(s *refserver.Session, id wire.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.byKey[callKey{s, id.Key()}]
	return c != nil && c.cancelled
}

// sendAfterCancellation sends a frame 150 ms after the cancellation of a running call.
func sendAfterCancellation(frame func(id wire.ID, token jsontext.Value) []byte) *refserver.Seams {
	return sendAfterCancellationBy(150*time.Millisecond, frame)
}

// sendAfterCancellationBy is like sendAfterCancellation, but with the given delay.
func sendAfterCancellationBy(delay time.Duration, frame func(id wire.ID, token jsontext.Value) []byte) *refserver.Seams {
	t := newCallTracker()
	return combineSeams(t.seams(), onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
		runs := t.cancel(n)
		next(n)
		if runs {
			id := cancelledRequestID(n)
			sendLater(n.Session, delay, frame(id, t.token(n.Session, id)))
		}
	}))
}

// suppressCancelled sends no responses to cancelled calls.
func suppressCancelled() *refserver.Seams {
	t := newCallTracker()
	return combineSeams(t.seams(), onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
		t.cancel(n)
		next(n)
	}), dropMessages(func(o *refserver.Out) bool { return Responses()(o) && t.cancelled(o.Session, o.ID) }))
}

// exitOnCancelledRunning ends the process when a running call is cancelled.
func exitOnCancelledRunning() *refserver.Seams {
	t := newCallTracker()
	return combineSeams(t.seams(), onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
		if t.cancel(n) {
			n.Session.Exit(1)
			<-n.Session.Context().Done() // so that the server reads no further messages
			return
		}
		next(n)
	}))
}

// onLateResponse calls f for the client's responses to requests that the server has cancelled.
func onLateResponse(f func(s *refserver.Session, raw []byte) refserver.FrameAction) *refserver.Seams {
	var mu sync.Mutex
	given := map[string]bool{}
	return combineSeams(EditOutgoing(isCancellation, func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		given[cancelledID(&wire.Parse(o.Frames[0]).Messages[0]).Key()] = true
	}), onIncoming(func(_ *refserver.Session, frame *wire.Frame) bool {
		mu.Lock()
		defer mu.Unlock()
		return len(frame.Messages) == 1 && frame.Messages[0].Kind == wire.Response && given[frame.Messages[0].ID.Key()]
	}, f))
}

// sendLater sends frames after a delay.
func sendLater(s *refserver.Session, after time.Duration, frames ...[]byte) {
	s.Go(func(ctx context.Context) {
		if sleep(ctx, after) {
			for _, frame := range frames {
				s.SendRaw(frame)
			}
		}
	})
}

// isKnown reports whether a cancellation names a recorded call.
func (t *callTracker) isKnown(n *refserver.Notification) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byKey[callKey{n.Session, cancelledRequestID(n).Key()}] != nil
}

// cancelAnother marks one running call of the session as cancelled. It does nothing if none is left
// to mark.
func (t *callTracker) cancelAnother(s *refserver.Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, c := range t.byKey {
		if key.session == s && c.running && !c.cancelled {
			c.cancelled = true
			return
		}
	}
}

// waitsForClient reports whether a cancellation names a call of a tool that sends
// requests to the client.
func (t *callTracker) waitsForClient(n *refserver.Notification) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.byKey[callKey{n.Session, cancelledRequestID(n).Key()}]
	return c != nil && strings.HasPrefix(c.tool, "ask-")
}
