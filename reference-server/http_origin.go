package refserver

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// admits reports whether a request comes from no web page, or from one that may
// use the server, and calls the server by a name of its own. Against DNS
// rebinding: a page must not reach a local server by making its name point there.
func (o *Options) admits(r *http.Request) bool { return o.knowsHost(r) && o.knowsOrigin(r) }

func (o *Options) knowsHost(r *http.Request) bool {
	if len(o.Hosts) > 0 {
		return slices.ContainsFunc(o.Hosts, func(h string) bool { return strings.EqualFold(h, hostname(r.Host)) })
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return !ok || !isLoopback(at.String()) || isLoopback(r.Host)
}

func (o *Options) knowsOrigin(r *http.Request) bool {
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

// share tells the browser that a page of another origin, which was admitted,
// may see the answer. It has answered the request where the browser only asks
// beforehand whether the page may send one.
func share(w http.ResponseWriter, r *http.Request) (done bool) {
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
	h.Set("Access-Control-Allow-Headers", strings.Join([]string{"Accept", "Authorization", "Content-Type", sessionHeader, versionHeader, eventHeader}, ", "))
	w.WriteHeader(http.StatusNoContent)
	return true
}
