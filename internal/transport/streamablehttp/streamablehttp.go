// Package streamablehttp connects to a server over Streamable HTTP, the HTTP transport of
// revisions since 2025-03-26. The client POSTs every message, and the server responds with
// JSON or with an event stream. In the handshake era, a GET opens a stream for messages
// that the server sends on its own, and a session id may tie the exchanges together.
package streamablehttp

import (
	"context"
	"net/url"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
)

// The headers of the transport.
const (
	sessionHeader = "Mcp-Session-Id"
	lastEventID   = "Last-Event-ID"
)

// A Dialer opens sessions with one server.
type Dialer struct {
	URL   *url.URL
	Reach exchange.Reach
}

// NewDialer returns a dialer for the MCP endpoint at u.
func NewDialer(u *url.URL, r exchange.Reach) *Dialer { return &Dialer{URL: u, Reach: r} }

// Transport implements transport.Dialer.
func (*Dialer) Transport() spec.Transport { return spec.StreamableHTTP }

// Dial implements transport.Dialer. It sends nothing: the first POST opens the
// session, and shows whether the server can be reached.
func (d *Dialer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	client, err := exchange.Open(d.URL, d.Reach, rec)
	if err != nil {
		return nil, err
	}
	l := &Link{tools: headers.Tools{}, client: client, url: d.URL, ended: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return l, nil
}
