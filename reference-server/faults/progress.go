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

func progressFaults() []Fault {
	const requested, echoed, active = "progress.only-requested-tokens/", "progress.token-echo/", "progress.only-in-progress/"
	const stops, grows, unique, stray = "progress.stops-after-completion/", "progress.increases/", "progress.server-token-unique/", "progress.unsolicited-from-client-tolerated/"
	return []Fault{
		breaks(requested+"request-id", "progress names the id of the request", progressing(func(o *refserver.Out, p map[string]any) {
			p["progressToken"] = "request " + o.Related.Raw()
		})).in(callable()...),
		breaks(requested+"unasked", "tools report progress of which nobody gave a token", finishing(func(c *refserver.Call, _ *refserver.Error) {
			if tokenOf(c) == nil {
				c.Notify(spec.MethodProgress, map[string]any{"progressToken": "tool-" + c.ID.Raw(), "progress": 1})
			}
		})).in(callable()...),
		breaks(requested+"when-ready", "the start is reported as progress", tells(spec.MethodProgress, `{"progressToken":"startup","progress":1,"total":1}`)),
		breaks(requested+"fresh", "progress has a token that the server made up", progressing(func(_ *refserver.Out, p map[string]any) {
			p["progressToken"] = "0b7b2c1e-5d8b-4d39-9d10-3a5e8f1c9a77"
		})).in(callable()...),

		breaks(echoed+"text", "integer tokens come back as strings", retokened(func(token string) string {
			if strings.HasPrefix(token, `"`) {
				return token
			}
			return strconv.Quote(token)
		})).in(callable()...),
		breaks(echoed+"number", "tokens of digits come back as numbers", retokened(func(token string) string {
			if text := strings.Trim(token, `"`); text != "" && strings.Trim(text, "0123456789") == "" {
				return text
			}
			return token
		})).in(callable()...),
		breaks(echoed+"lower-case", "tokens come back in lower case", retokened(strings.ToLower)).in(callable()...),
		breaks(requested+"rounded", "integer tokens come back rounded to singles", retokened(func(token string) string {
			if f, err := strconv.ParseFloat(token, 32); err == nil {
				return strconv.FormatFloat(f, 'f', -1, 32)
			}
			return token
		})).in(callable()...),

		breaks(active+"failed", "a failed call is reported as complete", behind(func(o *refserver.Out) bool { return o.Kind == refserver.OutError }, 1)).in(callable()...).over(spec.Stdio),
		breaks(stops+"one-more", "progress is reported complete behind the result", behind(func(o *refserver.Out) bool { return o.Kind == refserver.OutResult }, 1000)).in(callable()...).over(spec.Stdio),
		breaks(stops+"late", "progress goes on for 50 ms after the result", finishing(func(c *refserver.Call, err *refserver.Error) {
			if token := tokenOf(c); token != nil && err == nil {
				later(c.Session, 50*time.Millisecond, wire.NewNotification(spec.MethodProgress, map[string]any{"progressToken": token, "progress": 1000}))
			}
		})).in(callable()...).over(spec.Stdio),
		breaks(stops+"ping", "a ping with a token is reported as complete behind its answer", behind(func(o *refserver.Out) bool { return o.Method == spec.MethodPing }, 1)).over(spec.Stdio),

		breaks(grows+"constant", "progress is always 1", progressing(func(_ *refserver.Out, p map[string]any) { p["progress"] = 1 })).in(callable()...),
		breaks(grows+"remaining", "progress says how much is left", progressing(func(_ *refserver.Out, p map[string]any) {
			p["progress"] = number(p["total"]) - number(p["progress"])
		})).in(callable()...),
		breaks(grows+"rounded", "progress is rounded to whole hundreds of percents", progressing(func(_ *refserver.Out, p map[string]any) {
			p["progress"] = int(number(p["progress"]) / number(p["total"]))
		})).in(callable()...),
		breaks(grows+"twice", "each progress is sent twice", Outgoing(isProgress, func(o *refserver.Out) { o.Frames = append(o.Frames, o.Frames[0]) })).in(callable()...),
		breaksAfresh(grows+"wraps", "progress begins anew after two steps", func() refserver.Seams {
			var n atomic.Int64
			return progressing(func(_ *refserver.Out, p map[string]any) { p["progress"] = n.Add(1) % 2 })
		}).in(callable()...),

		breaks("progress.rate-limited/flood", "each step is reported in three hundred small ones", Outgoing(isProgress, func(o *refserver.Out) {
			m := wire.Parse(o.Frames[0]).Messages[0]
			p := plain(m.Params())
			done := number(p["progress"])
			o.Frames = nil
			for i := range 300 {
				p["progress"] = done - 1 + float64(i+1)/300
				o.Frames = append(o.Frames, wire.NewNotification(spec.MethodProgress, p))
			}
		})).in(callable()...),

		breaks(unique+"constant", "all its requests have the progress token 1", tokened(func(int64) any { return 1 })).in(callable()...),
		breaks(unique+"by-method", "its requests have their method as progress token", Outgoing(Requests, func(o *refserver.Out) { withToken(o, o.Method) })).in(callable()...),

		breaks(stray+"dies", "progress with a token that it did not give ends the process", incoming(single(func(m *wire.Message) bool { return m.Method == spec.MethodProgress }), diesOf(1))),
		breaks(stray+"dies-of-numbers", "progress with an integer token that it did not give ends the process", incoming(single(func(m *wire.Message) bool {
			return m.Method == spec.MethodProgress && wire.At(m.Params(), "/progressToken").Kind() == '0'
		}), diesOf(1))),
		breaksAfresh(stray+"deaf", "after progress with a token that it did not give nothing is answered any more", func() refserver.Seams {
			return deafAfter(single(func(m *wire.Message) bool { return m.Method == spec.MethodProgress }))
		}),
		breaksAfresh("progress.token-echo/newest", "progress has the token of the call that came last", newestToken).in(callable()...),
		breaks("progress.stops-after-cancel/complete", "150 ms after its cancellation a request is reported as complete", onceCancelled(func(_ wire.ID, token jsontext.Value) []byte {
			return wire.NewNotification(spec.MethodProgress, map[string]any{"progressToken": token, "progress": 1000})
		})).in(callable()...).over(spec.Stdio),
		breaks("progress.message-useful/empty", "the messages on progress are empty", sent(spec.MethodProgress, put("message", ""))),
		breaks("progress.task-token-continues/other", "the progress of tasks has the id of the task as its token", EditMessage(taskProgress, func(m Members) {
			_, p := wire.Members(m["params"])
			p["progressToken"] = wire.At(p["_meta"], "/io.modelcontextprotocol~1related-task/taskId")
			m["params"] = wire.JSON(p)
		})),
		breaksAfresh("progress.task-stops-at-terminal/goes-on", "there is progress on tasks that are over", goesOn),
	}
}

