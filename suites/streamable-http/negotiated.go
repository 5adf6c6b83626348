package streamablehttp

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// negotiatedListsCase is separate from sideBySideCase for two reasons. That case already takes
// long. And while it checks that the end of one session ends no other, no further sessions may end.
func negotiatedListsCase() suite.Case {
	return suite.Case{
		ID:           "streamable-http.negotiated-lists",
		Title:        "Negotiates another revision in other sessions, and compares the lists of one session before and after",
		Requirements: []string{isolation},
		OwnServer:    true,
		OnlyOver:     spec.StreamableHTTP,
		Run: func(ctx context.Context, t *suite.T) {
			if w := t.Web(t.Start(ctx, client.Options{})); hasSession(w) {
				judgeNegotiatedLists(ctx, t, w)
			}
		},
	}
}

// judgeNegotiatedLists opens further sessions, alternately with another revision and with that of
// the conversation. It judges whether the lists of the conversation depend on what the other
// sessions negotiate. If the lists changed by themselves, they would not change back.
func judgeNegotiatedLists(ctx context.Context, t *suite.T, w *suite.Web) {
	another := anotherRevision(ctx, t, w)
	if another == "" {
		return
	}
	own, ok := getLists(ctx, t, w)
	if again, same := getLists(ctx, t, w); !ok || !same || again.text != own.text {
		return
	}
	var other *sessionLists
	for range 2 {
		for _, r := range []spec.Revision{another, t.Revision} {
			id := openSessionIn(ctx, w, r)
			if id == "" {
				return
			}
			now, ok := getLists(ctx, t, w)
			endSession(ctx, w, id, suite.WithHeader(versionName, string(r)))
			switch {
			case !ok || r == t.Revision && now.text != own.text:
				return
			case r == t.Revision:
			case now.text == own.text:
				t.MarkKept(isolation)
				return
			case other != nil && other.text != now.text:
				return
			default:
				other = now
			}
		}
	}
	t.Report(w.C, verdict.Deviation{
		Requirement: isolation,
		Summary:     "The server uses the protocol version of one client for another client.",
		Permitted:   "for each session the revision that it negotiated: its lists stay unchanged",
		Seen: "the lists of a session in " + string(t.Revision) + " differ while the latest session is in " + string(another) +
			", and come back after one in " + string(t.Revision),
		At: other.at,
	})
}

// anotherRevision returns another revision that the server supports, "" if there is none.
// Afterwards the conversation's revision is again the last one negotiated.
func anotherRevision(ctx context.Context, t *suite.T, w *suite.Web) spec.Revision {
	for _, r := range spec.HandshakeRevisions() {
		if r == t.Revision || !spec.StreamableHTTP.IsDefinedIn(r) {
			continue
		}
		if id := openSessionIn(ctx, w, r); id != "" {
			endSession(ctx, w, id, suite.WithHeader(versionName, string(r)))
			if id = openSessionIn(ctx, w, t.Revision); id != "" {
				endSession(ctx, w, id)
				return r
			}
		}
	}
	return ""
}

// sessionLists are the contents of a session's lists.
type sessionLists struct {
	text string
	at   []int
}

// getLists returns the first pages of all declared lists. It returns false if a request is refused,
// or if no list is declared.
func getLists(ctx context.Context, t *suite.T, w *suite.Web) (*sessionLists, bool) {
	l := &sessionLists{}
	for _, each := range changeable {
		if !t.Inventory.Declares(each.member) {
			continue
		}
		r := w.C.Do(ctx, each.method, nil)
		if !r.Succeeded() {
			return nil, false
		}
		l.text += string(wire.At(r.Message.Result(), "/"+each.member))
		l.at = append(l.at, r.Positions()...)
	}
	return l, l.text != ""
}

// openSessionIn opens another session in a revision and returns its id, "" if the server refused,
// chose another revision or assigned no id.
func openSessionIn(ctx context.Context, w *suite.Web, r spec.Revision) string {
	params := w.C.InitializeParams()
	params["protocolVersion"] = string(r)
	x := w.RoundTrip(ctx, suite.WebRequest{
		Body:    w.C.Request(w.C.NewID(), spec.MethodInitialize, params),
		Headers: []suite.Header{suite.WithHeader(sessionHeader), suite.WithHeader(versionName)},
	})
	if x == nil || !x.Succeeded() {
		return ""
	}
	for _, m := range x.Messages() {
		if chosen, _ := wire.Text(wire.At(m.Result(), "/protocolVersion")); chosen == string(r) {
			id := x.ResponseHead().Get(sessionHeader)
			if id != "" {
				w.RoundTrip(ctx, suite.WebRequest{
					Body:    wire.NewNotification(spec.MethodInitialized, nil),
					Headers: []suite.Header{suite.WithHeader(sessionHeader, id), suite.WithHeader(versionName, string(r))},
				})
			}
			return id
		}
	}
	return ""
}
