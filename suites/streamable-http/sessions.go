package streamablehttp

import (
	"context"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionName   = "MCP-Protocol-Version"
)

// otherSessions is how many sessions are opened in addition to that of the conversation.
const otherSessions = 3

func sessionCase() suite.Case {
	return suite.Case{
		ID:    "streamable-http.sessions",
		Title: "Opens and ends several sessions; sends requests without a session, with an unknown one and with an ended one",
		Provokes: []string{
			"streamable-http.session-id-charset", "streamable-http.session-id-unique-secure", "streamable-http.session-required-400",
			"streamable-http.session-terminated-404", "streamable-http.session-unknown-404", "streamable-http.session-delete",
			"streamable-http.initialize-without-session", "streamable-http.rejected-status", "streamable-http.rejected-body",
		},
		Run: func(ctx context.Context, t *suite.T) {
			w := t.Web(t.Start(ctx, client.Options{}))
			if !hasSession(w) {
				w.SendHarmless(ctx, suite.WithHeader(sessionHeader, unknown))
				t.Skip("the server assigns no session id")
			}
			var ids []string
			for range otherSessions {
				if id := openSession(ctx, w); id != "" {
					ids = append(ids, id)
				}
			}
			w.SendHarmless(ctx, suite.WithHeader(sessionHeader))
			w.SendNotification(ctx, suite.WithHeader(sessionHeader))
			getWithoutSession(ctx, w)
			w.RoundTrip(ctx, suite.WebRequest{Method: "DELETE", Headers: []suite.Header{suite.WithHeader(sessionHeader)}})
			w.SendHarmless(ctx, suite.WithHeader(sessionHeader, unknown))
			w.SendNotification(ctx, suite.WithHeader(sessionHeader, unknown))
			useEndedSessions(ctx, w, ids)
		},
	}
}

// endpointTimeout is how long a stream of HTTP+SSE may take to announce its endpoint.
const endpointTimeout = 3 * time.Second

// getWithoutSession sends a GET without a session id. The first event on its stream shows whether
// it is an HTTP+SSE stream, which needs no session id.
func getWithoutSession(ctx context.Context, w *suite.Web) {
	s := w.Begin(suite.WebRequest{Method: "GET", Headers: []suite.Header{suite.WithHeader(sessionHeader)}})
	if s.AwaitOpened(ctx) {
		s.WaitUntil(ctx, endpointTimeout+50*time.Millisecond, func(x *transcript.Exchange) bool {
			return slices.ContainsFunc(x.Body, func(e *transcript.Event) bool {
				ev := e.StreamEvent()
				return ev != nil && ev.HasData && ev.IsComplete()
			})
		})
	}
	s.Drop()
}

// unknown is a session id that no server assigns.
const unknown = "mcp-conform-5f3e1c9a-0000-4000-8000-000000000000"

// hasSession reports whether the server assigned a session id.
func hasSession(w *suite.Web) bool { return sessionID(w) != "" }

func sessionID(w *suite.Web) string {
	for _, f := range w.C.Web().Headers("POST", nil) {
		if f.Name == sessionHeader {
			return f.Value
		}
	}
	return ""
}

// openSession opens another session and returns its id, "" if there is none.
func openSession(ctx context.Context, w *suite.Web, h ...suite.Header) string {
	x := w.RoundTrip(ctx, suite.WebRequest{
		Body:    w.C.Request(w.C.NewID(), spec.MethodInitialize, w.C.InitializeParams()),
		Headers: append([]suite.Header{suite.WithHeader(sessionHeader), suite.WithHeader(versionName)}, h...),
	})
	if x == nil || !x.Succeeded() {
		return ""
	}
	return x.ResponseHead().Get(sessionHeader)
}

// endSession tries to end a session, and reports whether the server accepted that.
func endSession(ctx context.Context, w *suite.Web, id string, also ...suite.Header) (ended bool) {
	x := w.RoundTrip(ctx, suite.WebRequest{Method: "DELETE", Headers: append(also, suite.WithHeader(sessionHeader, id))})
	return x != nil && x.Succeeded()
}

// useEndedSessions ends sessions, sends messages of each kind in the first of them, and opens and
// ends another one.
func useEndedSessions(ctx context.Context, w *suite.Web, ids []string) {
	for i, id := range ids {
		header := suite.WithHeader(sessionHeader, id)
		ended := endSession(ctx, w, id)
		if i > 0 {
			continue
		}
		if !ended {
			w.SendHarmless(ctx, header) // to check that the session existed
			continue
		}
		w.SendHarmless(ctx, header)
		w.SendNotification(ctx, header)
		w.Get(ctx, header)
		endSession(ctx, w, id)
	}
	if id := openSession(ctx, w); id != "" {
		endSession(ctx, w, id)
	}
	w.SendHarmless(ctx) // the conversation's own session must continue
}
