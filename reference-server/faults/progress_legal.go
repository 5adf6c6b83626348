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

// legalRunning are the legal variations in what takes time: logging, progress
// and cancellation.
func legalRunning() []Fault {
	return []Fault{
		// Logging.
		legal("logs-on-stderr", "log messages go to stderr, and logging is not declared", together(
			undeclared("logging"), mute(isLog), refuse(spec.MethodSetLevel, always, spec.CodeMethodNotFound, "Method not found"),
			refserver.Seams{Start: func(p *refserver.Process) { _, _ = p.Err.Write([]byte("<7>debug: to be read by people\n")) }})),
		legal("logs-of-any-level-at-first", "before a level is set the mildest messages come", tells(spec.MethodMessage, `{"level":"debug","data":null}`)),
		legalAfresh("logs-in-flight", "mild messages that were on their way come right behind the answer to the first logging/setLevel", func() refserver.Seams {
			var set atomic.Bool
			return after(func(o *refserver.Out) bool { return Results(spec.MethodSetLevel)(o) && !set.Swap(true) },
				`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"late"}}`)
		}).over(ordered()...),
		legal("emergencies", "an emergency is logged ahead of every answer", before(opened, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":{}}}`)),
		legal("levels-with-meta", "the answer to logging/setLevel has _meta", replaceResult(spec.MethodSetLevel, `{"_meta":{"com.example/level":"set"}}`)),
		legal("levels-fail", "logging/setLevel fails for the server's configuration, but for one level", Handle(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if result, err := next(c); err != nil || strings.Contains(string(c.Params), `"info"`) {
				return result, err
			}
			return nil, &refserver.Error{Code: spec.CodeInternal, Message: "The log can't be opened"}
		})),

		// Progress.
		legal("no-progress", "no progress is reported", mute(isProgress)),
		legal("no-total", "progress has neither total nor message", progressing(func(_ *refserver.Out, p map[string]any) {
			delete(p, "total")
			delete(p, "message")
		})),
		legal("fractional-progress", "progress is a small fraction, with an exponent", progressing(func(_ *refserver.Out, p map[string]any) {
			p["progress"], p["total"] = jsontext.Value(string(wire.JSON(p["progress"]))+"e-9"), 0.5
		})),
		legal("progress-from-below", "progress begins below zero and ends beyond the total", progressing(func(_ *refserver.Out, p map[string]any) {
			p["progress"] = 1000*number(p["progress"]) - 2000
		})),
		legal("progress-for-everything", "each answered request that gave a token has progress before its answer", progressFirst()),
		legal("falsy-tokens-ignored", "the tokens 0 and the empty string are taken for none", Outgoing(isProgress, func(o *refserver.Out) {
			token := wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/progressToken")
			if string(token) == "0" || string(token) == `""` {
				o.Frames = nil
			}
		})),
		legal("tokens-respelled", "integer tokens come back with a fraction of zero", retokened(func(token string) string {
			if wire.RawID(token).IsInteger() && len(token) < 6 {
				return token + ".0"
			}
			return token
		})),
		legal("own-tokens", "its requests have progress tokens, each its own", tokened(func(n int64) any { return n })),

		// Cancellation.
		legal("cancelled-in-the-end", "a cancelled request fails for another reason when the cancellation is read", answersCancelled()).over(ordered()...),
		legal("progress-crosses-cancellation", "progress and its answer come when a cancellation is read", crossing()).over(ordered()...),
		legalAfresh("ends-cancelled", "calls of the slow tool run one after the other, and one that was cancelled keeps the server busy for a while before the next", endsCancelled),
		legal("cancels-late", "each request of the server is cancelled when its answer arrives", incoming(
			single(func(m *wire.Message) bool { return m.Kind == wire.Response && m.ID.IsInteger() && len(m.ID.Raw()) < 3 }),
			func(s *refserver.Session, raw []byte) refserver.FrameAction {
				s.Notify(spec.MethodCancelled, map[string]any{"requestId": jsontext.Value(wire.Parse(raw).Messages[0].ID.Raw()), "reason": "too slow"})
				return refserver.Pass(raw)
			})),
		legal("cancels-at-once", "a ping of the server is cancelled in the write that sends it", onceReady(func(s *refserver.Session) {
			s.SendRaw([]byte(`{"jsonrpc":"2.0","id":"hasty","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"hasty"}}`))
		})),
		legal("cancels-slowly", "a cancellation is heeded 20 ms later", cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
			n.Session.Go(func(ctx context.Context) {
				if pause(ctx, 20*time.Millisecond) {
					next(n)
				}
			})
		})),
	}
}

// progressFirst reports progress ahead of each answer to a request that gave a
// token, unless a tool has done so.
func progressFirst() refserver.Seams {
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if token := tokenOf(c); token != nil && c.Method != spec.MethodToolsCall && c.Revision != "" {
			c.Notify(spec.MethodProgress, map[string]any{"progressToken": token, "progress": 0})
		}
		return next(c)
	})
}

// answersCancelled answers cancelled requests at once with an error that may have
// been on its way.
func answersCancelled() refserver.Seams {
	t := newCalls()
	return together(t.seams(), cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
		runs := t.cancel(n)
		next(n)
		if runs {
			n.Session.SendRaw(wire.NewError(cancelledIn(n), int64(spec.CodeInternal), "It did not work out", nil))
		}
	}), mute(t.overtaken))
}

// crossing reports the end of cancelled calls, and answers them, at once.
func crossing() refserver.Seams {
	t := newCalls()
	t.method = spec.MethodToolsCall
	return together(t.seams(), cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
		runs := t.cancel(n)
		next(n)
		if !runs {
			return
		}
		id := cancelledIn(n)
		if token := t.token(n.Session, id); token != nil {
			n.Session.SendRaw(wire.NewNotification(spec.MethodProgress, map[string]any{"progressToken": token, "progress": 1000}))
		}
		n.Session.SendRaw(wire.NewResult(id, map[string]any{"content": []any{}}))
	}), mute(t.overtaken))
}

// overtaken picks the answers to cancelled calls, which the fault has given. A
// call whose answer goes out can't be cancelled any more.
func (t *calls) overtaken(o *refserver.Out) bool {
	if !Answers()(o) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.of[callKey{o.Session, o.ID.Key()}]
	if c == nil {
		return false
	}
	c.running = false
	return c.cancelled
}
