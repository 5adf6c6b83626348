// Package security judges the security best practices of the specification that concern several
// users of a server: one user must not be able to use what belongs to another.
package security

import (
	"context"
	"net/http"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const sessionBound = "security.session.bound-to-user"

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:           "security.session-of-another-user",
			Title:        "Sends requests in the session of one user with the token of another, and ends the session with that token",
			Requirements: []string{sessionBound},
			Run:          useForeignSession,
		},
	}
}

// useForeignSession sends requests in the session of the first user as the second user. The case
// gives up if the server does not serve the first user, or if it also serves the second user in a
// session that does not exist. Such a server may identify a session by its id and its user, and may
// have begun a session for the second user.
func useForeignSession(ctx context.Context, t *suite.T) {
	if t.Revision.Era() == spec.Stateless {
		t.Skip("the revision has no sessions")
	}
	c := t.Start(ctx, client.Options{})
	u := t.OtherUser(ctx, c)
	defer u.Leave(ctx)
	session := u.Headers(http.MethodPost, nil, nil).Get("Mcp-Session-Id")
	if session == "" {
		t.Skip("the server has no sessions")
	}
	method := t.DeclaredListOr(c.HarmlessMethod())
	deviates := func(summary string, shownBy ...*suite.OutsideResponse) {
		v := verdict.Deviation{Requirement: sessionBound, Summary: summary, Permitted: "a refusal, as for a session that does not exist"}
		for _, a := range shownBy {
			v.At = append(v.At, a.At)
		}
		v.Seen = shownBy[0].About + " got " + shownBy[0].Describe()
		t.Report(c, v)
	}
	header, _ := u.Authorization()
	isOpen := func() bool { // outside of the conversation, in which nothing counts after the session has ended
		body := c.Request(c.NewID(), method, nil)
		return u.Send(ctx, "POST of "+method+" by the first user", http.MethodPost, u.URL, u.Headers(http.MethodPost, body, []string{header}), body).IsServed()
	}
	if !isOpen() {
		t.GiveUp("the server does not serve the same request for the first user, either")
	}
	unknown := makeUpSessionID(session)
	const how, nowhere = "of the first user, by the second user", "that does not exist, by the second user"
	post := func(session, how string) *suite.OutsideResponse {
		return u.PostIn(ctx, session, how, c.Request(c.NewID(), method, nil))
	}
	if a := post(session, how); a.IsServed() {
		if post(unknown, nowhere).IsServed() {
			t.GiveUp("the server serves requests in sessions that do not exist")
		}
		deviates("The server serves one user in the session of another.", a)
		return
	}
	if a := u.Listen(ctx, session, how); opensStream(a) && !opensStream(u.Listen(ctx, unknown, nowhere)) {
		deviates("The server opens the event stream of one user for another.", a)
		return
	}
	if !isOpen() {
		t.GiveUp("the session has ended after the second user's request")
	}
	ended := u.End(ctx, session, how)
	switch {
	case isOpen():
		t.MarkKept(sessionBound)
	case ended.IsServed():
		deviates("The server ends the session of one user for another.", ended)
	default:
		t.GiveUp("the session has ended")
	}
}

// opensStream reports whether an event stream was opened.
func opensStream(a *suite.OutsideResponse) bool { return a.Status == http.StatusOK && a.IsStream() }

// changedCharacters is the maximum number of characters that makeUpSessionID changes in an id.
const changedCharacters = 4

// makeUpSessionID returns a session id that the server did not assign: the given one with its last
// digits and letters changed.
func makeUpSessionID(id string) string {
	out, left := []byte(id), changedCharacters
	for i := len(out) - 1; i >= 0 && left > 0; i-- {
		kind := similarCharacters(out[i])
		if kind == "" {
			continue
		}
		out[i] = kind[(strings.IndexByte(kind, out[i])+1)%len(kind)]
		left--
	}
	return string(out)
}

// similarCharacters returns the digits or letters with which a character can be replaced, or "" if
// it is neither a digit nor a letter. A hexadecimal id stays hexadecimal.
func similarCharacters(c byte) string {
	for _, kind := range []string{"0123456789", "abcdef", "ABCDEF", "ghijklmnopqrstuvwxyz", "GHIJKLMNOPQRSTUVWXYZ"} {
		if strings.IndexByte(kind, c) >= 0 {
			return kind
		}
	}
	return ""
}
