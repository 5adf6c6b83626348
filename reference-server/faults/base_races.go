package faults

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// raceFaults returns faults that are known from real servers. Most of the faults show only when
// messages of the client and the server cross.
func raceFaults() []*Fault {
	return []*Fault{
		newFaultWithState("base.response-once/raced", "concurrent requests get two responses", doubleConcurrent).inRevisions(
			spec.V20250326, spec.V20250618, spec.V20251125).overTransports(spec.Stdio, spec.StreamableHTTP), // in the oldest revision few requests are concurrent
		newFaultWithState("base.response-once/cancelled", "a cancelled request gets an error at once and its result later", func() *refserver.Seams {
			t := newCallTracker()
			return combineSeams(t.seams(), onCancellation(func(n *refserver.Notification, _ func(*refserver.Notification)) {
				if id := cancelledRequestID(n); t.cancel(n) {
					n.Session.SendRaw(wire.NewError(id, -32800, "Request cancelled", nil))
				}
			}))
		}).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("base.parse-error/dies-of-bytes", "a line that is not UTF-8 ends the process", onIncoming(func(_ *refserver.Session, f *wire.Frame) bool {
			return f.Has(wire.InvalidUTF8)
		}, exitWith(1))),
		newFaultWithState("base.response-once/cancelled-in-between", "a request cancelled before its response gets both an error and its result", func() *refserver.Seams {
			t := newCallTracker()
			return combineSeams(delayRequests(longDelay), t.seams(), onCancellation(func(n *refserver.Notification, _ func(*refserver.Notification)) {
				if t.cancel(n) {
					n.Session.SendRaw(wire.NewError(cancelledRequestID(n), -32800, "Request cancelled", nil))
				}
			}))
		}).inRevisions(spec.V20241105),
		newFaultWithState("base.response-once/cancelled-late", "the cancellation of a completed request gets an error with that request's id", func() *refserver.Seams {
			t := newCallTracker()
			return combineSeams(t.seams(), onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
				next(n)
				if t.isKnown(n) && !t.cancel(n) {
					n.Session.SendRaw(wire.NewError(cancelledRequestID(n), int64(spec.CodeInvalidRequest), "Request not found", nil))
				}
			}))
		}),
		newFaultWithState("base.notification-no-response/cancelled-unknown", "the cancellation of an unknown request gets an error with id null", func() *refserver.Seams {
			t := newCallTracker()
			return combineSeams(t.seams(), onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
				next(n)
				if id := cancelledRequestID(n); (id.IsString() || id.IsInteger()) && !t.isKnown(n) {
					n.Session.SendRaw([]byte(nullIDError))
				}
			}))
		}),
	}
}

// doubleConcurrent sends two responses to each request that was handled concurrently
// with another.
func doubleConcurrent() *refserver.Seams {
	var mu sync.Mutex
	running := map[callKey]bool{}
	raced := map[callKey]bool{}
	return combineSeams(&refserver.Seams{BeforeHandle: func(c *refserver.Call) {
		mu.Lock()
		defer mu.Unlock()
		running[callKey{c.Session, c.ID.Key()}] = true
		for other := range running {
			if len(running) > 1 {
				raced[other] = true
			}
		}
	}}, WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			delete(running, callKey{c.Session, c.ID.Key()})
		}()
		return next(c)
	}), EditOutgoing(Responses(), func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		if key := (callKey{o.Session, o.ID.Key()}); raced[key] {
			delete(raced, key)
			o.Frames = append(o.Frames, o.Frames[0])
		}
	}))
}
