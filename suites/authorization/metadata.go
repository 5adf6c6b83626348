package authorization

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// fetchResourceMetadata looks for the metadata document of the resource as clients do. It returns
// the document, or nil if there is none, and the answers from the URLs that have none.
func (p *prober) fetchResourceMetadata(ctx context.Context) (found *suite.OutsideResponse, tried []*suite.OutsideResponse) {
	if c, ok := challengeIn(p.refused); ok {
		if u, err := url.Parse(c.Param("resource_metadata")); err == nil && oauth.MayFetch(p.URL, u) {
			a := p.fetch(ctx, u)
			if p.isResourceDocument(a, u) {
				return a, tried
			}
			tried = append(tried, a)
		}
	}
	for _, u := range oauth.ResourceMetadataURLs(p.URL) {
		a := p.fetch(ctx, u)
		if p.isResourceDocument(a, u) {
			return a, tried
		}
		tried = append(tried, a)
	}
	return nil, tried
}

func readResourceMetadata(ctx context.Context, t *suite.T) {
	p := openProtectedProber(ctx, t)
	p.judgeMetadataURL(ctx)
	doc, tried := p.fetchResourceMetadata(ctx)
	if doc == nil {
		p.judgeHandedURLs(ctx, p.urlsInChallenge())
		p.judgeMissing(ctx, tried)
		return
	}
	p.judgeHandedURLs(ctx, append(p.urlsInChallenge(), urlsIn(doc)...))
	for _, kept := range []string{discoverable, served, public} {
		t.MarkKept(kept)
	}
	if media, _, err := mime.ParseMediaType(doc.Header.Get("Content-Type")); err != nil || media != "application/json" {
		p.report(ctx, verdict.Deviation{
			Requirement: isJSON, Summary: "The server's metadata document has another media type than JSON.", Permitted: "Content-Type: application/json",
		}, doc)
	} else {
		t.MarkKept(isJSON)
	}
	p.judgeResource(ctx, doc)
	p.judgeAuthServers(ctx, doc)
	p.judgeList(ctx, doc, noQueryMethod, "bearer_methods_supported", "query", "The server's metadata says that it accepts tokens in the query.")
	p.judgeList(ctx, doc, noOfflineScope, "scopes_supported", "offline_access", "The server's metadata lists the scope offline_access.")
}

// judgeMetadataURL judges whether the URL that the challenge names leads to a document.
func (p *prober) judgeMetadataURL(ctx context.Context) {
	c, _ := challengeIn(p.refused)
	named := c.Param("resource_metadata")
	if named == "" {
		return
	}
	u, err := url.Parse(named)
	if err == nil && !oauth.MayFetch(p.URL, u) {
		p.t.MarkNotObserved(resolves, "mcp-conform does not follow the URL into another network: "+wire.Excerpt(named, 200))
		return
	}
	v := verdict.Deviation{Requirement: resolves, Summary: "The URL in the server's challenge does not lead to the metadata document.", Permitted: "200 with a JSON object"}
	if err != nil {
		v.Seen = "no URL: " + wire.Excerpt(named, 200)
		p.report(ctx, v, p.refused)
		return
	}
	switch a := p.fetch(ctx, u); {
	case a.Status == http.StatusOK && a.Members() != nil:
		p.t.MarkKept(resolves)
	case isOutOfReach(a):
		p.t.MarkNotObserved(resolves, describeUnreachable(a))
	default:
		p.report(ctx, v, a, p.refused)
	}
}

// describeUnreachable describes how fetching a document failed, as the reason why the document is
// not judged. Other machines may be able to fetch it.
func describeUnreachable(a *suite.OutsideResponse) string { return a.About + " got " + a.Describe() }

