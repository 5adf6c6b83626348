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
	"github.com/mcp-conform/mcp-conform/internal/uri"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// useSessionWithoutToken opens a session with the token. In this session it sends requests, a
// notification, a GET and a DELETE without the token or with a wrong one. It gives up if the server
// does not serve a request with the token.
func useSessionWithoutToken(ctx context.Context, t *suite.T) {
	if t.Transport != spec.StreamableHTTP {
		t.Skip("the case applies only to Streamable HTTP")
	}
	c := t.Start(ctx, client.Options{})
	p := newProber(t, c)
	header, token := p.Authorization()
	if token == "" {
		t.GiveUp("mcp-conform was given no bearer token")
	}
	p.requireProtection(ctx)
	newRequest := p.requestMaker()
	if !p.post(ctx, "with the token", []string{header}, newRequest(), "").IsServed() {
		t.GiveUp("the server does not serve the same request with the token, either")
	}
	p.judgeLowerCase(ctx, header, p.post(ctx, "with the scheme in lower case", []string{"bearer " + token}, newRequest(), ""))
	if !p.judgeEveryRequest(ctx, header, newRequest) {
		for _, requirement := range []string{queryUnused, cookieUnused} {
			t.MarkNotObserved(requirement, "the server serves the same request without a token, too")
		}
	} else {
		p.judgeQuery(ctx, p.post(ctx, "with the token in the query only", nil, newRequest(), "access_token="+url.QueryEscape(token)))
		p.judgeCookies(ctx, token, newRequest())
	}
	p.judgeDelete(ctx, header, newRequest)
}

// requestMaker returns a function that makes a new request for the first list that the server
// declares, or, if it declares none, a request that every server serves.
func (p *prober) requestMaker() func() []byte {
	method := p.t.DeclaredListOr(p.C.HarmlessMethod())
	return func() []byte { return p.C.Request(p.C.NewID(), method, nil) }
}

// An accessRequest is a request for something that a server would protect even if its lists are
// open.
type accessRequest struct {
	method string
	params map[string]any
}

// accessRequests returns a request for a tool, a resource and a prompt, as far as the server
// declares them. The requests have no effect, because what they ask for does not exist.
func (p *prober) accessRequests() []accessRequest {
	var out []accessRequest
	for _, u := range []struct {
		capability string
		accessRequest
	}{
		{"tools", accessRequest{spec.MethodToolsCall, map[string]any{"name": uri.Nowhere, "arguments": map[string]any{}}}},
		{"resources", accessRequest{spec.MethodResourcesRead, map[string]any{"uri": "mcp-conform:" + uri.Nowhere}}},
		{"prompts", accessRequest{spec.MethodPromptsGet, map[string]any{"name": uri.Nowhere}}},
	} {
		if p.t.Inventory.Declares(u.capability) {
			out = append(out, u.accessRequest)
		}
	}
	return out
}

// accessRequestFunc returns a function that makes a new request from the first of accessRequests;
// nil if there is none.
func (p *prober) accessRequestFunc() func() []byte {
	all := p.accessRequests()
	if len(all) == 0 {
		return nil
	}
	return func() []byte { return p.C.Request(p.C.NewID(), all[0].method, all[0].params) }
}

// judgeEveryRequest judges whether requests of the session are refused without a valid token, and
// reports whether they are. header is the Authorization header with the valid token. A server may
// protect only some methods. It may then serve its lists without a token, but not the tools,
// resources and prompts in them.
func (p *prober) judgeEveryRequest(ctx context.Context, header string, newRequest func() []byte) bool {
	refused := true
	for _, w := range []wrongToken{
		{how: "of the session, without the token"},
		{how: "of the session, with random text as a token", header: []string{"Bearer " + rand.Text()}},
	} {
		v := verdict.Deviation{
			Requirement: everyRequest, Summary: "The server does not check the token of every request.", Permitted: "401 Unauthorized without a valid token, also in an open session",
		}
		listed := p.post(ctx, w.how, w.header, newRequest(), "")
		if isRefusal(listed) {
			p.judgeLaterLeak(ctx, listed)
		}
		shown := []*suite.OutsideResponse{listed}
		if use := p.accessRequestFunc(); use != nil {
			control, used := p.post(ctx, "with the token", []string{header}, use(), ""), p.post(ctx, w.how, w.header, use(), "")
			if shown = []*suite.OutsideResponse{used, control}; isRefusal(used) || isRefusal(control) || used.Outcome() != control.Outcome() {
				shown = nil
			}
		} else if v.Weight = verdict.OnlyNote; !listed.IsServed() { // a ping may be open to everybody
			shown = nil
		}
		if shown != nil {
			refused = false
			p.reportServed(ctx, v, shown...)
			continue
		}
		if p.inner != nil { // sessions, and what belongs to them, are open to everybody
			p.t.MarkKept(everyRequest)
			refused = refused && isRefusal(listed)
			continue
		}
		if stream := p.listen(ctx, w); stream != nil && stream.IsServed() && stream.IsStream() {
			p.reportServed(ctx, v, stream)
			continue
		}
		if a := p.post(ctx, w.how, w.header, suite.HarmlessNotification(), ""); a.IsServed() {
			v.Weight = verdict.AtMostWarning // servers may accept any notification
			p.reportServed(ctx, v, a)
			continue
		}
		p.t.MarkKept(everyRequest)
		refused = refused && isRefusal(listed)
	}
	return refused
}

