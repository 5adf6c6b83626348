package streamablehttp

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	notCancel = "streamable-http.disconnect-not-cancel"
	replay    = "streamable-http.last-event-id-replay"
)

// The slow calls take long enough to cut their connections in the middle.
const (
	slowFor = 600 * time.Millisecond
	steps   = 3
)

func resumptionCase() suite.Case {
	return suite.Case{
		ID:           "streamable-http.resumption",
		Title:        "Cuts the streams of slow calls after their first events, and resumes them, one of them in another session",
		Requirements: []string{notCancel, replay},
		Provokes: []string{
			replay, "streamable-http.no-cross-stream-replay", "streamable-http.resume-via-get", "streamable-http.event-id-unique",
			"streamable-http.sse-response-delivered", "streamable-http.sse-priming-event", "lifecycle.shutdown-http",
		},
		Waits:    true,
		OnlyOver: spec.StreamableHTTP,
		Run: func(ctx context.Context, t *suite.T) {
			t.RequireTool(inventory.Slow)
			tool, _ := t.Inventory.SlowCall(slowFor, steps)
			w := t.Web(t.Start(ctx, client.Options{}))
			calls, other, further := []*cutCall{beginCall(w, tool), beginCall(w, tool)}, beginCall(w, tool), beginCall(w, tool)
			further.afterMessage = true
			for _, k := range append(calls, other, further) { // the last one has to wait the longest
				k.cut(ctx)
			}
			w.SendHarmless(ctx)
			if calls[0].lastID == "" {
				t.GiveUp("the stream had no event id before the response, so mcp-conform could not resume it")
			}
			for _, k := range calls {
				k.resume(ctx, w)
			}
			if calls[0].isResumed() { // otherwise there is nothing to wait for
				further.resume(ctx, w)
			}
			judgeResumption(ctx, t, w, tool, append(calls, further))
			other.resumeElsewhere(ctx, w)
		},
	}
}

// cutCall is a call whose connection is cut, with the outcome.
type cutCall struct {
	id           wire.ID
	token        string
	stream       *suite.Stream
	again        *suite.Stream // nil if the stream was not resumed
	lastID       string
	early        bool // the response came before the connection was cut
	afterMessage bool // cut the connection after an event with a message, not after one that has only an id
}

func beginCall(w *suite.Web, tool inventory.KnownCall) *cutCall {
	k := &cutCall{id: w.C.NewID()}
	k.token = "mcp-conform/cut-" + k.id.Raw()
	k.stream = w.Begin(suite.WebRequest{Body: w.C.Request(k.id, spec.MethodToolsCall, tool.ParamsWithToken(k.token))})
	return k
}

// cut waits for the first event that has an id or a message or, if afterMessage is set, for the
// first message, and closes the connection. The response also ends the wait.
func (k *cutCall) cut(ctx context.Context) {
	x := k.stream.WaitUntil(ctx, slowFor+callTime, func(x *transcript.Exchange) bool {
		return !k.afterMessage && k.stream.LastID() != "" || x.Succeeded() && x.IsStream() && len(x.Messages()) > 0 || x.ResponseTo(k.id) != nil
	})
	k.early = x != nil && x.ResponseTo(k.id) != nil
	k.stream.Drop()
	k.lastID = k.stream.LastID()
}

// resume resumes the stream after its last event, and waits for the response. It does nothing if
// the response came before the cut, or if no event had an id.
func (k *cutCall) resume(ctx context.Context, w *suite.Web) {
	if k.early || k.lastID == "" {
		return
	}
	k.again = w.Begin(suite.WebRequest{Method: "GET", Headers: []suite.Header{suite.WithHeader("Last-Event-ID", k.lastID)}})
	k.again.WaitUntil(ctx, slowFor+callTime, func(x *transcript.Exchange) bool { return x.ResponseTo(k.id) != nil })
	k.again.WaitUntil(ctx, w.C.Grace(), func(*transcript.Exchange) bool { return false }) // for further messages
	k.again.Drop()
}

