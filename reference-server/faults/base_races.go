package faults

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// raceFaults are those that show only where messages cross, as they did in
// servers that people use.
func raceFaults() []Fault {
	return []Fault{
		breaksAfresh("base.response-once/raced", "requests that are handled side by side are answered twice", doubledInRaces).in(
			spec.V20250326, spec.V20250618, spec.V20251125).over(spec.Stdio, spec.StreamableHTTP), // in the oldest revision few are
		breaksAfresh("base.response-once/cancelled", "a cancelled request gets an error at once, and its result later", func() refserver.Seams {
			t := newCalls()
			return together(t.seams(), cancelling(func(n *refserver.Notification, _ func(*refserver.Notification)) {
				if id := cancelledIn(n); t.cancel(n) {
					n.Session.SendRaw(wire.NewError(id, -32800, "Request cancelled", nil))
				}
			}))
		}).in(callable()...),
		breaks("base.parse-error/dies-of-bytes", "a line that is no UTF-8 ends the process", incoming(func(_ *refserver.Session, f *wire.Frame) bool {
			return f.Has(wire.InvalidUTF8)
		}, diesOf(1))),
		breaksAfresh("base.response-once/cancelled-in-between", "a request that is cancelled between its arrival and its answer gets an error and its result", func() refserver.Seams {
			t := newCalls()
			return together(lingering(while), t.seams(), cancelling(func(n *refserver.Notification, _ func(*refserver.Notification)) {
				if t.cancel(n) {
					n.Session.SendRaw(wire.NewError(cancelledIn(n), -32800, "Request cancelled", nil))
				}
			}))
		}).in(spec.V20241105),
		breaksAfresh("base.response-once/cancelled-late", "the cancellation of an answered request is answered by an error with its id", func() refserver.Seams {
			t := newCalls()
			return together(t.seams(), cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
				next(n)
				if t.known(n) && !t.cancel(n) {
					n.Session.SendRaw(wire.NewError(cancelledIn(n), int64(spec.CodeInvalidRequest), "Request not found", nil))
				}
			}))
		}),
		breaksAfresh("base.notification-no-response/cancelled-unknown", "the cancellation of a request that never was gets an error with id null", func() refserver.Seams {
			t := newCalls()
			return together(t.seams(), cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
				next(n)
				if id := cancelledIn(n); (id.IsString() || id.IsInteger()) && !t.known(n) {
					n.Session.SendRaw([]byte(nullIDError))
				}
			}))
		}),
	}
}

// doubledInRaces answers twice what was handled while something else was.
func doubledInRaces() refserver.Seams {
	var mu sync.Mutex
	running := map[callKey]bool{}
	raced := map[callKey]bool{}
	return together(refserver.Seams{BeforeHandle: func(c *refserver.Call) {
		mu.Lock()
		defer mu.Unlock()
		running[callKey{c.Session, c.ID.Key()}] = true
		for other := range running {
			if len(running) > 1 {
				raced[other] = true
			}
		}
	}}, Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			delete(running, callKey{c.Session, c.ID.Key()})
		}()
		return next(c)
	}), Outgoing(Answers(), func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		if key := (callKey{o.Session, o.ID.Key()}); raced[key] {
			delete(raced, key)
			o.Frames = append(o.Frames, o.Frames[0])
		}
	}))
}
