package selftest

import (
	"context"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// overHTTP dials the reference server in this process over HTTP. If lasting is set, one server
// serves all links (connections), as real servers do. Otherwise each link gets a new server, so
// that a fault starts afresh, as over stdio.
type overHTTP struct {
	ctx     context.Context
	fault   faults.Fault
	over    spec.Transport
	lasting bool
	starts  *atomic.Int64

	helperServers

	mu  sync.Mutex
	one *refserver.HTTPServer
}

// Transport implements transport.Dialer.
func (d *overHTTP) Transport() spec.Transport { return d.over }

// sharedServer dials one server that keeps running and serves all links, except those of the
// dialers that FreshDialer returns.
type sharedServer struct{ *overHTTP }

// FreshDialer implements transport.Sharer.
func (d sharedServer) FreshDialer() (fresh transport.Dialer, stop func()) {
	f := &overHTTP{ctx: d.ctx, fault: d.fault, over: d.over, lasting: true, starts: d.starts, helperServers: d.helperServers}
	return sharedServer{f}, f.stop
}

// IsLimitedToOne implements transport.Sharer.
func (sharedServer) IsLimitedToOne() bool { return false }

// Endings implements transport.Sharer. A server in this process ends only with the process, so
// there are no endings.
func (sharedServer) Endings() []transport.Ending { return nil }

// Dial implements transport.Dialer.
func (d *overHTTP) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	s, err := d.server()
	if err != nil {
		return nil, err
	}
	l, err := d.dial(ctx, s.URL, rec)
	web, ok := l.(transport.Web)
	if err != nil || !ok {
		return l, err
	}
	return &serverLink{Web: web, server: s, lasts: d.lasting}, nil
}

func (d *overHTTP) dial(ctx context.Context, u *url.URL, rec *transcript.Transcript) (transport.Link, error) {
	reach := exchange.Reach{}
	if d.fault.Protected {
		reach.Fields = []transcript.Field{{Name: "Authorization", Value: "Bearer " + faults.Token}}
	}
	if d.issuer != nil {
		reach.Fields = []transcript.Field{{Name: "Authorization", Value: "Bearer " + d.issuer.Token(issuer.Valid, u.String(), faults.Scopes)}}
	}
	if d.over == spec.SSE {
		return sse.NewDialer(u, reach).Dial(ctx, rec)
	}
	return streamablehttp.NewDialer(u, reach).Dial(ctx, rec)
}

func (d *overHTTP) server() (*refserver.HTTPServer, error) {
	if !d.lasting {
		return d.start()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.one == nil {
		s, err := d.start()
		if err != nil {
			return nil, err
		}
		d.one = s
	}
	return d.one, nil
}

// stop stops the server that serves all links, if there is one.
func (d *overHTTP) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.one != nil {
		d.one.Close()
	}
}

func (d *overHTTP) start() (*refserver.HTTPServer, error) {
	d.starts.Add(1)
	address := "127.0.0.1:0"
	if d.fault.AllInterfaces {
		address = ":0"
	}
	o := serverOptions(d.fault)
	if d.issuer != nil {
		o.AuthServer = d.issuer.URL
	}
	if d.upstream != nil {
		o.Upstream = d.upstream.URL
	}
	return refserver.Listen(d.ctx, address, d.over, o)
}

// serverLink is a link with a server. Closing the link stops the server, unless lasts is
// set.
type serverLink struct {
	transport.Web
	server *refserver.HTTPServer
	lasts  bool
}

// ListenAddresses implements transport.Local.
func (l *serverLink) ListenAddresses() []netip.Addr { return []netip.Addr{l.server.Addr.Addr()} }

// CloseResponse implements transport.Canceller.
func (l *serverLink) CloseResponse(id wire.ID, reason string) bool {
	inner, ok := l.Web.(transport.Canceller)
	return ok && inner.CloseResponse(id, reason)
}

// Shutdown implements transport.Link.
func (l *serverLink) Shutdown(p transport.Patience) {
	l.Web.Shutdown(p)
	if !l.lasts {
		l.server.Close()
	}
}