// ordered are the transports over which all that the server says comes in one
// order: over Streamable HTTP the stream of a request is over with its answer.
func ordered() []spec.Transport { return []spec.Transport{spec.Stdio, spec.SSE} }

func isProgress(o *refserver.Out) bool {
	return o.Kind == refserver.OutNotification && o.Method == spec.MethodProgress
}

// progressing edits the params of progress notifications.
func progressing(edit func(o *refserver.Out, p map[string]any)) refserver.Seams {
	return Outgoing(isProgress, func(o *refserver.Out) {
		p := plain(wire.Parse(o.Frames[0]).Messages[0].Params())
		edit(o, p)
		o.Frames[0] = wire.NewNotification(spec.MethodProgress, p)
	})
}

// retokened changes the JSON text of tokens.
func retokened(f func(token string) string) refserver.Seams {
	return progressing(func(_ *refserver.Out, p map[string]any) {
		p["progressToken"] = jsontext.Value(f(string(wire.JSON(p["progressToken"]))))
	})
}

// number reads a json.Number.
func number(v any) float64 {
	f, _ := strconv.ParseFloat(fmt.Sprint(v), 64)
	return f
}

// tokenOf returns the progress token of a call, nil where there is none.
func tokenOf(c *refserver.Call) jsontext.Value { return wire.At(c.Params, "/_meta/progressToken") }

// finishing does something when a tool has ended, before its answer is sent.
func finishing(f func(c *refserver.Call, err *refserver.Error)) refserver.Seams {
	return Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		f(c, err)
		return result, err
	})
}

// behind reports progress in the write of an answer, behind it, where the
// request gave a token.
func behind(when When, progress float64) refserver.Seams {
	t := newCalls()
	return together(t.seams(), Outgoing(Answers(), func(o *refserver.Out) {
		if token := t.token(o.Session, o.ID); token != nil && when(o) {
			o.Frames = append(o.Frames, wire.NewNotification(spec.MethodProgress, map[string]any{"progressToken": token, "progress": progress}))
		}
	}))
}

// tokened gives each request of the server a progress token.
func tokened(token func(n int64) any) refserver.Seams {
	var n atomic.Int64
	return Outgoing(Requests, func(o *refserver.Out) { withToken(o, token(n.Add(1))) })
}

func withToken(o *refserver.Out, token any) {
	_, m := wire.Members(o.Frames[0])
	params := map[string]any{}
	if m["params"] != nil {
		params = plain(m["params"])
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

// newestToken has all progress bear the token of the call that came last.
func newestToken() refserver.Seams {
	var mu sync.Mutex
	newest := map[*refserver.Session]any{}
	return together(Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if token := tokenOf(c); token != nil {
			mu.Lock()
			newest[c.Session] = token
			mu.Unlock()
		}
		return next(c)
	}), progressing(func(o *refserver.Out, p map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		p["progressToken"] = newest[o.Session]
	}))
}
