package suite

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// IdentifyingHeader returns the name of a request header that the user has set, and by which a
// server may recognize the client, or "" if there is none.
func IdentifyingHeader(c *client.Conversation) string {
	usual := []string{
		"host", "accept", "accept-encoding", "content-type", "content-length", "user-agent", "mcp-session-id", "mcp-protocol-version", "connection",
		"cache-control", "origin",
	}
	for _, f := range c.Web().Headers("POST", nil) {
		if !slices.Contains(usual, strings.ToLower(f.Name)) {
			return f.Name
		}
	}
	return ""
}

// IsStartedByRun reports whether the run started the server, which then ends
// with the run.
func IsStartedByRun(c *client.Conversation) bool {
	_, local := c.Web().(transport.Local)
	return local || c.Web() == nil
}

// IsOnSameMachine reports whether the server is known to run on this machine,
// so that it can access files here: the run started it, or it was reached at a
// loopback address.
func IsOnSameMachine(c *client.Conversation) bool {
	if IsStartedByRun(c) {
		return true
	}
	for _, x := range transcript.ExchangesOf(c.Record.From(0)).All() {
		if x.Request != nil && x.Request.Head != nil {
			return isLoopback(x.RequestHead().Get("Host"))
		}
	}
	return false
}

// isLoopback reports whether a Host header names this machine.
func isLoopback(host string) bool {
	if at, err := netip.ParseAddrPort(host); err == nil {
		return at.Addr().IsLoopback()
	}
	if at, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return at.IsLoopback()
	}
	name, _, _ := strings.Cut(host, ":")
	return strings.EqualFold(name, "localhost")
}
