package authorization

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// An issuedToken describes a kind of token that the server must refuse.
type issuedToken struct {
	kind        issuer.Kind
	how         string
	requirement string
	summary     string // of the finding if a request with the token is served
	weight      verdict.Weight
}

var issuedTokens = []issuedToken{
	{issuer.Expired, "with an expired token", expired, "The server accepts an expired token.", verdict.Full},
	{issuer.NotYetValid, "with a token that is not valid yet", garbage, "The server accepts a token before it is valid.", verdict.AtMostWarning},
	{issuer.OtherResource, "with a token for another server", audience, "The server accepts a token that was issued for another server.", verdict.Full},
	{issuer.OtherServers, "with a token for two other servers", audience, "The server accepts a token that was issued for another server.", verdict.Full},
	{issuer.LongerPath, "with a token for a server whose URL begins with that of this one", audience, "The server accepts a token that was issued for another server.", verdict.Full},
	{issuer.NoResource, "with a token that is for no server in particular", audience, "The server accepts a token that was not issued for it.", verdict.AtMostWarning},
	{issuer.UnknownKey, "with a token signed by a key that the issuer does not publish", garbage, "The server accepts a token with a wrong signature.", verdict.Full},
	{issuer.OtherKey, "with a token signed by another key under the id of the issuer's key", garbage, "The server accepts a token with a wrong signature.", verdict.Full},
	{issuer.Unsigned, "with the claims of a valid token and alg none", garbage, "The server accepts a token without a signature.", verdict.Full},
	{issuer.PublicSecret, "with a token signed with the public key as a secret", garbage, "The server takes the issuer's public key for a shared secret.", verdict.Full},
	{issuer.OtherIssuer, "with a token in the name of another issuer", otherIssuer, "The server accepts a token in the name of another issuer.", verdict.Full},
}

// useIssuedTokens sends wrong tokens of an authorization server that the server trusts. It gives up
// unless the server accepts a valid token, because a server that refuses a valid one may not trust
// the authorization server after all.
func useIssuedTokens(ctx context.Context, t *suite.T) {
	if t.Issuer == nil {
		t.GiveUp("mcp-conform can't get wrong tokens from an authorization server that the server trusts; see --auth-server, --client-id and --foreign-token-env")
	}
	p := openProtectedProber(ctx, t)
	resource, scope := p.resourceAndScope(ctx)
	validHeader := p.issuedHeader(issuer.Valid, resource, scope)
	if header, token := p.Authorization(); validHeader == nil && token != "" {
		validHeader = []string{header}
	}
	if validHeader == nil {
		t.GiveUp("mcp-conform has no valid token")
	}
	if valid := p.sendOpening(ctx, "with a valid token", validHeader); !valid.IsServed() {
		t.GiveUp("the server does not accept a valid token of the authorization server, so it may not trust it: " + valid.Describe())
	}
	unavailable := describeUnavailable(validHeader)
	served := map[string]bool{} // by requirement
	for _, w := range issuedTokens {
		if w.weight == verdict.AtMostWarning && served[w.requirement] {
			continue // one served token already shows that the requirement is broken
		}
		token := p.issuedHeader(w.kind, resource, scope)
		switch {
		case token == nil:
			t.MarkNotObserved(p.inRevision(w.requirement), unavailable)
			continue
		case slices.Equal(token, validHeader):
			t.MarkNotObserved(p.inRevision(w.requirement), "the wrong token is the one that the run uses")
			continue
		}
		a := p.sendOpening(ctx, w.how, token)
		served[w.requirement] = served[w.requirement] || a.IsServed()
		p.judgeIssued(ctx, w, a)
	}
	p.judgeNoScope(ctx, resource, unavailable)
}

// describeUnavailable returns the reason why there is no wrong token of a kind. valid is the
// Authorization header with a valid token: if that is opaque, a wrong token is, too, and does not
// show whether the authorization server has issued the kind that was requested.
func describeUnavailable(valid []string) string {
	const advice = "; see --auth-server"
	if _, isJWT := oauth.ParseClaims(oauth.BearerToken(strings.Join(valid, ""))); !isJWT {
		return "the tokens of the authorization server are opaque, so mcp-conform can't tell which of them are wrong" + advice
	}
	return "mcp-conform can't get such a token from the authorization server" + advice
}

// issuedHeader returns the Authorization header with a token of a kind; nil if the authorization
// server issues none.
func (p *prober) issuedHeader(kind issuer.Kind, resource, scope string) []string {
	token := p.t.Issuer.Token(kind, resource, scope)
	if token == "" {
		return nil
	}
	return []string{"Bearer " + token}
}

// resourceAndScope returns the resource for which a token has to be issued, and the scopes that the
// token needs. Both come from the challenge and the metadata document.
func (p *prober) resourceAndScope(ctx context.Context) (resource, scope string) {
	resource = p.URL.String()
	c, _ := challengeIn(p.refused)
	scope = c.Param("scope")
	if doc, _ := p.fetchResourceMetadata(ctx); doc != nil {
		if named, ok := wire.Text(doc.Members()["resource"]); ok {
			resource = named
		}
		if scope == "" {
			scope = strings.Join(stringsIn(doc.Members()["scopes_supported"]), " ")
		}
	}
	return resource, scope
}

