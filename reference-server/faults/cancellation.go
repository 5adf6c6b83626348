package faults

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func cancellationFaults() []Fault {
	const stop, silent, stragglers = "cancellation.stop-processing/", "cancellation.no-response-after-cancel/", "progress.stops-after-cancel/"
	const race, unknown, malformed, late = "cancellation.race-handled/", "cancellation.unknown-ignored/", "cancellation.malformed-ignored/", "cancellation.late-response-ignored/"
	const own, idType = "cancellation.server-cancels-own-requests/", "cancellation.id-type-matters/"
	// Some show on stdio alone: over HTTP what comes on two streams has no order,
	// an answer on a stream that is not its own is another fault, and a session
	// that ends is not the end of the process.
	return []Fault{
		breaks(stop+"ignored", "cancellations are ignored", heedless()).in(callable()...).over(spec.Stdio),
		breaks(stop+"silently", "a cancelled tool works on and reports it, and is not answered", together(heedless(), unansweredOnceCancelled())).in(callable()...).over(spec.Stdio),

		breaks(silent+"error", "a cancelled request gets an error after 150 ms", onceCancelled(func(id wire.ID, _ jsontext.Value) []byte {
			return wire.NewError(id, -32800, "Request cancelled", nil)
		})).in(callable()...).over(spec.Stdio),
		breaks(silent+"at-once", "a cancelled call gets an error at once, of a tool whose name says nothing", together(
			named("slow", "t7"), afterCancelled(0, func(id wire.ID, _ jsontext.Value) []byte {
				return wire.NewError(id, int64(spec.CodeInternal), "The request was cancelled", nil)
			}))).in(callable()...).over(spec.Stdio),
		breaks(silent+"result", "a cancelled request gets a result after 150 ms", onceCancelled(func(id wire.ID, _ jsontext.Value) []byte {
			return wire.NewResult(id, map[string]any{"content": []any{}, "isError": true})
		})).in(callable()...).over(spec.Stdio),

		breaks(race+"dies-of-completed", "the cancellation of an answered request ends the process", diesOfCancellation(answered)).over(spec.Stdio),
		breaks(race+"dies-of-running", "the cancellation of a request that runs ends the process", diesOfRunning()).in(callable()...).over(spec.Stdio),
		breaksAfresh(race+"deaf", "after the cancellation of an answered request nothing is answered any more", func() refserver.Seams {
			return deafAfter(single(func(m *wire.Message) bool { return m.Method == spec.MethodCancelled && answered(m) }))
		}),

		breaks(unknown+"dies", "the cancellation of a request that never was ends the process", diesOfCancellation(neverAsked)).over(spec.Stdio),
		breaks(unknown+"dies-of-texts", "a cancellation that names a string ends the process", diesOfCancellation(func(m *wire.Message) bool { return cancels(m).IsString() })).over(spec.Stdio),
		breaksAfresh(unknown+"deaf", "after the cancellation of a request that never was nothing is answered any more", func() refserver.Seams {
			return deafAfter(single(func(m *wire.Message) bool { return m.Method == spec.MethodCancelled && neverAsked(m) }))
		}),

		breaks(malformed+"dies-without-params", "a cancellation without params ends the process", diesOfCancellation(func(m *wire.Message) bool { return m.Params() == nil })).over(spec.Stdio),
		breaks(malformed+"dies-without-id", "a cancellation without a requestId ends the process", diesOfCancellation(func(m *wire.Message) bool { return !cancels(m).Present() })).over(spec.Stdio),
		breaks(malformed+"dies-of-null", "a cancellation of null ends the process", diesOfCancellation(func(m *wire.Message) bool { return cancels(m).IsNull() })).over(spec.Stdio),
		breaks(malformed+"dies-of-objects", "a cancellation that names an object ends the process", diesOfCancellation(func(m *wire.Message) bool { return strings.HasPrefix(cancels(m).Raw(), "{") })).over(spec.Stdio),
		breaksAfresh(malformed+"deaf", "after a cancellation of true nothing is answered any more", func() refserver.Seams {
			return deafAfter(single(func(m *wire.Message) bool { return cancels(m).Raw() == "true" }))
		}),

		breaksAfresh(late+"dies", "an answer to a request that it has cancelled ends the process", func() refserver.Seams { return afterGivingUp(diesOf(1)) }).in(callable()...),
		breaksAfresh(late+"deaf", "after an answer to a request that it has cancelled nothing is answered any more", func() refserver.Seams {
			var deaf atomic.Bool
			giveUp := afterGivingUp(func(*refserver.Session, []byte) refserver.FrameAction {
				deaf.Store(true)
				return refserver.Drop()
			})
			then := giveUp.Incoming
			giveUp.Incoming = func(s *refserver.Session, raw []byte) refserver.FrameAction {
				if deaf.Load() {
					return refserver.Drop()
				}
				return then(s, raw)
			}
			return giveUp
		}).in(callable()...),

		breaks(own+"none", "a request is cancelled that was never sent", tells(spec.MethodCancelled, `{"requestId":4711}`)),
		breaks(own+"client's", "calls of tools are cancelled by the server when they fail", finishing(func(c *refserver.Call, err *refserver.Error) {
			if err != nil {
				c.Session.Notify(spec.MethodCancelled, map[string]any{"requestId": jsontext.Value(c.ID.Raw()), "reason": err.Message})
			}
		})).in(callable()...),
		breaks(own+"other-type", "its cancellations name ids as strings", Outgoing(isCancellation, func(o *refserver.Out) {
			p := plain(wire.Parse(o.Frames[0]).Messages[0].Params())
			p["requestId"] = string(wire.JSON(p["requestId"]))
			o.Frames[0] = wire.NewNotification(spec.MethodCancelled, p)
		})).in(callable()...),
		breaks(own+"answered", "a ping is cancelled 200 ms after its answer", onceReady(func(s *refserver.Session) {
			s.Go(func(ctx context.Context) {
				if _, err := s.SendRequest(ctx, wire.ID{}, spec.MethodPing, nil); err == nil && pause(ctx, 200*time.Millisecond) {
					s.Notify(spec.MethodCancelled, map[string]any{"requestId": 1})
				}
			})
		})).over(spec.Stdio),
		breaks(own+"nothing", "a cancellation names no request", tells(spec.MethodCancelled, `{"reason":"x"}`)).in(beforeNewest()...),
		breaks(own+"null", "a cancellation names null", tells(spec.MethodCancelled, `{"requestId":null}`)),

		breaks(idType+"text-for-number", "a cancellation that names an integer as a string is heeded", cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
			if id := cancelledIn(n); id.IsString() {
				if bare, _ := wire.Text(jsontext.Value(id.Raw())); wire.RawID(bare).IsInteger() {
					n.Params = wire.JSON(map[string]any{"requestId": jsontext.Value(bare)})
				}
			}
			next(n)
		})).in(callable()...),
		breaksAfresh("cancellation.tasks-use-tasks-cancel/notification", "a task is cancelled by a notification that names its request", byNotification),
	}
}