// judgeMissing judges a missing metadata document; tried contains the answers from the URLs where
// the document could be. A refusal with status 401 or 403 means that the document needs a token.
// judgeMissing gives up if one of the URLs is out of reach.
func (p *prober) judgeMissing(ctx context.Context, tried []*suite.OutsideResponse) {
	for _, a := range tried {
		if isOutOfReach(a) {
			p.t.GiveUp(describeUnreachable(a))
		}
	}
	for _, a := range tried {
		if a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden {
			p.report(ctx, verdict.Deviation{
				Requirement: public, Summary: "The server's metadata document needs a token.", Permitted: "200 without a token: a client reads the document before it has one",
			}, a)
			p.report(ctx, verdict.Deviation{
				Requirement: discoverable, Summary: "A client without a token can't find the server's metadata document.", Permitted: "a document at the URL in the challenge, or at a well-known path",
			}, a)
			return
		}
	}
	v := verdict.Deviation{
		Summary: "The server has no metadata document.", Permitted: "a document at the URL in the challenge, or at a well-known path",
		Seen: "none at " + wire.Excerpt(strings.Join(urlsOf(tried), ", "), 400),
	}
	for _, v.Requirement = range []string{served, discoverable} {
		p.report(ctx, v, tried...)
		v.At = nil
	}
}

func urlsOf(all []*suite.OutsideResponse) []string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.URL
	}
	return slices.Compact(out) // a URL from a challenge may be one of the well-known paths
}

// judgeResource judges the resource identifier in the document. It should be the URL of the server,
// or a prefix of that URL.
func (p *prober) judgeResource(ctx context.Context, doc *suite.OutsideResponse) {
	named, ok := wire.Text(doc.Members()["resource"])
	u, err := url.Parse(named)
	v := verdict.Deviation{Requirement: canonical, Summary: "The server's resource identifier is not an absolute URL without fragment.", Permitted: "an absolute URL without fragment, such as " + p.URL.Redacted()}
	if !ok || err != nil || u.Scheme == "" || u.Host == "" || strings.Contains(named, "#") {
		v.Seen = "resource is " + excerptOf(doc.Members()["resource"])
		p.report(ctx, v, doc)
		return
	}
	p.t.MarkKept(canonical)
	if u.Path == "/" {
		p.report(ctx, verdict.Deviation{
			Requirement: noSlash, Summary: "The server's resource identifier ends with a slash.", Permitted: strings.TrimSuffix(named, "/"), Seen: named,
		}, doc)
	} else {
		p.t.MarkKept(noSlash)
	}
	v = verdict.Deviation{Requirement: resource, Permitted: "the URL of the server: " + p.URL.Redacted(), Seen: "resource is " + wire.Excerpt(named, 200)}
	switch {
	case isSameResource(u, p.URL):
		p.t.MarkKept(resource)
	case isSameHost(u, p.URL) && isPrefix(u.Path, p.URL.Path):
		// One identifier may cover everything below it, so this is only a note.
		v.Summary, v.Weight = "The server's resource identifier is not the URL of the server, but a part of it.", verdict.OnlyNote
		p.report(ctx, v, doc)
	default:
		v.Summary = "The server's resource identifier is that of another resource."
		p.report(ctx, v, doc)
	}
}

// isSameResource reports whether two URLs identify the same resource. It ignores the case of scheme
// and host, a slash at the end, and the query.
func isSameResource(a, b *url.URL) bool {
	return isSameHost(a, b) && strings.TrimSuffix(a.Path, "/") == strings.TrimSuffix(b.Path, "/")
}

// isSameHost reports whether two URLs lead to the same server. Different loopback names do, if
// their ports are equal.
func isSameHost(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) &&
		(strings.EqualFold(a.Host, b.Host) || oauth.IsLoopback(a) && oauth.IsLoopback(b) && a.Port() == b.Port())
}

func isPrefix(path, of string) bool { return strings.HasPrefix(of, strings.TrimSuffix(path, "/")+"/") }

// judgeAuthServers judges the authorization servers that the document names.
func (p *prober) judgeAuthServers(ctx context.Context, doc *suite.OutsideResponse) {
	named := doc.Members()["authorization_servers"]
	all := stringsIn(named)
	if named.Kind() != '[' || len(all) == 0 || len(all) != len(wire.Elements(named)) {
		p.report(ctx, verdict.Deviation{
			Requirement: namesServers, Summary: "The server's metadata names no authorization server.", Permitted: "authorization_servers with at least one issuer URL",
			Seen: "authorization_servers is " + excerptOf(named),
		}, doc)
		return
	}
	p.t.MarkKept(namesServers)
	for _, text := range all {
		u, err := url.Parse(text)
		v := verdict.Deviation{Permitted: "an https URL without query and fragment; http only on this machine", Seen: wire.Excerpt(text, 200)}
		switch {
		case err != nil || u.Scheme == "" || u.Host == "" || strings.ContainsAny(text, "?#"):
			v.Requirement, v.Summary = serverURLs, "The server names an authorization server that is not an issuer URL."
		case !oauth.IsSecure(u):
			v.Requirement, v.Summary, v.Weight = secureConnections, "The server names an authorization server without https.", verdict.AtMostWarning
		default:
			p.t.MarkKept(serverURLs)
			p.t.MarkKept(secureConnections)
			continue
		}
		p.report(ctx, v, doc)
	}
}

