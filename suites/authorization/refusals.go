package authorization

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func sendWithoutToken(ctx context.Context, t *suite.T) {
	p := openProber(ctx, t)
	first := p.obtainRefusal(ctx)
	p.refused = first
	switch {
	case first.IsServed():
		t.Skip("the server serves requests without a token")
	case first.Status != http.StatusUnauthorized:
		p.judgeOtherStatus(ctx, first)
		return
	}
	t.MarkKept(noToken)
	p.judgeLeak(ctx, first)
	get := p.Send(ctx, "GET of the event stream without a token", http.MethodGet, p.URL, p.Headers(http.MethodGet, nil, nil), nil)
	p.judgeGet(ctx, get)
	if p.judgeHasChallenge(ctx, first) {
		p.judgeChallenge(ctx, first)
	}
	if p.inner == nil {
		p.judgePathVariants(ctx)
	}
}

// judgePathVariants sends the first request without a token to other spellings of the server's path.
// A server may route them to the same endpoint, but check tokens only for one spelling. A deviation
// is at most a warning, because another spelling may be another resource.
func (p *prober) judgePathVariants(ctx context.Context) {
	for _, u := range pathVariants(p.URL) {
		there := *p.OutsideClient
		there.URL = u
		a := there.SendOpening(ctx, "without a token to the path "+u.EscapedPath(), nil)
		if a.IsServed() && a.CarriesResult() {
			p.reportServed(ctx, verdict.Deviation{
				Requirement: noToken, Summary: "The server needs no token at another spelling of its path.",
				Permitted: "401 Unauthorized, or another refusal, such as 404", Weight: verdict.AtMostWarning,
			}, a)
			return
		}
	}
}

// pathVariants returns other spellings of the path of u that a server may route to the same
// endpoint: with or without a slash at the end, with two slashes at the beginning, in upper case, and
// with its last character encoded. It returns nil for the root.
func pathVariants(u *url.URL) []*url.URL {
	path := strings.TrimSuffix(u.Path, "/")
	if path == "" || u.RawPath != "" {
		return nil
	}
	var out []*url.URL
	add := func(path, escaped string) {
		v := *u
		if v.Path, v.RawPath = path, escaped; path != u.Path || escaped != "" {
			out = append(out, &v)
		}
	}
	add(path+"/", "")
	add(path, "")
	add("/"+path, "")
	add(strings.ToUpper(path), "")
	if last := len(path) - 1; path[last] < utf8.RuneSelf {
		add(path, fmt.Sprintf("%s%%%02X", path[:last], path[last]))
	}
	return out
}

// judgeHasChallenge judges whether a refusal has a challenge, and reports whether it has one.
func (p *prober) judgeHasChallenge(ctx context.Context, a *suite.OutsideResponse) bool {
	if len(challengeLines(a)) > 0 {
		p.t.MarkKept(hasChallenge)
		return true
	}
	p.report(ctx, verdict.Deviation{
		Requirement: hasChallenge, Summary: "The server's refusal has no WWW-Authenticate header.",
		Permitted: "WWW-Authenticate: Bearer, with what a client needs to get a token",
	}, a)
	return false
}

// judgeOtherStatus judges a refusal with a status other than 401. It counts as a refusal because of
// the missing token only if the same request with the token is served.
func (p *prober) judgeOtherStatus(ctx context.Context, first *suite.OutsideResponse) {
	token, _ := p.Authorization()
	if token == "" || !p.sendOpening(ctx, "with the token", []string{token}).IsServed() {
		p.t.GiveUp("the server refuses a request without a token, and mcp-conform has no token with which it is served")
	}
	p.report(ctx, verdict.Deviation{
		Requirement: noToken, Summary: "The server does not refuse a request without a token with status 401.", Permitted: "401 Unauthorized",
	}, first)
}

// judgeLaterLeak is like judgeLeak, but for a refusal after the first one. It does nothing if the
// first one leaked, because another leak shows nothing more.
func (p *prober) judgeLaterLeak(ctx context.Context, a *suite.OutsideResponse) {
	if !p.refused.CarriesResult() && p.refused.Header.Get(sessionHeader) == "" {
		p.judgeLeak(ctx, a)
	}
}

// judgeLeak judges whether a refusal carries anything that only an authorized client may have.
func (p *prober) judgeLeak(ctx context.Context, a *suite.OutsideResponse) {
	v := verdict.Deviation{Requirement: checkedFirst, Permitted: "nothing but the refusal"}
	switch {
	case a.CarriesResult():
		v.Summary = "The server's refusal carries the result of the request."
	case a.Header.Get(sessionHeader) != "":
		v.Summary, v.Weight = "The server opens a session for a request that it refuses.", verdict.AtMostWarning
	default:
		p.t.MarkKept(checkedFirst)
		return
	}
	p.report(ctx, v, a)
}