// inRevision returns the requirement, or the one in its place in the revision of the run: in
// 2025-03-26 only the best practices demand that the audience is checked.
func (p *prober) inRevision(requirement string) string {
	if requirement == audience && !p.t.Revision.AtLeast(spec.V20250618) {
		return passthrough
	}
	return requirement
}

// judgeIssued judges the answer to a token that must be refused.
func (p *prober) judgeIssued(ctx context.Context, w issuedToken, a *suite.OutsideResponse) {
	w.requirement = p.inRevision(w.requirement)
	v := verdict.Deviation{Requirement: w.requirement, Permitted: "401 Unauthorized"}
	switch {
	case a.Status == http.StatusUnauthorized:
		p.t.MarkKept(w.requirement)
	case a.IsServed():
		v.Summary, v.Weight = w.summary, w.weight
		p.reportServed(ctx, v, a)
	case (w.requirement == audience || w.requirement == passthrough) && a.Status == http.StatusForbidden:
		// A token for another audience may also count as a token with insufficient permissions, for
		// which 403 is specified.
		p.t.MarkKept(w.requirement)
	default:
		if w.requirement != expired {
			v.Requirement = garbage
		}
		v.Summary = "The server does not refuse a wrong token with status 401."
		p.report(ctx, v, a)
	}
}

// judgeNoScope sends a token without scope, and judges the answer. A server may require no scope
// for the first request. unavailable is the reason if there is no such token.
func (p *prober) judgeNoScope(ctx context.Context, resource, unavailable string) {
	token := p.issuedHeader(issuer.NoScope, resource, "")
	if token == nil {
		for _, requirement := range []string{scopeStatus, scopeChallenge, scopeNamed, scopeMetadata, scopeSteady, scopeAtOnce} {
			p.t.MarkNotObserved(requirement, unavailable)
		}
		return
	}
	a := p.sendOpening(ctx, "with a token without scope", token)
	switch {
	case a.IsServed():
		p.t.MarkNotObserved(scopeStatus, "the server requires no scope for the first request")
		return
	case a.Status != http.StatusForbidden:
		p.report(ctx, verdict.Deviation{
			Requirement: scopeStatus, Summary: "The server does not refuse a token that lacks a scope with status 403.", Permitted: "403 Forbidden", Weight: verdict.AtMostWarning,
		}, a)
		return
	}
	p.t.MarkKept(scopeStatus)
	c, _ := challengeIn(a)
	for _, j := range []struct {
		requirement, summary, permitted string
		kept                            bool
	}{
		{scopeChallenge, "The server's refusal does not say that the token lacks a scope.", `WWW-Authenticate: Bearer error="insufficient_scope"`, c.Param("error") == "insufficient_scope"},
		{scopeNamed, "The server's refusal does not name the scopes that the token lacks.", "the parameter scope", c.Param("scope") != ""},
		{scopeMetadata, "The server's refusal for a missing scope does not name the metadata document.", "the parameter resource_metadata, as in the refusal with status 401", c.Param("resource_metadata") != ""},
	} {
		p.reportOrMarkKept(ctx, !j.kept, verdict.Deviation{Requirement: j.requirement, Summary: j.summary, Permitted: j.permitted}, a)
	}
	if scope := c.Param("scope"); scope != "" {
		p.judgeChallengedScopes(ctx, resource, scope, token, a)
	}
}

// judgeChallengedScopes judges whether a token with the scopes of the challenge suffices, and
// whether the same request gets the same challenge when it is repeated. The argument without is the
// Authorization header of an earlier request, whose token has no scope. The argument first is the
// response to that request.
func (p *prober) judgeChallengedScopes(ctx context.Context, resource, scope string, without []string, first *suite.OutsideResponse) {
	again := p.sendOpening(ctx, "with a token without scope, once more", without)
	if c, _ := challengeIn(again); again.Status == http.StatusForbidden && c.Param("scope") != "" {
		p.reportOrMarkKept(ctx, !isSameSet(scope, c.Param("scope")), verdict.Deviation{
			Requirement: scopeSteady, Summary: "The server demands other scopes when the same request is repeated.", Permitted: "the same scopes",
		}, again, first)
	}
	token := p.issuedHeader(issuer.Valid, resource, scope)
	if token == nil {
		return
	}
	a := p.sendOpening(ctx, "with a token that has the demanded scopes", token)
	if c, _ := challengeIn(a); a.IsServed() || a.Status == http.StatusForbidden && !isSubset(c.Param("scope"), scope) {
		p.reportOrMarkKept(ctx, !a.IsServed(), verdict.Deviation{
			Requirement: scopeAtOnce, Summary: "The server demands the scopes of a request one after the other.", Permitted: "all scopes of the request in one challenge",
		}, a, first)
	}
}

// reportOrMarkKept reports v if deviates is set, and otherwise that the server keeps the
// requirement of v.
func (p *prober) reportOrMarkKept(ctx context.Context, deviates bool, v verdict.Deviation, shownBy ...*suite.OutsideResponse) {
	if deviates {
		p.report(ctx, v, shownBy...)
		return
	}
	p.t.MarkKept(v.Requirement)
}

// isSubset reports whether every scope in the list a is also in the list b.
func isSubset(a, b string) bool {
	in := strings.Fields(b)
	return !slices.ContainsFunc(strings.Fields(a), func(scope string) bool { return !slices.Contains(in, scope) })
}

func isSameSet(a, b string) bool { return isSubset(a, b) && isSubset(b, a) }
