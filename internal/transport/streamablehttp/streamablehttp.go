// Package streamablehttp reaches a server over Streamable HTTP, the transport
// of 2025-03-26, 2025-06-18 and 2025-11-25: every message of the client is a
// POST, answered by JSON or by an event stream; a GET opens a stream for what
// the server says unasked; a session may bind them together.
package streamablehttp

import (
	"context"
	"net/url"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
)

// The headers of the transport.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "MCP-Protocol-Version"
	lastEventID   = "Last-Event-ID"
)

// Dialer opens sessions with one server.
type Dialer struct {
	URL   *url.URL
	Reach exchange.Reach
}

// NewDialer returns a dialer for the MCP endpoint at u.
func NewDialer(u *url.URL, r exchange.Reach) *Dialer { return &Dialer{URL: u, Reach: r} }

// Transport implements transport.Dialer.
func (*Dialer) Transport() spec.Transport { return spec.StreamableHTTP }

// Dial implements transport.Dialer. Nothing is sent yet: the first POST opens
// the session, and shows whether a server is there.
func (d *Dialer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	client, err := exchange.Open(d.URL, d.Reach, rec)
	if err != nil {
		return nil, err
	}
	l := &Link{client: client, url: d.URL, ended: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return l, nil
}