// isResumed reports whether the response came on the resumed stream.
func (k *cutCall) isResumed() bool {
	return k.again != nil && k.again.Exchange() != nil && k.again.Exchange().ResponseTo(k.id) != nil
}

// resumeElsewhere requests the stream of the call in another session, to which it does not belong.
// It runs after the other calls were resumed and have ended. This call takes as long as they do, so
// it has ended too, and the server could replay its response. Rules judge the events.
func (k *cutCall) resumeElsewhere(ctx context.Context, w *suite.Web) {
	if k.early || k.lastID == "" || !hasSession(w) {
		return
	}
	id := openSession(ctx, w)
	if id == "" || k.sharesLastID(w) {
		return
	}
	header := suite.WithHeader(sessionHeader, id)
	w.RoundTrip(ctx, suite.WebRequest{Body: wire.NewNotification(spec.MethodInitialized, nil), Headers: []suite.Header{header}})
	again := w.Begin(suite.WebRequest{Method: "GET", Headers: []suite.Header{header, suite.WithHeader("Last-Event-ID", k.lastID)}})
	if again.AwaitOpened(ctx) {
		again.WaitUntil(ctx, w.C.Grace(), func(x *transcript.Exchange) bool { return x.ResponseTo(k.id) != nil })
	}
	again.Drop()
	endSession(ctx, w, id)
}

// sharesLastID reports whether the id of the last event came on another stream too, so that it
// identifies no stream.
func (k *cutCall) sharesLastID(w *suite.Web) bool {
	for _, x := range transcript.ExchangesOf(w.C.Record.From(0)).All() {
		for _, e := range x.Body {
			if event := e.StreamEvent(); event != nil && event.ID == k.lastID && x.Number != k.stream.Exchange().Number {
				return true
			}
		}
	}
	return false
}

// judgeResumption judges whether the calls continued without their connections, and whether
// missed messages were sent again. A server need not support resumption at all.
func judgeResumption(ctx context.Context, t *suite.T, w *suite.Web, tool inventory.KnownCall, calls []*cutCall) {
	for _, k := range calls {
		if k.again == nil || k.again.Exchange() == nil {
			continue
		}
		x := k.again.Exchange()
		m := x.ResponseTo(k.id)
		switch {
		case m == nil && k.afterMessage: // the other calls show whether a request continues
		case m == nil:
			t.MarkNotObserved(notCancel, "the response did not come on the resumed stream, which may have other causes")
		case !m.IsError():
			t.MarkKept(notCancel)
			k.judgeLostProgress(t, w, x)
		case w.C.Do(ctx, spec.MethodToolsCall, tool.Params(), client.Within(slowFor+callTime)).Succeeded():
			t.Report(w.C, verdict.Deviation{
				Requirement: notCancel,
				Summary:     "The server fails a running request because its connection was lost.",
				Permitted:   "the normal response: only a notification cancels",
				Seen:        suite.DescribeError(m), At: suite.PositionsOf(x),
			})
		}
	}
}

// judgeLostProgress judges whether the two connections together brought all progress.
func (k *cutCall) judgeLostProgress(t *suite.T, w *suite.Web, x *transcript.Exchange) {
	seen := map[string]bool{}
	for _, part := range []*transcript.Exchange{k.stream.Exchange(), x} {
		for _, m := range part.Messages() {
			if token, _ := wire.Text(wire.At(m.Params(), "/progressToken")); m.Method == spec.MethodProgress && token == k.token {
				seen[string(wire.At(m.Params(), "/progress"))] = true
			}
		}
	}
	if len(seen) >= steps {
		t.MarkKept(replay)
		return
	}
	t.Report(w.C, verdict.Deviation{
		Requirement: replay, Weight: verdict.OnlyNote,
		Summary:   "The server does not resend all progress when a stream is resumed.",
		Permitted: "the messages after the named event",
		Seen:      fmt.Sprintf("progress of %d of %d steps", len(seen), steps), At: suite.PositionsOf(x),
	})
}
