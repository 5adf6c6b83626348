package refserver

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// isAllowed reports whether the Host and Origin headers of a request are allowed. Together the
// checks prevent DNS rebinding, in which a web page reaches a local server under the page's own
// host name.
func (o *Options) isAllowed(r *http.Request) bool { return o.isAllowedHost(r) && o.isAllowedOrigin(r) }

func (o *Options) isAllowedHost(r *http.Request) bool {
	if len(o.Hosts) > 0 {
		return slices.ContainsFunc(o.Hosts, func(h string) bool { return strings.EqualFold(h, hostname(r.Host)) })
	}
	address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return !ok || !isLoopback(address.String()) || isLoopback(r.Host)
}

func (o *Options) isAllowedOrigin(r *http.Request) bool {
	origin := r.Header.Values("Origin")
	switch {
	case len(origin) == 0:
		return true
	case len(origin) > 1:
		return false
	case slices.ContainsFunc(o.Origins, func(known string) bool { return strings.EqualFold(known, origin[0]) }):
		return true
	}
	u, err := url.Parse(origin[0])
	return err == nil && u.Host != "" && (strings.EqualFold(u.Host, r.Host) || isLoopback(u.Host) && isLoopback(r.Host))
}

func isLoopback(hostport string) bool {
	host := hostname(hostport)
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// crossOriginHeaders are the headers that a page of another origin may set, in addition to
// those that begin with Mcp-Param-.
var crossOriginHeaders = []string{
	"Accept", "Authorization", "Content-Type", sessionHeader, versionHeader, eventHeader, methodHeader, nameHeader,
}

// requestedParamHeaders returns the Mcp-Param- headers that a CORS preflight requests.
func requestedParamHeaders(r *http.Request) []string {
	var out []string
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		if name = http.CanonicalHeaderKey(strings.TrimSpace(name)); strings.HasPrefix(name, paramHeader) {
			out = append(out, name)
		}
	}
	return out
}

// handleCORS sets the CORS headers for a page whose origin is allowed. If the request is a
// preflight, handleCORS responds to it and returns true.
func handleCORS(w http.ResponseWriter, r *http.Request) (done bool) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", sessionHeader)
	h.Add("Vary", "Origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", strings.Join(append(slices.Clone(crossOriginHeaders), requestedParamHeaders(r)...), ", "))
	w.WriteHeader(http.StatusNoContent)
	return true
}
