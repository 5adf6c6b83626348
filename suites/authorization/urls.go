package authorization

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A handedURL is a URL that the server hands to clients, which open or fetch it.
type handedURL struct {
	name string // of the parameter or member
	text string
	in   *suite.OutsideResponse
}

func (h handedURL) String() string { return h.name + " " + wire.Excerpt(h.text, 200) }

// urlsInChallenge returns the URL of the metadata in the challenge, if there is one.
func (p *prober) urlsInChallenge() []handedURL {
	c, _ := challengeIn(p.refused)
	if text := c.Param("resource_metadata"); text != "" {
		return []handedURL{{"resource_metadata", text, p.refused}}
	}
	return nil
}

// linkNames are the names of the members of metadata documents whose values are URLs, apart from
// endpoints (RFC 9728, section 2; RFC 8414, section 2).
var linkNames = []string{
	"jwks_uri", "resource_documentation", "resource_policy_uri", "resource_tos_uri", "service_documentation", "op_policy_uri", "op_tos_uri",
}

// urlsIn returns the URLs in a metadata document of a resource or an authorization server that
// clients open or fetch, sorted by name.
func urlsIn(doc *suite.OutsideResponse) []handedURL {
	var out []handedURL
	for name, v := range doc.Members() {
		var all []string
		switch text, ok := wire.Text(v); {
		case name == "authorization_servers":
			all = stringsIn(v)
		case !ok:
		case strings.HasSuffix(name, "_endpoint"), slices.Contains(linkNames, name):
			all = []string{text}
		}
		for _, text := range all {
			out = append(out, handedURL{name, text, doc})
		}
	}
	slices.SortFunc(out, func(a, b handedURL) int { return strings.Compare(a.name, b.name) })
	return out
}

// judgeHandedURLs judges the schemes and the hosts of URLs that the server hands to clients.
func (p *prober) judgeHandedURLs(ctx context.Context, all []handedURL) {
	if len(all) == 0 {
		return
	}
	server := p.peerURL()
	var scripts, inside []handedURL
	for _, h := range all {
		if hasScriptScheme(h.text) {
			scripts = append(scripts, h)
		} else if u, err := url.Parse(h.text); err == nil && oauth.LeadsIntoPrivateNetwork(server, u) {
			inside = append(inside, h)
		}
	}
	report := func(v verdict.Deviation, seen []handedURL) {
		stringsIn := make([]string, len(seen))
		for i, h := range seen {
			stringsIn[i] = h.String()
		}
		v.Seen = wire.Excerpt(strings.Join(stringsIn, ", "), 400)
		p.report(ctx, v, seen[0].in)
	}
	switch {
	case len(scripts) > 0:
		report(verdict.Deviation{
			Requirement: urlSchemes, Summary: "The server hands clients a URL that runs code or reads files.", Permitted: "https and http URLs", Weight: verdict.AtMostWarning,
		}, scripts)
	default:
		p.t.MarkKept(urlSchemes)
	}
	switch {
	case len(inside) > 0:
		report(verdict.Deviation{
			Requirement: internalAddresses, Summary: "The server leads clients to an address inside their own network.", Permitted: "hosts that are as public as the server",
			Weight: verdict.OnlyNote,
		}, inside)
	case oauth.IsPrivate(server):
		p.t.MarkNotObserved(internalAddresses, "the server itself is on this machine or in a private network")
	default:
		p.t.MarkKept(internalAddresses)
	}
}

// peerURL returns the URL of the server with the IP address of the connection as its host,
// because a host name does not show whether it leads into a private network.
func (p *prober) peerURL() *url.URL {
	at := *p.URL
	if p.refused.Peer.IsValid() {
		at.Host = netip.AddrPortFrom(p.refused.Peer, 0).String()
	}
	return &at
}

// hasScriptScheme reports whether a URL has one of the schemes that the best-practice page tells
// clients to refuse. It parses the URL as browsers do: it ignores case and blanks.
func hasScriptScheme(text string) bool {
	text = strings.TrimLeft(strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(text), " ")
	scheme, _, _ := strings.Cut(text, ":")
	return slices.Contains([]string{"javascript", "data", "file", "vbscript"}, strings.ToLower(scheme))
}
