package authorization

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A prober sends requests to the server from outside of any conversation, and judges the answers.
type prober struct {
	*suite.OutsideClient
	t         *suite.T
	documents map[string]*suite.OutsideResponse // metadata documents by URL
	// refused is the first refusal of a request without a token.
	refused *suite.OutsideResponse
	// inner is a later request that needs a token. It is set only if the first request of a client
	// needs none.
	inner *innerRequest
}

// An innerRequest is a request in a session that a client without a token has opened.
type innerRequest struct {
	accessRequest
	session string // its id, "" if the server has no sessions
}

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "MCP-Protocol-Version"
)

// openProber opens a conversation in which nothing is sent. It ends the case if the server is not
// reached over HTTP.
func openProber(ctx context.Context, t *suite.T) *prober {
	c := t.Open(ctx, client.Options{})
	return newProber(t, c)
}

func newProber(t *suite.T, c *client.Conversation) *prober {
	return &prober{OutsideClient: t.OutsideClient(c), t: t, documents: map[string]*suite.OutsideResponse{}}
}

// openProtectedProber is like openProber, but it also ends the case if the server does not refuse a
// request without a token with status 401.
func openProtectedProber(ctx context.Context, t *suite.T) *prober {
	p := openProber(ctx, t)
	p.requireProtection(ctx)
	return p
}

func (p *prober) requireProtection(ctx context.Context) {
	switch p.refused = p.obtainRefusal(ctx); {
	case p.refused.IsServed():
		p.t.Skip("the server serves requests without a token")
	case p.refused.Status != http.StatusUnauthorized:
		p.t.GiveUp(fmt.Sprintf("the server answers a request without a token with status %d, so it is not known to be protected", p.refused.Status))
	}
}

// obtainRefusal returns the answer to a request without a token: to the first request of a client
// or, if that is served, to the first of several later ones that is refused with status 401. If
// none of the later requests is refused with 401, it returns the answer to the first request.
func (p *prober) obtainRefusal(ctx context.Context) *suite.OutsideResponse {
	first := p.sendOpening(ctx, "without a token", nil)
	if !first.IsServed() {
		return first
	}
	session := first.Header.Get(sessionHeader)
	if p.t.Revision.Era() == spec.Handshake {
		body := wire.NewNotification(spec.MethodInitialized, nil)
		p.Send(ctx, "POST of "+spec.MethodInitialized+" without a token", http.MethodPost, p.URL, p.HeadersIn(session, http.MethodPost, body, nil), body)
	}
	var later []accessRequest
	for _, method := range p.t.DeclaredLists() {
		later = append(later, accessRequest{method: method})
	}
	for _, u := range append(later, p.accessRequests()...) {
		p.inner = &innerRequest{u, session}
		if a := p.sendOpening(ctx, "without a token", nil); a.Status == http.StatusUnauthorized {
			return a
		}
	}
	p.inner = nil
	return first
}

// sendOpening sends a request with the given Authorization headers; how describes them for reports.
// The request is p.inner or, if that is nil, the first request of an ordinary client, outside of
// any session.
func (p *prober) sendOpening(ctx context.Context, how string, authorization []string) *suite.OutsideResponse {
	if in := p.inner; in != nil {
		body := p.C.Request(p.C.NewID(), in.method, in.params)
		return p.Send(ctx, "POST of "+in.method+" "+how, http.MethodPost, p.URL, p.HeadersIn(in.session, http.MethodPost, body, authorization), body)
	}
	return p.SendOpening(ctx, how, authorization)
}

// post sends a message to the endpoint, with the query added to the URL unless it is "". how
// describes the authorization.
func (p *prober) post(ctx context.Context, how string, authorization []string, body []byte, query string) *suite.OutsideResponse {
	method := ""
	if m := wire.Parse(body).Messages; len(m) == 1 {
		method = " of " + m[0].Method
	}
	u := *p.URL
	if query != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+query, "&")
	}
	return p.Send(ctx, "POST"+method+" "+how, http.MethodPost, &u, p.Headers(http.MethodPost, body, authorization), body)
}

// fetch gets a metadata document, without any of the user's headers. It follows redirects, but only
// to URLs that a client may fetch. It caches the response, so that each document is requested only
// once.
func (p *prober) fetch(ctx context.Context, u *url.URL) *suite.OutsideResponse {
	if a := p.documents[u.String()]; a != nil {
		return a
	}
	h := http.Header{"Accept": {"application/json"}}
	if p.t.Revision.Era() == spec.Handshake {
		h.Set(versionHeader, string(p.t.Revision))
	}
	at, about := u, "GET of "+u.Redacted()
	a := p.Send(ctx, about, http.MethodGet, at, h, nil)
	for hops := 0; hops < maxHops && a.Status/100 == 3; hops++ {
		to, err := at.Parse(a.Header.Get("Location"))
		if err != nil || !oauth.MayFetch(p.URL, to) {
			break
		}
		at = to
		a = p.Send(ctx, about+", redirected to "+at.Redacted(), http.MethodGet, at, h, nil)
	}
	a.About, a.URL = about, u.Redacted()
	p.documents[u.String()] = a
	return a
}

