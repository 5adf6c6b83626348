package suite

import (
	"context"
	"net"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/control"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// ForeignOrigin is the origin of web pages on a host that is not the server's.
const ForeignOrigin = "http://evil.example"

// ForeignOrigins returns values of Origin that are not the server's: a foreign origin, "null",
// hosts whose names only begin with a name of the server, and a string that is not an origin.
func (w *Web) ForeignOrigins() []string {
	origins := []string{ForeignOrigin, "null"}
	for _, name := range w.hostNames() {
		origins = append(origins, "http://"+name+".evil.example")
	}
	return append(origins, "this is no origin")
}

// hostNames returns the names of the server's host: the one that the client uses and, if the server
// is on this machine, localhost. A server may compare Origin with either of them. For an IPv6
// address, which no other name can begin with, it returns only localhost.
func (w *Web) hostNames() []string {
	name, _, _ := strings.Cut(w.Host(), ":")
	switch {
	case name == "" || strings.HasPrefix(name, "[") || name == "localhost":
		return []string{"localhost"}
	case w.isLocal():
		return []string{name, "localhost"}
	}
	return []string{name}
}

// isLocal reports whether the server is on this machine.
func (w *Web) isLocal() bool {
	host, _, err := net.SplitHostPort(w.Host())
	if err != nil {
		host = w.Host()
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// CheckOrigins sends requests that claim to come from the server's own pages, and from others.
// Rules judge the responses. A request after DNS rebinding, from a page whose host name now
// resolves to the server, is judged here.
func (t *T) CheckOrigins(ctx context.Context, requirement string, w *Web) {
	ordinary := w.SendHarmless(ctx)
	w.SendHarmless(ctx, WithHeader("Origin", "http://"+w.Host()))
	served := false
	for _, from := range w.ForeignOrigins() {
		served = served || isAccepted(w.SendHarmless(ctx, WithHeader("Origin", from)))
	}
	if !served { // if the server serves a foreign origin, rebinding shows nothing more
		t.judgeRebound(requirement, w, ordinary, w.sendRebound(ctx))
	}
}

// sendRebound sends a request as a page does after DNS rebinding, when the page's host name
// resolves to the server. It returns nil if the server is not on this machine, because a name that
// resolves to another machine may be the server's.
func (w *Web) sendRebound(ctx context.Context) *transcript.Exchange {
	if !w.isLocal() {
		return nil
	}
	name := "evil.example"
	if _, port, err := net.SplitHostPort(w.Host()); err == nil && port != "" {
		name = net.JoinHostPort(name, port)
	}
	return w.SendHarmless(ctx, WithHeader("Host", name), WithHeader("Origin", "http://"+name))
}

// isAccepted reports whether a request was neither refused nor answered with an
// error. Over HTTP+SSE, the result itself comes on another stream.
func isAccepted(x *transcript.Exchange) bool {
	return x != nil && x.Succeeded() && !slices.ContainsFunc(x.Messages(), func(m wire.Message) bool { return m.IsError() })
}

// judgeRebound judges the outcome of sendRebound, compared with an ordinary request. The
// specification requires servers to check Origin against DNS rebinding, but does not say which
// origins are valid.
func (t *T) judgeRebound(requirement string, w *Web, ordinary, x *transcript.Exchange) {
	switch {
	case x == nil || x.Response == nil:
		return
	case !isAccepted(x):
		odd := control.StatusResponse(DescribeExchange(x))
		c := control.Control{Name: "a request without Origin"}
		if ordinary != nil && ordinary.Response != nil {
			c.HasResponse, c.Served, c.Response = true, isAccepted(ordinary), control.StatusResponse(DescribeExchange(ordinary))
		}
		if why := c.WhyUnclear(odd, false); why != "" {
			t.MarkNotObserved(requirement, why)
		} else if !x.Succeeded() {
			t.MarkKept(requirement)
		}
		return
	}
	t.Report(w.C, verdict.Deviation{
		Requirement: requirement, Weight: verdict.AtMostWarning,
		Summary:   "The server accepts a request after DNS rebinding.",
		Permitted: "a refusal: neither Host nor Origin is a name of the server",
		Seen:      "Host " + x.RequestHead().Get("Host") + ", Origin " + x.RequestHead().Get("Origin") + ": " + DescribeExchange(x),
		At:        PositionsOf(x),
	})
}
