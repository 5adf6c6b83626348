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

func cancellationFaults() []*Fault {
	const stop, silent = "cancellation.stop-processing/", "cancellation.no-response-after-cancel/"
	const race, unknown, malformed, late = "cancellation.race-handled/", "cancellation.unknown-ignored/", "cancellation.malformed-ignored/", "cancellation.late-response-ignored/"
	const own, idType = "cancellation.server-cancels-own-requests/", "cancellation.id-type-matters/"
	// Some faults are limited to stdio, because over HTTP the messages of two streams have no
	// order, a response on the wrong stream is another fault, and the end of a session does not end
	// the process.
	return []*Fault{
		newFault(stop+"ignored", "the server ignores cancellations", ignoreCancellations()).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),
		newFault(stop+"silently", "a cancelled tool continues, reports progress, and sends no response", combineSeams(ignoreCancellations(), suppressCancelled())).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),

		newFault(silent+"error", "a cancelled request gets an error after 150 ms", sendAfterCancellation(func(id wire.ID, _ jsontext.Value) []byte {
			return wire.NewError(id, -32800, "Request cancelled", nil)
		})).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),
		newFault(silent+"at-once", "a cancelled call of a tool with the name t7 gets an error at once", combineSeams(
			renameListedTool("slow", "t7"), sendAfterCancellationBy(0, func(id wire.ID, _ jsontext.Value) []byte {
				return wire.NewError(id, int64(spec.CodeInternal), "The request was cancelled", nil)
			}))).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),
		newFault(silent+"result", "a cancelled request gets a result after 150 ms", sendAfterCancellation(func(id wire.ID, _ jsontext.Value) []byte {
			return wire.NewResult(id, map[string]any{"content": []any{}, "isError": true})
		})).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),

		newFault(race+"dies-of-completed", "the cancellation of a completed request ends the process", exitOnCancellation(isCancellationOfCompleted)).overTransports(spec.Stdio),
		newFault(race+"dies-of-running", "the cancellation of a request in flight ends the process", exitOnCancelledRunning()).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),
		newFaultWithState(race+"deaf", "after the cancellation of a completed request the server responds to nothing", func() *refserver.Seams {
			return silentAfter(singleMessage(func(m *wire.Message) bool { return m.Method == spec.MethodCancelled && isCancellationOfCompleted(m) }))
		}),

		newFault(unknown+"dies", "the cancellation of an unknown request ends the process", exitOnCancellation(isCancellationOfUnknown)).overTransports(spec.Stdio),
		newFault(unknown+"dies-of-texts", "a cancellation with a string as requestId ends the process", exitOnCancellation(func(m *wire.Message) bool { return cancelledID(m).IsString() })).overTransports(spec.Stdio),
		newFaultWithState(unknown+"deaf", "after the cancellation of an unknown request the server responds to nothing", func() *refserver.Seams {
			return silentAfter(singleMessage(func(m *wire.Message) bool { return m.Method == spec.MethodCancelled && isCancellationOfUnknown(m) }))
		}),

		newFault(malformed+"dies-without-params", "a cancellation without params ends the process", exitOnCancellation(func(m *wire.Message) bool { return m.Params() == nil })).overTransports(spec.Stdio),
		newFault(malformed+"dies-without-id", "a cancellation without a requestId ends the process", exitOnCancellation(func(m *wire.Message) bool { return !cancelledID(m).IsPresent() })).overTransports(spec.Stdio),
		newFault(malformed+"dies-of-null", "a cancellation with requestId null ends the process", exitOnCancellation(func(m *wire.Message) bool { return cancelledID(m).IsNull() })).overTransports(spec.Stdio),
		newFault(malformed+"dies-of-objects", "a cancellation with an object as requestId ends the process", exitOnCancellation(func(m *wire.Message) bool { return strings.HasPrefix(cancelledID(m).Raw(), "{") })).overTransports(spec.Stdio),
		newFaultWithState(malformed+"deaf", "after a cancellation with requestId true the server responds to nothing", func() *refserver.Seams {
			return silentAfter(singleMessage(func(m *wire.Message) bool { return cancelledID(m).Raw() == "true" }))
		}),

		newFaultWithState(late+"dies", "a late response to a request that the server cancelled ends the process", func() *refserver.Seams { return onLateResponse(exitWith(1)) }).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState(late+"deaf", "after a late response to a request that it cancelled the server responds to nothing", func() *refserver.Seams {
			var deaf atomic.Bool
			giveUp := onLateResponse(func(*refserver.Session, []byte) refserver.FrameAction {
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
		}).inRevisions(revisionsWithReadOnlyHint()...),

		newFault(own+"none", "the server cancels a request that it never sent", notifyOnInitialized(spec.MethodCancelled, `{"requestId":4711}`)),
		newFault(own+"client's", "the server cancels the client's tools/call when it fails", onToolEnd(func(c *refserver.Call, err *refserver.Error) {
			if err != nil {
				c.Session.Notify(spec.MethodCancelled, map[string]any{"requestId": jsontext.Value(c.ID.Raw()), "reason": err.Message})
			}
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(own+"other-type", "the server's cancellations have ids as strings instead of numbers", EditOutgoing(isCancellation, func(o *refserver.Out) {
			p := decodeObject(wire.Parse(o.Frames[0]).Messages[0].Params())
			p["requestId"] = string(wire.JSON(p["requestId"]))
			o.Frames[0] = wire.NewNotification(spec.MethodCancelled, p)
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(own+"answered", "the server cancels a ping 200 ms after its response", onInitialized(func(s *refserver.Session) {
			s.Go(func(ctx context.Context) {
				if _, err := s.SendRequest(ctx, wire.ID{}, spec.MethodPing, nil); err == nil && sleep(ctx, 200*time.Millisecond) {
					s.Notify(spec.MethodCancelled, map[string]any{"requestId": 1})
				}
			})
		})).overTransports(spec.Stdio),
		newFault(own+"nothing", "the server sends a cancellation without requestId", notifyOnInitialized(spec.MethodCancelled, `{"reason":"x"}`)).inRevisions(olderRevisions()...),
		newFault(own+"null", "the server sends a cancellation with requestId null", notifyOnInitialized(spec.MethodCancelled, `{"requestId":null}`)),

		newFault("cancellation.no-messages-after-cancel.stdio/progress", "a cancelled tool continues and reports progress", combineSeams(ignoreCancellations(), suppressCancelled())),
		newFault("cancellation.no-messages-after-cancel.stdio/late", "a cancelled tool reports progress once more after 150 ms", sendAfterCancellation(func(_ wire.ID, token jsontext.Value) []byte {
			return wire.NewNotification(spec.MethodProgress, map[string]any{"progressToken": token, "progress": 1e6})
		})),
		newFault(race+"stateless", "the cancellation of a completed request ends the process", exitOnCancellation(isCancellationOfCompleted)).inRevisions(spec.StatelessRevisions()...).overTransports(spec.Stdio),
		newFault("cancellation.server-only-subscriptions/call", "the server cancels the client's tools/call", WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			c.Notify(spec.MethodCancelled, map[string]any{"requestId": jsontext.Value(c.ID.Raw()), "reason": "busy"})
			return next(c)
		})),
		newFault("cancellation.server-ends-subscription/silent", "on shutdown subscriptions end without a message", combineSeams(
			dropMessages(isCancellation), dropMessages(Responses(spec.MethodListen)))),
		newFault(idType+"text-for-number", `a cancellation with the string "1" cancels the request with the number 1`, onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
			if id := cancelledRequestID(n); id.IsString() {
				if bare, _ := wire.Text(jsontext.Value(id.Raw())); wire.RawID(bare).IsInteger() {
					n.Params = wire.JSON(map[string]any{"requestId": jsontext.Value(bare)})
				}
			}
			next(n)
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState("cancellation.tasks-use-tasks-cancel/notification", "notifications/cancelled with the id of a task's request cancels the task", cancelTaskByNotification),
	}
}

func isCancellation(o *refserver.Out) bool {
	return o.Kind == refserver.OutNotification && o.Method == spec.MethodCancelled
}

// cancelledID returns the id of the request that a cancellation names.
func cancelledID(m *wire.Message) wire.ID {
	return wire.IDAt(m.Params(), "/requestId")
}

// isCancellationOfCompleted matches cancellations with an integer id of fewer than six characters.
// The harness sends most of these cancellations after the response to the request that they name.
func isCancellationOfCompleted(m *wire.Message) bool {
	id := cancelledID(m)
	return id.IsInteger() && len(id.Raw()) < 6
}

// isCancellationOfUnknown matches cancellations whose id is a string, or an integer of six or more
// characters. The harness makes up such ids.
func isCancellationOfUnknown(m *wire.Message) bool {
	id := cancelledID(m)
	return (id.IsInteger() || id.IsString()) && !isCancellationOfCompleted(m)
}

func exitOnCancellation(when func(m *wire.Message) bool) *refserver.Seams {
	return onIncoming(singleMessage(func(m *wire.Message) bool { return m.Method == spec.MethodCancelled && when(m) }), exitWith(1))
}

// onCancellation wraps the handler of cancellations.
func onCancellation(f func(n *refserver.Notification, next func(*refserver.Notification))) *refserver.Seams {
	return &refserver.Seams{HandleNotification: func(n *refserver.Notification, next func(*refserver.Notification)) {
		if n.Method != spec.MethodCancelled {
			next(n)
			return
		}
		f(n, next)
	}}
}

// ignoreCancellations ignores all cancellations.
func ignoreCancellations() *refserver.Seams {
	return onCancellation(func(*refserver.Notification, func(*refserver.Notification)) {})
}

// cancellationShapeFaults returns the faults in the shape of cancellations.
func cancellationShapeFaults() []*Fault {
	return []*Fault{
		newFault("cancellation.request-id-present/missing", "the server sends a cancellation without requestId", notifyOnInitialized(spec.MethodCancelled, `{"reason":"x"}`)),
		newFault("cancellation.request-id-present/snake-case", "the server sends a cancellation with request_id instead of requestId", notifyOnInitialized(spec.MethodCancelled, `{"request_id":1}`)),
	}
}