// judgeGet judges the answer to a GET without a token. The server may refuse it for another reason,
// such as a missing session, or because it supports no GET.
func (p *prober) judgeGet(ctx context.Context, a *suite.OutsideResponse) {
	switch {
	case a.Status == http.StatusUnauthorized:
		p.t.MarkKept(noTokenGet)
	case a.IsServed() && strings.HasPrefix(a.Header.Get("Content-Type"), transcript.EventStream):
		p.report(ctx, verdict.Deviation{
			Requirement: noTokenGet, Summary: "The server opens an event stream for a client without a token.", Permitted: "401 Unauthorized",
		}, a)
	default:
		p.t.MarkNotObserved(noTokenGet, "the server refuses the GET for another reason: "+a.Describe())
	}
}

// judgeChallenge judges the challenge in the refusal of a request without a token.
func (p *prober) judgeChallenge(ctx context.Context, a *suite.OutsideResponse) {
	all, err := oauth.ParseChallenges(challengeLines(a))
	bearer, has := oauth.BearerChallenge(all)
	syntax := verdict.Deviation{Requirement: challengeSyntax, Permitted: "a challenge as RFC 9110 defines it: Bearer name=\"value\", name=\"value\""}
	switch {
	case err != nil:
		syntax.Summary, syntax.Seen = "The server's WWW-Authenticate header is malformed.", err.Error()+": "+wire.Excerpt(strings.Join(challengeLines(a), ", "), 300)
		p.report(ctx, syntax, a)
		return
	case !has:
		syntax.Summary, syntax.Permitted = "The server's WWW-Authenticate header has no Bearer challenge.", "a challenge with the scheme Bearer, possibly among others"
		p.report(ctx, syntax, a)
		return
	}
	p.t.MarkKept(challengeSyntax)
	p.judgeMetadataParameter(ctx, bearer, a)
	if bearer.Param("error") != "" {
		p.report(ctx, verdict.Deviation{
			Requirement: noErrorCode, Summary: "The server reports an error in the token of a request that has none.",
			Permitted: "a challenge without the parameter error",
			Seen:      fmt.Sprintf("error=%q in the challenge of the %s", bearer.Param("error"), a.About),
		}, a)
	} else {
		p.t.MarkKept(noErrorCode)
	}
	p.judgeScope(ctx, bearer, a)
}

// judgeMetadataParameter judges the URL of the metadata document in the challenge.
func (p *prober) judgeMetadataParameter(ctx context.Context, bearer oauth.Challenge, a *suite.OutsideResponse) {
	named := bearer.Param("resource_metadata")
	if u, err := url.Parse(named); err == nil && u.Scheme != "" && u.Host != "" {
		p.t.MarkKept(namesMetadata)
		return
	}
	p.report(ctx, verdict.Deviation{
		Requirement: namesMetadata, Summary: "The server's challenge does not name the metadata document.",
		Permitted: "the parameter resource_metadata with an absolute URL",
	}, a)
}

// judgeScope judges the scopes in the challenge, and whether a second refusal of the same request
// names the same scopes.
func (p *prober) judgeScope(ctx context.Context, bearer oauth.Challenge, a *suite.OutsideResponse) {
	scope, has := bearer.Params["scope"]
	if !has || !oauth.IsScopeList(scope) {
		v := verdict.Deviation{Requirement: challengeScope, Summary: "The server's challenge does not name the scopes that a token needs.", Permitted: "the parameter scope, with scopes separated by spaces"}
		p.report(ctx, v, a)
	} else {
		p.t.MarkKept(challengeScope)
	}
	if slices.Contains(strings.Fields(scope), "offline_access") {
		p.report(ctx, verdict.Deviation{
			Requirement: noOffline, Summary: "The server's challenge asks for the scope offline_access.", Permitted: "the scopes that the request needs; clients add offline_access themselves",
		}, a)
	} else {
		p.t.MarkKept(noOffline)
	}
	again := p.sendOpening(ctx, "without a token, once more", nil)
	second, _ := challengeIn(again)
	one, two := strings.Fields(scope), strings.Fields(second.Param("scope"))
	slices.Sort(one)
	slices.Sort(two)
	if again.Status != http.StatusUnauthorized {
		return
	}
	if !slices.Equal(one, two) {
		p.report(ctx, verdict.Deviation{
			Requirement: scopeConsistent, Summary: "The server's challenges to equal requests name different scopes.", Permitted: "the same scopes each time",
		}, again, a)
		return
	}
	p.t.MarkKept(scopeConsistent)
}

// A wrongToken is an Authorization header that must not be accepted.
type wrongToken struct {
	how         string
	requirement string
	header      []string
}

