package oauth

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// The well-known names of the metadata documents.
const (
	resourceName = "/.well-known/oauth-protected-resource"
	serverName   = "/.well-known/oauth-authorization-server"
	openIDName   = "/.well-known/openid-configuration"
)

// ResourceMetadataURLs returns the possible URLs of a protected resource's metadata, in the order
// in which clients try them: with the path and the query of the resource, with the path alone, with
// the path without the slash at its end, and at the root (RFC 9728, section 3.1; MCP 2025-11-25,
// basic/authorization#protected-resource-metadata-discovery-requirements).
func ResourceMetadataURLs(resource *url.URL) []*url.URL {
	var out []*url.URL
	add := func(u *url.URL) {
		if !slices.ContainsFunc(out, func(o *url.URL) bool { return o.String() == u.String() }) {
			out = append(out, u)
		}
	}
	if path := resource.EscapedPath(); strings.Trim(path, "/") != "" {
		add(insertedWellKnownURL(resource, path, resource.RawQuery))
		add(insertedWellKnownURL(resource, path, ""))
		add(insertedWellKnownURL(resource, strings.TrimSuffix(path, "/"), ""))
	}
	add(RootResourceMetadataURL(resource))
	return out
}

// RootResourceMetadataURL returns the last of ResourceMetadataURLs, which is the same for all
// resources of a host.
func RootResourceMetadataURL(resource *url.URL) *url.URL { return wellKnownURL(resource, resourceName) }

// insertedWellKnownURL returns the well-known URL of a resource with the path and the query.
func insertedWellKnownURL(resource *url.URL, path, query string) *url.URL {
	u, err := url.Parse(resourceName + path)
	if err != nil {
		u = &url.URL{Path: resourceName}
	}
	u.Scheme, u.Host, u.RawQuery = resource.Scheme, resource.Host, query
	return u
}

// ServerMetadataURLs returns the possible URLs of an authorization server's metadata, in the order
// in which clients try them (MCP 2025-11-25,
// basic/authorization#authorization-server-metadata-discovery).
func ServerMetadataURLs(issuer *url.URL) []*url.URL {
	path := strings.TrimSuffix(issuer.EscapedPath(), "/")
	if path == "" {
		return []*url.URL{wellKnownURL(issuer, serverName), wellKnownURL(issuer, openIDName)}
	}
	return []*url.URL{wellKnownURL(issuer, serverName+path), wellKnownURL(issuer, openIDName+path), wellKnownURL(issuer, path+openIDName)}
}

// RootServerMetadataURL returns the URL of the authorization server's metadata in revision
// 2025-03-26: at the root of the MCP server's host, whatever the path of its endpoint.
func RootServerMetadataURL(endpoint *url.URL) *url.URL { return wellKnownURL(endpoint, serverName) }

func wellKnownURL(base *url.URL, path string) *url.URL {
	u := &url.URL{Scheme: base.Scheme, Host: base.Host}
	return u.JoinPath(path)
}

// IsOpenID reports whether the URL of a metadata document is one of OpenID Connect discovery.
func IsOpenID(u *url.URL) bool { return strings.Contains(u.Path, openIDName) }

// IsLoopback reports whether the host of a URL is this machine: localhost, a subdomain of it, or
// a loopback address.
func IsLoopback(u *url.URL) bool {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// IsSecure reports whether the URL has the scheme https, or leads to this machine, where http is
// tolerated (OAuth 2.1, section 1.5).
func IsSecure(u *url.URL) bool {
	return strings.EqualFold(u.Scheme, "https") || strings.EqualFold(u.Scheme, "http") && IsLoopback(u)
}

// MayFetch reports whether a client may fetch a document at u, a URL that a server named; from is
// the server's own URL. u must be an http or https URL for which LeadsIntoPrivateNetwork returns
// false: a remote server must not make the client send requests into the client's private network.
func MayFetch(from, u *url.URL) bool {
	if !strings.EqualFold(u.Scheme, "https") && !strings.EqualFold(u.Scheme, "http") || u.Host == "" {
		return false
	}
	return !LeadsIntoPrivateNetwork(from, u)
}

// LeadsIntoPrivateNetwork reports whether u, a URL that a server named, would lead a client into a
// private network that the server is not in; from is the server's own URL. The result is also true
// if u is link-local and from is private but not link-local, because the metadata services of
// clouds hold secrets at link-local addresses.
func LeadsIntoPrivateNetwork(from, u *url.URL) bool {
	return IsLinkLocal(u) && !IsLinkLocal(from) || IsPrivate(u) && !IsPrivate(from)
}

// IsLinkLocal reports whether the host of a URL is a link-local address, such as 169.254.169.254,
// the metadata service of clouds.
func IsLinkLocal(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname()) // unlike net.ParseIP it accepts an IPv6 zone
	return err == nil && ip.Unmap().IsLinkLocalUnicast()
}

// IsPrivate reports whether the host of a URL is this machine, or a private, link-local or
// unspecified address.
func IsPrivate(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return IsLoopback(u) || ip != nil && (ip.IsPrivate() || ip.IsUnspecified()) || IsLinkLocal(u)
}
