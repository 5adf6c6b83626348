package authorization

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// useSessionWithoutToken sends what belongs to a session that a token has opened, without the
// token. The twin of each request, with the token, is served.
func useSessionWithoutToken(ctx context.Context, t *suite.T) {
	if t.Transport != spec.StreamableHTTP {
		t.Skip("the case is about Streamable HTTP")
	}
	c := t.Start(ctx, client.Options{})
	d := doorOf(t, c)
	header, bearer := d.token()
	if !bearer {
		t.GiveUp("mcp-conform was given no bearer token")
	}
	d.mustBeProtected(ctx)
	method := c.HarmlessMethod()
	if lists := t.DeclaredLists(); len(lists) > 0 {
		method = lists[0] // what a client wants protected
	}
	harmless := func() []byte { return c.Request(c.NewID(), method, nil) }
	if !d.post(ctx, "with the token", []string{header}, harmless(), "").IsServed() {
		t.GiveUp("the same request is not served with the token, either")
	}
	for _, w := range []wrongToken{
		{"of the session, without the token", everyRequest, nil},
		{"of the session, with random text as a token", everyRequest, []string{"Bearer " + rand.Text()}},
	} {
		d.judgeSession(ctx, d.post(ctx, w.how, w.header, harmless(), ""))
	}
	token := header[strings.IndexByte(header, ' ')+1:]
	d.judgeQuery(ctx, d.post(ctx, "with the token in the query only", nil, harmless(), "access_token="+url.QueryEscape(strings.TrimSpace(token))))
	d.judgeLowerCase(ctx, d.post(ctx, "with the scheme in lower case", []string{"bearer " + token}, harmless(), ""))
	d.judgeDelete(ctx, header, harmless)
}

// judgeSession judges the answer to a request of the session without a valid token. Which refusal a
// wrong token gets is judged outside of sessions.
func (d *door) judgeSession(ctx context.Context, a *suite.OutsideAnswer) {
	switch {
	case a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden:
		d.t.Kept(everyRequest)
	case a.IsServed():
		d.letsIn(ctx, verdict.Deviation{
			Requirement: everyRequest, Summary: "The server serves a request of an open session without a valid token.",
			Permitted: "401 Unauthorized: the token is checked on every request",
		}, a)
	default:
		d.t.NotObserved(everyRequest, "the server refuses the request in another way: "+a.Describe())
	}
}

func (d *door) judgeQuery(ctx context.Context, a *suite.OutsideAnswer) {
	if !a.IsServed() {
		d.t.Kept(queryUnused)
		return
	}
	d.letsIn(ctx, verdict.Deviation{
		Requirement: queryUnused, Summary: "The server accepts a token in the query.", Permitted: "401 Unauthorized: the token belongs into the Authorization header",
	}, a)
}

func (d *door) judgeLowerCase(ctx context.Context, a *suite.OutsideAnswer) {
	if a.IsServed() {
		d.t.Kept(bearerAccepted)
		return
	}
	d.deviates(ctx, verdict.Deviation{
		Requirement: bearerAccepted, Summary: "The server refuses the scheme bearer in lower case.", Permitted: "the scheme in any case, as HTTP has it", Weight: verdict.AtMostWarning,
	}, a)
}

// judgeDelete judges whether a client without a token can end the session.
func (d *door) judgeDelete(ctx context.Context, header string, harmless func() []byte) {
	h := d.fields(http.MethodDelete, nil, nil)
	if h.Get("Mcp-Session-Id") == "" {
		return
	}
	a := d.Send(ctx, "DELETE of the session without the token", http.MethodDelete, d.URL, h, nil)
	if !a.IsServed() {
		d.t.Kept(noTokenDelete)
		return
	}
	after := d.post(ctx, "with the token, after the DELETE", []string{header}, harmless(), "")
	if after.IsServed() {
		d.t.NotObserved(noTokenDelete, "the server accepts the DELETE, but the session goes on")
		return
	}
	d.letsIn(ctx, verdict.Deviation{
		Requirement: noTokenDelete, Summary: "The server ends a session for a client without a token.", Permitted: "401 Unauthorized, and the session goes on",
	}, a, after)
}
