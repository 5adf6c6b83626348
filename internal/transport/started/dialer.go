package started

import (
	"context"
	"net/url"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// A Dialer opens links to one server. It starts the server with the first link,
// and again when the server has exited.
type Dialer struct {
	starter   *Starter
	transport spec.Transport
	over      func(*url.URL) transport.Dialer
	shared    *Dialer // a dialer on the same port, whose server must stop before this one's can start; may be nil

	mu      sync.Mutex
	server  *Server
	endings []transport.Ending
}

// Dialer returns a dialer that starts servers and reaches them over transport t. The function over
// returns the dialer for the URL of one server. The argument first is a server that was already
// started, or nil.
func (s *Starter) Dialer(first *Server, t spec.Transport, over func(*url.URL) transport.Dialer) *Dialer {
	return &Dialer{starter: s, transport: t, over: over, server: first}
}

// Transport implements transport.Dialer.
func (d *Dialer) Transport() spec.Transport { return d.transport }

// IsLimitedToOne implements transport.Sharer. Only one server can listen on a fixed port.
func (d *Dialer) IsLimitedToOne() bool { return !d.starter.o.NeedsFreePort }

// FreshDialer implements transport.Sharer.
func (d *Dialer) FreshDialer() (fresh transport.Dialer, stop func()) {
	f := &Dialer{starter: d.starter, transport: d.transport, over: d.over}
	if d.IsLimitedToOne() {
		f.shared = d
	}
	return f, f.Close
}

// Close stops the server; the next Dial starts a new one.
func (d *Dialer) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
}

func (d *Dialer) end() {
	if d.server != nil {
		d.server.Stop()
		if e, ended := d.server.awaitEnding(); ended {
			d.endings = append(d.endings, e)
		}
		d.server = nil
	}
}

// Endings implements transport.Sharer.
func (d *Dialer) Endings() []transport.Ending {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server != nil && !d.server.Alive() {
		d.end()
	}
	return slices.Clone(d.endings)
}

// Dial implements transport.Dialer.
func (d *Dialer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	server, err := d.ensureServer(ctx)
	if err != nil {
		return nil, err
	}
	inner, err := d.over(server.url).Dial(ctx, rec)
	if err != nil {
		return nil, err
	}
	l := &link{ExitNotifiable: inner.(transport.ExitNotifiable), record: rec, server: server, notified: make(chan struct{})}
	server.attach(l)
	return l, nil
}

// ensureServer returns the running server, and starts one if there is none.
func (d *Dialer) ensureServer(ctx context.Context) (*Server, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server != nil && d.server.Alive() {
		return d.server, nil
	}
	d.end()
	if d.shared != nil {
		d.shared.Close()
	}
	server, err := d.starter.Start(ctx)
	if err != nil {
		return nil, err
	}
	d.server = server
	return server, nil
}