// judgeList judges whether a list in the document contains value, which is forbidden there. member
// names the list.
func (p *prober) judgeList(ctx context.Context, doc *suite.OutsideResponse, requirement, member, value, summary string) {
	if !slices.Contains(stringsIn(doc.Members()[member]), value) {
		p.t.MarkKept(requirement)
		return
	}
	p.report(ctx, verdict.Deviation{
		Requirement: requirement, Summary: summary, Permitted: member + " without " + value, Seen: member + " is " + excerptOf(doc.Members()[member]),
	}, doc)
}

// stringsIn returns the strings in a JSON array.
func stringsIn(list jsontext.Value) []string {
	var out []string
	for _, v := range wire.Elements(list) {
		if text, ok := wire.Text(v); ok {
			out = append(out, text)
		}
	}
	return out
}

func excerptOf(v jsontext.Value) string {
	if v == nil {
		return "absent"
	}
	return wire.Excerpt(string(v), 200)
}

// maxServers limits the authorization servers that are queried.
const maxServers = 3

func readServerMetadata(ctx context.Context, t *suite.T) {
	p := openProtectedProber(ctx, t)
	doc, _ := p.fetchResourceMetadata(ctx)
	if doc == nil {
		t.GiveUp("the server has no metadata document that names its authorization servers")
	}
	all := stringsIn(doc.Members()["authorization_servers"])
	for _, text := range all[:min(len(all), maxServers)] {
		if issuer, err := url.Parse(text); err == nil && issuer.Host != "" {
			p.judgeAuthServer(ctx, text, issuer)
		}
	}
}

// judgeAuthServer judges the metadata of one authorization server. A deviation is at most a
// warning, because the authorization server is not the server under test.
func (p *prober) judgeAuthServer(ctx context.Context, named string, issuer *url.URL) {
	if !oauth.MayFetch(p.URL, issuer) {
		p.t.GiveUp("mcp-conform does not follow the issuer URL into another network: " + wire.Excerpt(named, 200))
	}
	places := oauth.ServerMetadataURLs(issuer)
	if !p.t.Revision.AtLeast(spec.V20251125) {
		places = slices.DeleteFunc(places, oauth.IsOpenID)
	}
	var tried []*suite.OutsideResponse
	for _, u := range places {
		a := p.fetch(ctx, u)
		tried = append(tried, a)
		if isAuthServerMetadata(a) {
			p.judgeServerDocument(ctx, named, a)
			return
		}
		if isOutOfReach(a) {
			p.t.GiveUp(describeUnreachable(a))
		}
	}
	v := verdict.Deviation{
		Summary: "The authorization server has no metadata document.", Permitted: "a document at a well-known path of the issuer",
		Seen: "none at " + wire.Excerpt(strings.Join(urlsOf(tried), ", "), 400), Weight: verdict.AtMostWarning,
	}
	for _, v.Requirement = range []string{serverMetadata06, serverMetadata11} {
		p.report(ctx, v, tried...)
		v.At = nil
	}
}