func isCancellation(o *refserver.Out) bool {
	return o.Kind == refserver.OutNotification && o.Method == spec.MethodCancelled
}

// cancels returns the id that a cancellation names.
func cancels(m *wire.Message) wire.ID {
	return wire.IDAt(m.Params(), "/requestId")
}

// answered picks the cancellations of a request with a small integer id: in
// the traffic of the harness most of them come late.
func answered(m *wire.Message) bool {
	id := cancels(m)
	return id.IsInteger() && len(id.Raw()) < 6
}

// neverAsked picks those of ids that the harness makes up.
func neverAsked(m *wire.Message) bool {
	id := cancels(m)
	return (id.IsInteger() || id.IsString()) && !answered(m)
}

func diesOfCancellation(when func(m *wire.Message) bool) refserver.Seams {
	return incoming(single(func(m *wire.Message) bool { return m.Method == spec.MethodCancelled && when(m) }), diesOf(1))
}

// cancelling wraps the handling of cancellations.
func cancelling(f func(n *refserver.Notification, next func(*refserver.Notification))) refserver.Seams {
	return refserver.Seams{HandleNotification: func(n *refserver.Notification, next func(*refserver.Notification)) {
		if n.Method != spec.MethodCancelled {
			next(n)
			return
		}
		f(n, next)
	}}
}

// heedless passes over cancellations.
func heedless() refserver.Seams {
	return cancelling(func(*refserver.Notification, func(*refserver.Notification)) {})
}

// cancellationShapeFaults are the faults in the shape of cancellations.
func cancellationShapeFaults() []Fault {
	return []Fault{
		breaks("cancellation.request-id-present/missing", "a cancellation names no request", tells(spec.MethodCancelled, `{"reason":"x"}`)),
		breaks("cancellation.request-id-present/snake-case", "a cancellation names a request_id", tells(spec.MethodCancelled, `{"request_id":1}`)),
	}
}