// wrongTokens returns made-up bearer tokens. Some have all the claims that the server's
// metadata document asks for.
func (p *prober) wrongTokens(ctx context.Context) []wrongToken {
	claims := map[string]any{
		"iss": "https://issuer.invalid", "sub": "mcp-conform", "aud": p.URL.String(), "scope": "openid mcp admin",
		"iat": time.Now().Add(-time.Minute).Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	claimed := maps.Clone(claims)
	if doc, _ := p.fetchResourceMetadata(ctx); doc != nil {
		if servers := stringsIn(doc.Members()["authorization_servers"]); len(servers) > 0 {
			claimed["iss"] = servers[0]
		}
		if named, ok := wire.Text(doc.Members()["resource"]); ok {
			claims["aud"], claimed["aud"] = named, named
		}
	}
	key := []byte(rand.Text())
	out := []wrongToken{
		{"with random text as a token", garbage, []string{"Bearer " + rand.Text()}},
		{"with a JWT that has no signature (alg none)", garbage, []string{"Bearer " + issuer.JWT("none", claimed, nil)}},
		{"with a JWT that has no signature (alg None)", garbage, []string{"Bearer " + issuer.JWT("None", claimed, nil)}},
		{"with a JWT in the name of the server's issuer that mcp-conform has signed", garbage, []string{"Bearer " + issuer.JWT("HS256", claimed, key)}},
		{"with a JWT that is cut off before its signature", garbage, []string{"Bearer " + unsigned(issuer.JWT("HS256", claimed, key))}},
		{"with a JWT of another issuer", otherIssuer, []string{"Bearer " + issuer.JWT("HS256", claims, key)}},
	}
	if given, token := p.Authorization(); len(token) > 8 {
		at := len(given) - 3 // the last characters of a JWT may have bits without meaning
		changed := "A"
		if given[at:at+1] == changed {
			changed = "B"
		}
		out = append(out, wrongToken{"with the first half of the given token", garbage, []string{given[:len(given)-len(token)/2]}})
		out = append(out, wrongToken{"with the given token and one character changed", garbage, []string{given[:at] + changed + given[at+1:]}})
		if parts := strings.Split(given, "."); len(parts) == 3 && len(parts[2]) > 8 {
			forged := strings.Repeat("A", len(parts[2])-2) + "-_"
			out = append(out, wrongToken{"with the given token and another signature", garbage, []string{parts[0] + "." + parts[1] + "." + forged}})
		}
	}
	return out
}

// unsigned returns the first two parts of a JWT.
func unsigned(jwt string) string { return jwt[:strings.LastIndexByte(jwt, '.')] }

func sendWrongTokens(ctx context.Context, t *suite.T) {
	p := openProtectedProber(ctx, t)
	refused := false
	for _, w := range p.wrongTokens(ctx) {
		a := p.sendOpening(ctx, w.how, w.header)
		p.judgeWrongToken(ctx, w, a)
		if a.Status == http.StatusUnauthorized && !refused {
			refused = true
			p.judgeInvalidToken(ctx, a)
		}
	}
	p.judgeMalformed(ctx, p.sendOpening(ctx, "with an Authorization header without a token", []string{"Bearer"}))
	p.judgeMalformed(ctx, p.sendOpening(ctx, "with an Authorization header without a scheme", []string{rand.Text()}))
	p.judgeMalformed(ctx, p.sendOpening(ctx, "with two Authorization headers", []string{"Bearer " + rand.Text(), "Bearer " + rand.Text()}))
}

// judgeWrongToken judges the answer to a made-up token. Random text may also count as a
// malformed request, which has another status.
func (p *prober) judgeWrongToken(ctx context.Context, w wrongToken, a *suite.OutsideResponse) {
	v := verdict.Deviation{Requirement: w.requirement, Permitted: "401 Unauthorized"}
	switch {
	case a.Status == http.StatusUnauthorized:
		p.t.MarkKept(w.requirement)
		p.judgeLaterLeak(ctx, a)
		return
	case a.IsServed():
		v.Summary = "The server serves a request with a made-up token."
		p.reportServed(ctx, v, a)
		return
	case a.Status == http.StatusBadRequest:
		v.Requirement, v.Summary, v.Weight = garbage, "The server does not refuse a wrong token with status 401.", verdict.AtMostWarning
	default:
		v.Requirement, v.Summary = garbage, "The server does not refuse a wrong token with status 401."
	}
	p.report(ctx, v, a)
}

// judgeInvalidToken judges the challenge after a wrong token.
func (p *prober) judgeInvalidToken(ctx context.Context, a *suite.OutsideResponse) {
	p.judgeHasChallenge(ctx, a)
	c, ok := challengeIn(a)
	if ok && c.Param("error") == "invalid_token" {
		p.t.MarkKept(invalidToken)
		return
	}
	p.report(ctx, verdict.Deviation{
		Requirement: invalidToken, Summary: "The server's challenge does not say that the token is invalid.", Permitted: `error="invalid_token"`,
	}, a)
}

// judgeMalformed judges the answer to a malformed Authorization header. The specification does not
// define what is malformed, so 401 is also permitted.
func (p *prober) judgeMalformed(ctx context.Context, a *suite.OutsideResponse) {
	v := verdict.Deviation{Requirement: malformed, Permitted: "400 Bad Request, or 401 Unauthorized"}
	switch {
	case a.Status == http.StatusBadRequest, a.Status == http.StatusUnauthorized:
		p.t.MarkKept(malformed)
		return
	case a.IsServed():
		v.Summary = "The server serves a request whose Authorization header is malformed."
		p.reportServed(ctx, v, a)
		return
	default:
		v.Summary, v.Weight = "The server answers a malformed Authorization header with another status than 400 and 401.", verdict.AtMostWarning
	}
	p.report(ctx, v, a)
}