func isRefusal(a *suite.OutsideResponse) bool {
	return a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden
}

// listen sends the GET of a session's stream. It returns nil if the revision has no such stream.
func (p *prober) listen(ctx context.Context, w wrongToken) *suite.OutsideResponse {
	if p.t.Revision.Era() == spec.Stateless {
		return nil
	}
	return p.Send(ctx, "GET of the event stream "+w.how, http.MethodGet, p.URL, p.Headers(http.MethodGet, nil, w.header), nil)
}

// judgeQuery judges the response to a request that has the token in the query. The server is known
// to refuse the same request without a token.
func (p *prober) judgeQuery(ctx context.Context, a *suite.OutsideResponse) {
	p.reportServedOrMarkKept(ctx, a, verdict.Deviation{
		Requirement: queryUnused, Summary: "The server accepts a token in the query.", Permitted: "401 Unauthorized: the token belongs in the Authorization header",
	})
}

// cookieNames are the names of cookies in which servers often keep a token.
var cookieNames = []string{"access_token", "accessToken", "token", "auth_token", "authToken", "jwt", "bearer", "mcp_token"}

// judgeCookies sends a request that has the token only in cookies, and judges the response. Without
// a token, the server refuses this request.
func (p *prober) judgeCookies(ctx context.Context, token string, body []byte) {
	h := p.Headers(http.MethodPost, body, nil)
	cookies := []string{"Authorization=Bearer%20" + token}
	if given := h.Get("Cookie"); given != "" {
		cookies = append([]string{given}, cookies...)
	}
	for _, name := range cookieNames {
		cookies = append(cookies, name+"="+token)
	}
	h.Set("Cookie", strings.Join(cookies, "; "))
	a := p.Send(ctx, "POST with the token in cookies only", http.MethodPost, p.URL, h, body)
	p.reportServedOrMarkKept(ctx, a, verdict.Deviation{
		Requirement: cookieUnused, Summary: "The server accepts a token in a cookie.", Permitted: "401 Unauthorized: the token belongs in the Authorization header",
	})
}

// reportServedOrMarkKept reports v if the request was served, and otherwise that the server keeps
// the requirement of v.
func (p *prober) reportServedOrMarkKept(ctx context.Context, a *suite.OutsideResponse, v verdict.Deviation) {
	if !a.IsServed() {
		p.t.MarkKept(v.Requirement)
		return
	}
	p.reportServed(ctx, v, a)
}

func (p *prober) judgeLowerCase(ctx context.Context, header string, a *suite.OutsideResponse) {
	if a.IsServed() {
		p.t.MarkKept(bearerAccepted)
		return
	}
	if newRequest := p.requestMaker(); !p.post(ctx, "with the token, once more", []string{header}, newRequest(), "").IsServed() {
		p.t.GiveUp("the server no longer serves the request with the token, either")
	}
	p.report(ctx, verdict.Deviation{
		Requirement: bearerAccepted, Summary: "The server refuses the scheme bearer in lower case.", Permitted: "the scheme in any case, as HTTP specifies", Weight: verdict.AtMostWarning,
	}, a)
}

// judgeDelete judges whether a client without a token can end the session.
func (p *prober) judgeDelete(ctx context.Context, header string, newRequest func() []byte) {
	h := p.Headers(http.MethodDelete, nil, nil)
	if h.Get(sessionHeader) == "" || p.inner != nil {
		p.t.MarkNotObserved(noTokenDelete, "the server has no session that a token has opened")
		return
	}
	served := func(how string) (*suite.OutsideResponse, bool) {
		a := p.post(ctx, how, []string{header}, newRequest(), "")
		return a, a.IsServed()
	}
	if _, ok := served("with the token, before the DELETE"); !ok {
		p.t.GiveUp("the session had already ended")
	}
	for _, w := range []wrongToken{{how: "without the token"}, {how: "with random text as a token", header: []string{"Bearer " + rand.Text()}}} {
		for _, value := range w.header {
			h.Set("Authorization", value)
		}
		a := p.Send(ctx, "DELETE of the session "+w.how, http.MethodDelete, p.URL, h, nil)
		after, continues := served("with the token, after the DELETE")
		switch {
		case continues && a.IsServed():
			p.t.MarkNotObserved(noTokenDelete, "the server accepts the DELETE, but the session continues")
			return
		case continues:
			p.t.MarkKept(noTokenDelete)
		default:
			p.reportServed(ctx, verdict.Deviation{
				Requirement: noTokenDelete, Summary: "The server ends a session for a client without a valid token.", Permitted: "401 Unauthorized, and the session continues",
			}, a, after)
			return
		}
	}
}