func (p *prober) judgeServerDocument(ctx context.Context, named string, doc *suite.OutsideResponse) {
	members := doc.Members()
	check := func(requirement string, kept bool, summary, permitted, seen string) {
		if kept {
			p.t.MarkKept(requirement)
			return
		}
		p.report(ctx, verdict.Deviation{Requirement: requirement, Summary: summary, Permitted: permitted, Seen: seen, Weight: verdict.AtMostWarning}, doc)
	}
	p.judgeHandedURLs(ctx, urlsIn(doc))
	issuer, _ := wire.Text(members["issuer"])
	same := strings.TrimSuffix(issuer, "/") == strings.TrimSuffix(named, "/")
	for _, requirement := range []string{serverMetadata06, serverMetadata11} {
		check(requirement, same, "The authorization server's metadata names another issuer.", "issuer "+wire.Excerpt(named, 200), "issuer is "+excerptOf(members["issuer"]))
	}
	insecure := insecureEndpoints(members)
	check(serverHTTPS, len(insecure) == 0, "The authorization server has endpoints without https.", "https; http only on this machine", strings.Join(insecure, ", "))
	methods := members["code_challenge_methods_supported"]
	check(serverPKCE, len(stringsIn(methods)) > 0, "The authorization server does not list its PKCE methods, so that clients refuse it.", `code_challenge_methods_supported, such as ["S256"]`, "code_challenge_methods_supported is "+excerptOf(methods))
	check(registration, members["registration_endpoint"] != nil, "The authorization server offers no dynamic client registration.", "registration_endpoint", "registration_endpoint is absent")
	isTrue := func(name string) bool { return string(members[name]) == "true" }
	check(clientDocuments, isTrue("client_id_metadata_document_supported"), "The authorization server does not accept client id metadata documents.",
		"client_id_metadata_document_supported: true", "client_id_metadata_document_supported is "+excerptOf(members["client_id_metadata_document_supported"]))
	check(issParameter, isTrue("authorization_response_iss_parameter_supported"), "The authorization server does not put iss into its authorization responses.",
		"authorization_response_iss_parameter_supported: true", "authorization_response_iss_parameter_supported is "+excerptOf(members["authorization_response_iss_parameter_supported"]))
}

// insecureEndpoints returns the endpoints in the metadata of an authorization server that are not
// secure, sorted.
func insecureEndpoints(members map[string]jsontext.Value) []string {
	var out []string
	for name, v := range members {
		text, ok := wire.Text(v)
		if !ok || !strings.HasSuffix(name, "_endpoint") && name != "jwks_uri" {
			continue
		}
		if u, err := url.Parse(text); err != nil || !oauth.IsSecure(u) {
			out = append(out, name+" "+wire.Excerpt(text, 100))
		}
	}
	slices.Sort(out)
	return out
}

// readRootMetadata judges what 2025-03-26 requires. In that revision the MCP server is its own
// authorization server, or acts as one.
func readRootMetadata(ctx context.Context, t *suite.T) {
	p := openProtectedProber(ctx, t)
	u := oauth.RootServerMetadataURL(p.URL)
	root := p.fetch(ctx, u)
	if !isAuthServerMetadata(root) {
		below := p.fetch(ctx, u.JoinPath(p.URL.Path))
		if isAuthServerMetadata(below) {
			// Without metadata at the root, the server may still serve the default endpoint paths.
			// They are not tried, so this is at most a warning.
			p.report(ctx, verdict.Deviation{
				Requirement: rootOnly, Summary: "The server has its authorization metadata only below its path.", Permitted: "the document at " + u.Redacted(), Weight: verdict.AtMostWarning,
			}, below, root)
			return
		}
		p.report(ctx, verdict.Deviation{
			Requirement: rootMetadata, Summary: "The server has no metadata document of its authorization server.", Permitted: "the document at " + u.Redacted(), Weight: verdict.AtMostWarning,
		}, root)
		return
	}
	p.judgeHandedURLs(ctx, urlsIn(root))
	t.MarkKept(rootMetadata)
	t.MarkKept(rootOnly)
	if insecure := insecureEndpoints(root.Members()); len(insecure) > 0 {
		p.report(ctx, verdict.Deviation{
			Requirement: rootHTTPS, Summary: "The server has authorization endpoints without https.", Permitted: "https; http only on this machine", Seen: strings.Join(insecure, ", "),
		}, root)
	} else {
		t.MarkKept(rootHTTPS)
	}
	if root.Members()["registration_endpoint"] == nil {
		p.report(ctx, verdict.Deviation{
			Requirement: rootRegistration, Summary: "The server offers no dynamic client registration.", Permitted: "registration_endpoint in the metadata",
		}, root)
	} else {
		t.MarkKept(rootRegistration)
	}
}
