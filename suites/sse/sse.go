// Package sse checks what is specific to servers over HTTP+SSE, the transport of 2024-11-05.
package sse

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

const (
	acceptsPost     = "sse.accepts-post"
	originValidated = "sse.origin-validated"
	multipleClients = "sse.multiple-clients"
	ownStream       = "sse.response-on-own-stream"
)

// Cases returns the cases of the area sse.
func Cases() []suite.Case {
	return []suite.Case{
		streamCase(),
		sideBySideCase(),
		originCase(),
		bodyCase(),
		boundCase(),
		authenticationCase(),
	}
}

func streamCase() suite.Case {
	return suite.Case{
		ID:    "sse.streams",
		Title: "Opens a second stream, uses its endpoint, closes it, and uses its endpoint again",
		Provokes: []string{
			"sse.two-endpoints", "sse.endpoint-event", "sse.endpoint-event-first", "sse.endpoint-same-origin", acceptsPost,
			"sse.messages-as-events", ownStream, "sse.unknown-session-refused", "sse.content-type", "lifecycle.shutdown-http",
		},
		OnlyOver: spec.SSE,
		Run: func(ctx context.Context, t *suite.T) {
			w := t.Web(t.Start(ctx, client.Options{}))
			other := openStream(ctx, t, w)
			endpoint := announcedEndpoint(ctx, w, other)
			if endpoint == "" {
				other.Drop()
				w.SendHarmless(ctx)
				t.GiveUp("the second stream announced no endpoint")
			}
			to := func(body []byte) { w.RoundTrip(ctx, suite.WebRequest{Target: endpoint, Body: body}) }
			from := w.C.Record.Len()
			id := w.C.NewID()
			to(w.C.Request(id, spec.MethodInitialize, w.C.InitializeParams()))
			w.C.AwaitResponse(ctx, from, id, client.Within(answerTime))
			_ = w.C.Fence(ctx) // the response may come on either stream, so neither is closed before
			other.Drop()
			w.C.Pause(ctx, settleTime)
			to(w.C.Request(w.C.NewID(), w.C.HarmlessMethod(), nil))
			t.Fence(ctx, w.C)
		},
	}
}

const (
	// answerTime bounds the wait for what a stream should deliver.
	answerTime = 3 * time.Second
	// settleTime is how long a server has to notice that a stream was closed.
	settleTime = 1100 * time.Millisecond
)

// openStream opens another stream. If the server opens none, the returned stream is already
// closed.
func openStream(ctx context.Context, t *suite.T, w *suite.Web, h ...suite.Header) *suite.Stream {
	s := w.Begin(suite.WebRequest{Method: "GET", Target: streamTarget(w), Headers: h})
	if !s.AwaitOpened(ctx) {
		s.Drop()
		if ctx.Err() != nil {
			t.GiveUp("the case ran out of time")
		}
	}
	return s
}

// streamTarget returns the target with which the conversation's stream was opened.
func streamTarget(w *suite.Web) string {
	if x := w.FirstExchange(); x != nil {
		return x.RequestHead().Target()
	}
	return ""
}

// announcedEndpoint returns the endpoint that a stream announces, "" if there is none or it is on
// another host.
func announcedEndpoint(ctx context.Context, w *suite.Web, s *suite.Stream) string {
	return endpointOn(w, s.WaitUntil(ctx, answerTime, func(x *transcript.Exchange) bool { return endpointData(x) != "" }))
}

// endpointOn is like announcedEndpoint, but does not wait. x is the exchange of the stream, or nil.
func endpointOn(w *suite.Web, x *transcript.Exchange) string {
	if x == nil {
		return ""
	}
	return w.ResolveOnHost(streamTarget(w), endpointData(x))
}

// endpointData returns the data of the last endpoint event of a stream, or "".
func endpointData(x *transcript.Exchange) (data string) {
	for _, e := range x.Body {
		if ev := e.StreamEvent(); ev != nil && ev.Type == "endpoint" && ev.IsComplete() {
			data = string(ev.Data)
		}
	}
	return data
}

func sideBySideCase() suite.Case {
	return suite.Case{
		ID:           "sse.side-by-side",
		Title:        "Uses three streams at once, with equal ids, slow calls, subscriptions, cancellations, log levels and requests to the client, and ends one",
		Requirements: []string{multipleClients, ownStream},
		Provokes:     []string{"resources.subscribe.no-update-without-subscription"},
		Waits:        true,
		OwnServer:    true,
		OnlyOver:     spec.SSE,
		Run:          func(ctx context.Context, t *suite.T) { t.OpenClients(ctx, multipleClients, ownStream).CheckAll(ctx) },
	}
}

func originCase() suite.Case {
	return suite.Case{
		ID:           "sse.origin",
		Title:        "Sends requests with foreign, local and rebound Origin headers",
		Requirements: []string{originValidated},
		Provokes:     []string{originValidated},
		Run: func(ctx context.Context, t *suite.T) {
			w := t.Web(t.Start(ctx, client.Options{}))
			t.CheckOrigins(ctx, originValidated, w)
			openStream(ctx, t, w, suite.WithHeader("Origin", suite.ForeignOrigin)).Drop()
		},
	}
}

func bodyCase() suite.Case {
	return suite.Case{
		ID:           "sse.bodies",
		Title:        "Posts requests that are long, chunked or slow, with header names in any case, and on a reused connection",
		Requirements: []string{acceptsPost},
		Run: func(ctx context.Context, t *suite.T) {
			w := t.Web(t.Start(ctx, client.Options{}))
			// A rule judges the refusal of requests without params, because a server has no reason
			// to refuse them. Only the request with a long body has params, so only its refusal is
			// judged here.
			t.CheckForms(ctx, acceptsPost, w, func(x *transcript.Exchange) bool { return len(x.Sent.Raw) < 1000 })
			t.Fence(ctx, w.C)
		},
	}
}
