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

// legalUtilities returns the legal variations in logging, progress and cancellation.
func legalUtilities() []*Fault {
	return []*Fault{
		// Logging.
		newVariation("logs-on-stderr", "log messages are written to stderr, and logging is not declared", combineSeams(
			withholdCapabilities("logging"), dropMessages(isLog), refuseCalls(spec.MethodSetLevel, always, spec.CodeMethodNotFound, "Method not found"),
			&refserver.Seams{Start: func(p *refserver.Process) { _, _ = p.Err.Write([]byte("<7>debug: to be read by people\n")) }})),
		newVariation("logs-of-any-level-at-first", "before logging/setLevel debug messages are sent", notifyOnInitialized(spec.MethodMessage, `{"level":"debug","data":null}`)),
		newVariationWithState("logs-in-flight", "debug messages in flight follow right after the response to the first logging/setLevel", func() *refserver.Seams {
			var set atomic.Bool
			return appendLines(func(o *refserver.Out) bool { return Results(spec.MethodSetLevel)(o) && !set.Swap(true) },
				`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"late"}}`)
		}).overTransports(orderedTransports()...),
		newVariation("emergencies", "a message of the level emergency precedes every response", prependLines(isSessionResponse, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":{}}}`)),
		newVariation("levels-with-meta", "the result of logging/setLevel has _meta", replaceResult(spec.MethodSetLevel, `{"_meta":{"com.example/level":"set"}}`)),
		newVariation("levels-fail", "logging/setLevel fails for every level but info", WrapHandler(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if result, err := next(c); err != nil || strings.Contains(string(c.Params), `"info"`) {
				return result, err
			}
			return nil, &refserver.Error{Code: spec.CodeInternal, Message: "The log can't be opened"}
		})),

		// Progress.
		newVariation("no-progress", "the server sends no progress", dropMessages(isProgress)),
		newVariation("no-total", "progress has neither total nor message", editProgress(func(_ *refserver.Out, p map[string]any) {
			delete(p, "total")
			delete(p, "message")
		})),
		newVariation("fractional-progress", "progress is a small fraction in exponent notation", editProgress(func(_ *refserver.Out, p map[string]any) {
			p["progress"], p["total"] = jsontext.Value(string(wire.JSON(p["progress"]))+"e-9"), 0.5
		})),
		newVariation("progress-from-below", "progress begins below zero and exceeds the total", editProgress(func(_ *refserver.Out, p map[string]any) {
			p["progress"] = 1000*toFloat(p["progress"]) - 2000
		})),
		newVariation("progress-for-everything", "every request with a token gets progress before its response", prependProgress()),
		newVariation("falsy-tokens-ignored", `the tokens 0 and "" get no progress`, EditOutgoing(isProgress, func(o *refserver.Out) {
			token := wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/progressToken")
			if string(token) == "0" || string(token) == `""` {
				o.Frames = nil
			}
		})),
		newVariation("tokens-respelled", "integer tokens are sent back with a zero fraction", editTokens(func(token string) string {
			if wire.RawID(token).IsInteger() && len(token) < 6 {
				return token + ".0"
			}
			return token
		})),
		newVariation("own-tokens", "the server's requests have progress tokens", addTokens(func(n int64) any { return n })),

		// Cancellation.
		newVariation("cancelled-in-the-end", "a cancelled request fails for another reason", failCancelled()).overTransports(orderedTransports()...),
		newVariation("progress-crosses-cancellation", "progress and the response follow a cancellation", finishCancelled()).overTransports(orderedTransports()...),
		newVariationWithState("ends-cancelled", "calls run one at a time, and a cancelled one delays the next", delayAfterCancelled),
		newVariation("cancels-late", "the server cancels each of its requests when the response arrives", onIncoming(
			singleMessage(func(m *wire.Message) bool { return m.Kind == wire.Response && m.ID.IsInteger() && len(m.ID.Raw()) < 3 }),
			func(s *refserver.Session, raw []byte) refserver.FrameAction {
				s.Notify(spec.MethodCancelled, map[string]any{"requestId": jsontext.Value(wire.Parse(raw).Messages[0].ID.Raw()), "reason": "too slow"})
				return refserver.Pass(raw)
			})),
		newVariation("cancels-at-once", "the server sends a ping and its cancellation in one write", onInitialized(func(s *refserver.Session) {
			s.SendRaw([]byte(`{"jsonrpc":"2.0","id":"hasty","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"hasty"}}`))
		})),
		newVariation("cancels-slowly", "cancellations take effect 20 ms late", onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
			n.Session.Go(func(ctx context.Context) {
				if sleep(ctx, 20*time.Millisecond) {
					next(n)
				}
			})
		})),
	}
}

// prependProgress sends progress before the response to each request with a token, except
// tools/call, initialize, and requests that precede initialize.
func prependProgress() *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if token := tokenOf(c); token != nil && c.Method != spec.MethodToolsCall && c.Revision != "" {
			c.Notify(spec.MethodProgress, map[string]any{"progressToken": token, "progress": 0})
		}
		return next(c)
	})
}

// failCancelled sends an error for each cancelled request, as if the error had already
// been in flight.
func failCancelled() *refserver.Seams {
	return respondToCancelled("", func(c *refserver.Call) {
		c.Session.SendRaw(wire.NewError(c.ID, int64(spec.CodeInternal), "It did not work out", nil))
	})
}

// finishCancelled sends final progress and the result of each cancelled call.
func finishCancelled() *refserver.Seams {
	return respondToCancelled(spec.MethodToolsCall, func(c *refserver.Call) {
		if token := tokenOf(c); token != nil {
			c.Session.SendRaw(wire.NewNotification(spec.MethodProgress, map[string]any{"progressToken": token, "progress": 1000}))
		}
		c.Session.SendRaw(wire.NewResult(c.ID, map[string]any{"content": []any{}}))
	})
}

// respondToCancelled calls the function respond for each cancelled request of the method, or of
// every method if method is empty. It calls respond after the handler has returned, because the
// handler's own progress must not follow the response.
func respondToCancelled(method string, respond func(c *refserver.Call)) *refserver.Seams {
	t := newCallTracker()
	t.method = method
	return combineSeams(t.seams(), onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
		t.cancel(n)
		next(n)
	}), WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if t.cancelled(c.Session, c.ID) {
			respond(c)
		}
		return result, err
	}), dropMessages(t.isOvertaken))
}

// isOvertaken matches the responses of the server's own handlers to cancelled calls, which the
// variation replaces with other responses. It also marks the call as ended, because a call can't be
// cancelled after its response.
func (t *callTracker) isOvertaken(o *refserver.Out) bool {
	if !Responses()(o) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.byKey[callKey{o.Session, o.ID.Key()}]
	if c == nil {
		return false
	}
	c.running = false
	return c.cancelled
}
