// Package security judges the security best practices of the specification that concern several
// users of a server: what belongs to one of them is of no use to another.
package security

import (
	"context"
	"net/http"

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
			Title:        "Sends requests in the session of one user with the token of another, and ends it as that one",
			Requirements: []string{sessionBound},
			Run:          useForeignSession,
		},
	}
}

// useForeignSession uses the session of the first user as the second one. The twin of each request,
// by the first user, is served.
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
	method := c.HarmlessMethod()
	if lists := t.DeclaredLists(); len(lists) > 0 {
		method = lists[0]
	}
	deviates := func(summary string, shownBy ...*suite.OutsideAnswer) {
		v := verdict.Deviation{Requirement: sessionBound, Summary: summary, Permitted: "a refusal, as for a session that does not exist"}
		for _, a := range shownBy {
			v.At = append(v.At, a.At)
		}
		v.Seen = shownBy[0].About + ": " + shownBy[0].Describe()
		t.Deviates(c, v)
	}
	header, _ := u.Authorization()
	isOpen := func() bool { // outside of the conversation, for which a session that has ended excuses all
		body := c.Request(c.NewID(), method, nil)
		return u.Send(ctx, "POST of "+method+" by the first user", http.MethodPost, u.URL, u.Headers(http.MethodPost, body, []string{header}), body).IsServed()
	}
	if !isOpen() {
		t.GiveUp("the same request is not served for the first user, either")
	}
	const how = "of the first user, by the second user"
	if a := u.PostIn(ctx, session, how, c.Request(c.NewID(), method, nil)); a.IsServed() {
		deviates("The server serves one user in the session of another.", a)
		return
	}
	if !isOpen() {
		t.GiveUp("the session has ended after the second user's request")
	}
	ended := u.End(ctx, session, how)
	switch {
	case isOpen():
		t.Kept(sessionBound)
	case ended.IsServed():
		deviates("The server ends the session of one user for another.", ended)
	default:
		t.GiveUp("the session has ended")
	}
}
