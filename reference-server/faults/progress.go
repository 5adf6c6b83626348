package faults

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func progressFaults() []*Fault {
	const requested, echoed, active = "progress.only-requested-tokens/", "progress.token-echo/", "progress.only-in-progress/"
	const stops, grows, unique, stray = "progress.stops-after-completion/", "progress.increases/", "progress.server-token-unique/", "progress.unsolicited-from-client-tolerated/"
	return []*Fault{
		newFault(requested+"request-id", "progress has a token made from the request id", editProgress(func(o *refserver.Out, p map[string]any) {
			p["progressToken"] = "request " + o.Related.Raw()
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(requested+"unasked", "tools send progress for requests without a token", onToolEnd(func(c *refserver.Call, _ *refserver.Error) {
			if tokenOf(c) == nil {
				c.Notify(spec.MethodProgress, map[string]any{"progressToken": "tool-" + c.ID.Raw(), "progress": 1})
			}
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(requested+"when-ready", "the server sends progress with a made-up token at start", notifyOnInitialized(spec.MethodProgress, `{"progressToken":"startup","progress":1,"total":1}`)),
		newFault(requested+"fresh", "progress has a token that no request had", editProgress(func(_ *refserver.Out, p map[string]any) {
			p["progressToken"] = "0b7b2c1e-5d8b-4d39-9d10-3a5e8f1c9a77"
		})).inRevisions(revisionsWithReadOnlyHint()...),

		newFault(echoed+"text", "integer tokens are sent back as strings", editTokens(func(token string) string {
			if strings.HasPrefix(token, `"`) {
				return token
			}
			return strconv.Quote(token)
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(echoed+"number", "string tokens of digits are sent back as numbers", editTokens(func(token string) string {
			if text := strings.Trim(token, `"`); text != "" && strings.Trim(text, "0123456789") == "" {
				return text
			}
			return token
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(echoed+"lower-case", "string tokens are sent back in lower case", editTokens(strings.ToLower)).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(requested+"rounded", "integer tokens are sent back rounded to float32", editTokens(func(token string) string {
			if f, err := strconv.ParseFloat(token, 32); err == nil {
				return strconv.FormatFloat(f, 'f', -1, 32)
			}
			return token
		})).inRevisions(revisionsWithReadOnlyHint()...),

		newFault(active+"failed", "a failed call sends progress after its error", appendProgress(func(o *refserver.Out) bool { return o.Kind == refserver.OutError }, 1)).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),
		newFault(stops+"one-more", "progress follows the result", appendProgress(func(o *refserver.Out) bool { return o.Kind == refserver.OutResult }, 1000)).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),
		newFault(stops+"late", "progress is sent 50 ms after the result", onToolEnd(func(c *refserver.Call, err *refserver.Error) {
			if token := tokenOf(c); token != nil && err == nil {
				sendLater(c.Session, 50*time.Millisecond, wire.NewNotification(spec.MethodProgress, map[string]any{"progressToken": token, "progress": 1000}))
			}
		})).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),
		newFault(stops+"ping", "progress for a ping follows its response", appendProgress(func(o *refserver.Out) bool { return o.Method == spec.MethodPing }, 1)).overTransports(spec.Stdio),

		newFault(grows+"constant", "progress is always 1", editProgress(func(_ *refserver.Out, p map[string]any) { p["progress"] = 1 })).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(grows+"remaining", "progress counts down", editProgress(func(_ *refserver.Out, p map[string]any) {
			p["progress"] = toFloat(p["total"]) - toFloat(p["progress"])
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(grows+"rounded", "progress is rounded to 0 or 1", editProgress(func(_ *refserver.Out, p map[string]any) {
			p["progress"] = int(toFloat(p["progress"]) / toFloat(p["total"]))
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(grows+"twice", "each progress is sent twice", EditOutgoing(isProgress, func(o *refserver.Out) { o.Frames = append(o.Frames, o.Frames[0]) })).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState(grows+"wraps", "progress alternates between 1 and 0", func() *refserver.Seams {
			var n atomic.Int64
			return editProgress(func(_ *refserver.Out, p map[string]any) { p["progress"] = n.Add(1) % 2 })
		}).inRevisions(revisionsWithReadOnlyHint()...),

		newFault("progress.rate-limited/flood", "the server sends 300 progress notifications per step", EditOutgoing(isProgress, func(o *refserver.Out) {
			m := wire.Parse(o.Frames[0]).Messages[0]
			p := decodeObject(m.Params())
			done := toFloat(p["progress"])
			o.Frames = nil
			for i := range 300 {
				p["progress"] = done - 1 + float64(i+1)/300
				o.Frames = append(o.Frames, wire.NewNotification(spec.MethodProgress, p))
			}
		})).inRevisions(revisionsWithReadOnlyHint()...),

		newFault(unique+"constant", "all the server's requests have the progress token 1", addTokens(func(int64) any { return 1 })).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(unique+"by-method", "the server's requests have their method as progress token", EditOutgoing(IsServerRequest, func(o *refserver.Out) { setProgressToken(o, o.Method) })).inRevisions(revisionsWithReadOnlyHint()...),

		newFault(stray+"dies", "progress with an unknown token ends the process", onIncoming(singleMessage(func(m *wire.Message) bool { return m.Method == spec.MethodProgress }), exitWith(1))),
		newFault(stray+"dies-of-numbers", "progress with an unknown integer token ends the process", onIncoming(singleMessage(func(m *wire.Message) bool {
			return m.Method == spec.MethodProgress && wire.At(m.Params(), "/progressToken").Kind() == '0'
		}), exitWith(1))),
		newFaultWithState(stray+"deaf", "after progress with an unknown token the server responds to nothing", func() *refserver.Seams {
			return silentAfter(singleMessage(func(m *wire.Message) bool { return m.Method == spec.MethodProgress }))
		}),
		newFaultWithState("progress.token-echo/newest", "progress has the token of the latest call", useNewestToken).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("progress.stops-after-cancel/complete", "progress follows a cancellation after 150 ms", sendAfterCancellation(func(_ wire.ID, token jsontext.Value) []byte {
			return wire.NewNotification(spec.MethodProgress, map[string]any{"progressToken": token, "progress": 1000})
		})).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),
		newFaultWithState("progress.http-stream/subscription", "progress comes on the streams of subscriptions, too", progressToSubscriptions).overTransports(spec.StreamableHTTP),
		newFault("progress.message-useful/empty", "the messages of progress are empty", editSentParams(spec.MethodProgress, setValue("message", ""))),
		newFault("progress.task-token-continues/other", "the progress of a task has the task's id as token", EditMessage(taskProgress, func(m Members) {
			_, p := wire.Members(m["params"])
			p["progressToken"] = wire.At(p["_meta"], "/io.modelcontextprotocol~1related-task/taskId")
			m["params"] = wire.JSON(p)
		})),
		newFaultWithState("progress.task-stops-at-terminal/goes-on", "the server sends progress for tasks that have ended", progressAfterEnd),
	}
}

// progressToSubscriptions sends progress on the stream of each open subscription when a tool ends
// whose call has a progress token.
func progressToSubscriptions() *refserver.Seams {
	var mu sync.Mutex
	var listening []*refserver.Call
	return combineSeams(WrapHandler(spec.MethodListen, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		mu.Lock()
		listening = append(listening, c)
		mu.Unlock()
		return next(c)
	}), onToolEnd(func(c *refserver.Call, _ *refserver.Error) {
		mu.Lock()
		defer mu.Unlock()
		for _, subscription := range listening {
			if token := tokenOf(c); token != nil && subscription.Context().Err() == nil {
				subscription.Notify(spec.MethodProgress, map[string]any{"progressToken": token, "progress": 1000})
			}
		}
	}))
}

// orderedTransports returns the transports that deliver all messages of the server in one order.
// Over Streamable HTTP, messages on different streams have no order, and the stream of a request
// ends with the response.
func orderedTransports() []spec.Transport { return []spec.Transport{spec.Stdio, spec.SSE} }

func isProgress(o *refserver.Out) bool {
	return o.Kind == refserver.OutNotification && o.Method == spec.MethodProgress
}

// editProgress edits the params of progress notifications.
func editProgress(edit func(o *refserver.Out, p map[string]any)) *refserver.Seams {
	return EditOutgoing(isProgress, func(o *refserver.Out) {
		p := decodeObject(wire.Parse(o.Frames[0]).Messages[0].Params())
		edit(o, p)
		o.Frames[0] = wire.NewNotification(spec.MethodProgress, p)
	})
}

// editTokens edits the progress tokens, as raw JSON, of progress notifications.
func editTokens(f func(token string) string) *refserver.Seams {
	return editProgress(func(_ *refserver.Out, p map[string]any) {
		p["progressToken"] = jsontext.Value(f(string(wire.JSON(p["progressToken"]))))
	})
}

// toFloat converts a json.Number to float64.
func toFloat(v any) float64 {
	f, _ := strconv.ParseFloat(fmt.Sprint(v), 64)
	return f
}

// tokenOf returns the progress token of a call, or nil if the call has no token.
func tokenOf(c *refserver.Call) jsontext.Value { return wire.At(c.Params, "/_meta/progressToken") }

// onToolEnd calls f when a tool has ended, before the response to the call is sent. err is nil if
// the response is a result.
func onToolEnd(f func(c *refserver.Call, err *refserver.Error)) *refserver.Seams {
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		f(c, err)
		return result, err
	})
}

// appendProgress sends a progress notification right after each matching response, in the same
// write, if the request had a progress token.
func appendProgress(when MessageFilter, progress float64) *refserver.Seams {
	t := newCallTracker()
	return combineSeams(t.seams(), EditOutgoing(Responses(), func(o *refserver.Out) {
		if token := t.token(o.Session, o.ID); token != nil && when(o) {
			o.Frames = append(o.Frames, wire.NewNotification(spec.MethodProgress, map[string]any{"progressToken": token, "progress": progress}))
		}
	}))
}

// addTokens adds a progress token to each request of the server.
func addTokens(token func(n int64) any) *refserver.Seams {
	var n atomic.Int64
	return EditOutgoing(IsServerRequest, func(o *refserver.Out) { setProgressToken(o, token(n.Add(1))) })
}

func setProgressToken(o *refserver.Out, token any) {
	_, m := wire.Members(o.Frames[0])
	params := map[string]any{}
	if m["params"] != nil {
		params = decodeObject(m["params"])
	}
	meta, _ := params["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["progressToken"] = token
	params["_meta"] = meta
	m["params"] = wire.JSON(params)
	o.Frames[0] = wire.JSON(m)
}

// useNewestToken sends all progress with the token of the session's newest tools/call that has
// one.
func useNewestToken() *refserver.Seams {
	var mu sync.Mutex
	newest := map[*refserver.Session]any{}
	return combineSeams(WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if token := tokenOf(c); token != nil {
			mu.Lock()
			newest[c.Session] = token
			mu.Unlock()
		}
		return next(c)
	}), editProgress(func(o *refserver.Out, p map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		p["progressToken"] = newest[o.Session]
	}))
}
