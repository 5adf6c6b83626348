package authorization

import (
	"context"
	"net/http"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// An issuedToken is a token that must be refused, because of one property.
type issuedToken struct {
	kind        issuer.Kind
	how         string
	requirement string
	summary     string // of the finding if it is served
	weight      verdict.Weight
}

var issuedTokens = []issuedToken{
	{issuer.Expired, "with an expired token", expired, "The server accepts an expired token.", verdict.Full},
	{issuer.NotYetValid, "with a token that is not valid yet", garbage, "The server accepts a token before it is valid.", verdict.AtMostWarning},
	{issuer.OtherResource, "with a token for another server", audience, "The server accepts a token that was issued for another server.", verdict.Full},
	{issuer.NoResource, "with a token that is for no server in particular", audience, "The server accepts a token that was not issued for it.", verdict.AtMostWarning},
	{issuer.UnknownKey, "with a token signed by a key that the issuer does not publish", garbage, "The server accepts a token with a wrong signature.", verdict.Full},
	{issuer.OtherKey, "with a token signed by another key in the name of the issuer's", garbage, "The server accepts a token with a wrong signature.", verdict.Full},
	{issuer.Unsigned, "with the claims of a valid token and alg none", garbage, "The server accepts a token without a signature.", verdict.Full},
	{issuer.PublicSecret, "with a token signed with the public key as a secret", garbage, "The server takes the issuer's public key for a shared secret.", verdict.Full},
	{issuer.OtherIssuer, "with a token in the name of another issuer", otherIssuer, "The server accepts a token in the name of another issuer.", verdict.Full},
}

// useIssuedTokens sends wrong tokens of an authorization server that the server trusts.
// The twin of each is a valid token, which is served.
func useIssuedTokens(ctx context.Context, t *suite.T) {
	if t.Issuer == nil {
		t.GiveUp("the server was not started with an authorization server of the run; see --auth-server")
	}
	p := protected(ctx, t)
	resource, scope := p.wanted(ctx)
	if valid := p.open(ctx, "with a valid token", p.issued(issuer.Valid, resource, scope)); !valid.IsServed() {
		t.GiveUp("the server does not accept a valid token of the run's authorization server, so it may not trust it: " + valid.Describe())
	}
	served := map[string]bool{} // by requirement
	for _, w := range issuedTokens {
		if w.weight == verdict.AtMostWarning && served[w.requirement] {
			continue // it shows no more
		}
		a := p.open(ctx, w.how, p.issued(w.kind, resource, scope))
		served[w.requirement] = served[w.requirement] || a.IsServed()
		p.judgeIssued(ctx, w, a)
	}
	p.judgeNoScope(ctx, p.open(ctx, "with a token without scope", p.issued(issuer.NoScope, resource, scope)))
}

func (p *prober) issued(kind issuer.Kind, resource, scope string) []string {
	return []string{"Bearer " + p.t.Issuer.Token(kind, resource, scope)}
}

// wanted returns the resource for which a token has to be issued, and its scopes: those that the
// challenge or the metadata document names.
func (p *prober) wanted(ctx context.Context) (resource, scope string) {
	resource = p.URL.String()
	c, _ := challengeIn(p.refused)
	scope = c.Param("scope")
	if doc, _ := p.resourceMetadata(ctx); doc != nil {
		if named, ok := wire.Text(doc.Members()["resource"]); ok {
			resource = named
		}
		if scope == "" {
			scope = strings.Join(texts(doc.Members()["scopes_supported"]), " ")
		}
	}
	return resource, scope
}

// judgeIssued judges the answer to a token that must be refused. In 2025-03-26 only the best practices
// demand that the audience is checked.
func (p *prober) judgeIssued(ctx context.Context, w issuedToken, a *suite.OutsideAnswer) {
	if w.requirement == audience && !p.t.Revision.AtLeast(spec.V20250618) {
		w.requirement = passthrough
	}
	v := verdict.Deviation{Requirement: w.requirement, Permitted: "401 Unauthorized"}
	switch {
	case a.Status == http.StatusUnauthorized:
		p.t.Kept(w.requirement)
	case a.IsServed():
		v.Summary, v.Weight = w.summary, w.weight
		p.deviatesByServing(ctx, v, a)
	case (w.requirement == audience || w.requirement == passthrough) && a.Status == http.StatusForbidden:
		// "Invalid" is said of the token, and 403 is for insufficient permissions.
		p.t.Kept(w.requirement)
	default:
		if w.requirement != expired {
			v.Requirement = garbage
		}
		v.Summary = "The server does not refuse a wrong token with status 401."
		p.deviates(ctx, v, a)
	}
}

// judgeNoScope judges the answer to a token without scope. A server may need none for the first
// request.
func (p *prober) judgeNoScope(ctx context.Context, a *suite.OutsideAnswer) {
	switch {
	case a.IsServed():
		p.t.NotObserved(scopeStatus, "the server needs no scope for the first request")
		return
	case a.Status != http.StatusForbidden:
		p.deviates(ctx, verdict.Deviation{
			Requirement: scopeStatus, Summary: "The server does not refuse a token that lacks a scope with status 403.", Permitted: "403 Forbidden", Weight: verdict.AtMostWarning,
		}, a)
		return
	}
	p.t.Kept(scopeStatus)
	c, _ := challengeIn(a)
	for _, j := range []struct {
		requirement, summary, permitted string
		kept                            bool
	}{
		{scopeChallenge, "The server's refusal does not say that the token lacks a scope.", `WWW-Authenticate: Bearer error="insufficient_scope"`, c.Param("error") == "insufficient_scope"},
		{scopeNamed, "The server's refusal does not name the scopes that the token lacks.", "the parameter scope", c.Param("scope") != ""},
		{scopeMetadata, "The server's refusal for a missing scope does not name the metadata document.", "the parameter resource_metadata, as in the refusal with status 401", c.Param("resource_metadata") != ""},
	} {
		if j.kept {
			p.t.Kept(j.requirement)
			continue
		}
		p.deviates(ctx, verdict.Deviation{Requirement: j.requirement, Summary: j.summary, Permitted: j.permitted}, a)
	}
}
