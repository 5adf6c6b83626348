package suite

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// IdentifyingHeader returns a header of the client's requests by which a server may
// know whose they are, or "": one that the user of the harness has set.
func IdentifyingHeader(c *client.Conversation) string {
	usual := []string{
		"host", "accept", "accept-encoding", "content-type", "content-length", "user-agent", "mcp-session-id", "mcp-protocol-version", "connection",
		"cache-control", "origin",
	}
	for _, f := range c.Web().Headers("POST") {
		if !slices.Contains(usual, strings.ToLower(f.Name)) {
			return f.Name
		}
	}
	return ""
}

// IsStartedByRun reports whether the server was started by the run, and ends with it.
func IsStartedByRun(c *client.Conversation) bool {
	_, local := c.Web().(transport.Local)
	return local || c.Web() == nil
}

// IsOnSameMachine reports whether the server is known to run on this machine, so that
// it can be shown files here: the run started it, or it was reached at a loopback
// address.
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