// maxHops limits the redirects that are followed.
const maxHops = 10

// isOutOfReach reports whether a document could not be fetched, because its host did not respond,
// or redirects were not followed.
func isOutOfReach(a *suite.OutsideResponse) bool { return a.Status == 0 || a.Status/100 == 3 }

// challengeIn returns the Bearer challenge, if there is a well-formed one.
func challengeIn(a *suite.OutsideResponse) (oauth.Challenge, bool) {
	all, err := oauth.ParseChallenges(challengeLines(a))
	if err != nil {
		return oauth.Challenge{}, false
	}
	return oauth.BearerChallenge(all)
}

// report reports a deviation that the answers show. If the server shows no sign that it follows
// the authorization of MCP, it may use another kind of authorization (basic: parties MAY negotiate
// their own authentication). The requirements of this area then do not apply, and the deviation is
// a note.
func (p *prober) report(ctx context.Context, v verdict.Deviation, shownBy ...*suite.OutsideResponse) {
	p.reportWithLimit(ctx, v, verdict.OnlyNote, shownBy)
}

// reportServed is like report, but for a request that must not be served. If the server uses
// another kind of authorization, the deviation is at most a warning, instead of a note.
func (p *prober) reportServed(ctx context.Context, v verdict.Deviation, shownBy ...*suite.OutsideResponse) {
	p.reportWithLimit(ctx, v, verdict.AtMostWarning, shownBy)
}

func (p *prober) reportWithLimit(ctx context.Context, v verdict.Deviation, otherwise verdict.Weight, shownBy []*suite.OutsideResponse) {
	for _, a := range shownBy {
		v.At = append(v.At, a.At)
		if v.Seen == "" {
			v.Seen = a.About + " got " + a.Describe()
		}
	}
	v.Weight = max(v.Weight, p.weightLimit(ctx, otherwise))
	p.t.Report(p.C, v)
}

// weightLimit returns the weight that limits every deviation. It returns Full, which is no limit,
// if the server names metadata in its challenge or has the metadata document of a protected
// resource. Neither exists in 2025-03-26. In that revision a document of an authorization server at
// the root of the host gives AtMostWarning, because it may belong to another server. Without any of
// these signs that the server follows the authorization of MCP, weightLimit returns its argument.
func (p *prober) weightLimit(ctx context.Context, otherwise verdict.Weight) verdict.Weight {
	if c, ok := challengeIn(p.refused); ok && c.Param("resource_metadata") != "" {
		return verdict.Full
	}
	if doc, _ := p.fetchResourceMetadata(ctx); doc != nil {
		return verdict.Full
	}
	if !slices.Contains(sinceResourceMetadata, p.t.Revision) && isAuthServerMetadata(p.fetch(ctx, oauth.RootServerMetadataURL(p.URL))) {
		return verdict.AtMostWarning
	}
	return otherwise
}

// isResourceDocument reports whether the response is the metadata document of a protected resource.
// u is the URL of the document. A document at the root may be about another server on the host, so
// it counts only if its resource is the endpoint, or a URL above the endpoint.
func (p *prober) isResourceDocument(a *suite.OutsideResponse, u *url.URL) bool {
	members := a.Members()
	if a.Status != http.StatusOK || members["resource"] == nil && members["authorization_servers"] == nil {
		return false
	}
	if u.String() != oauth.RootResourceMetadataURL(p.URL).String() {
		return true
	}
	named, _ := wire.Text(members["resource"])
	about, err := url.Parse(named)
	return err == nil && (isPrefix(about.Path, p.URL.Path) || strings.TrimSuffix(about.Path, "/") == strings.TrimSuffix(p.URL.Path, "/"))
}

// isAuthServerMetadata reports whether the answer is the metadata document of an authorization
// server.
func isAuthServerMetadata(a *suite.OutsideResponse) bool {
	members := a.Members()
	return a.Status == http.StatusOK && (members["issuer"] != nil || members["token_endpoint"] != nil || members["authorization_endpoint"] != nil)
}

func challengeLines(a *suite.OutsideResponse) []string { return a.Header.Values("WWW-Authenticate") }
