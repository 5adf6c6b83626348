package selftest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// overHTTP dials the reference server in this process over HTTP. Where it
// lasts, it serves all links, as servers do; else each link has a new one, so
// that a fault begins anew as it does on stdio.
type overHTTP struct {
	ctx     context.Context
	fault   faults.Fault
	over    spec.Transport
	lasting bool
	starts  *atomic.Int64

	mu  sync.Mutex
	one *webServer
}

// Transport implements transport.Dialer.
func (d *overHTTP) Transport() spec.Transport { return d.over }

// Dial implements transport.Dialer.
func (d *overHTTP) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	s, err := d.server()
	if err != nil {
		return nil, err
	}
	l, err := d.dial(ctx, s.url, rec)
	web, ok := l.(transport.Web)
	if err != nil || !ok || d.lasting {
		return l, err
	}
	return &serverLink{Web: web, server: s}, nil
}

func (d *overHTTP) dial(ctx context.Context, u *url.URL, rec *transcript.Transcript) (transport.Link, error) {
	if d.over == spec.SSE {
		return sse.NewDialer(u, exchange.Reach{}).Dial(ctx, rec)
	}
	return streamablehttp.NewDialer(u, exchange.Reach{}).Dial(ctx, rec)
}

func (d *overHTTP) server() (*webServer, error) {
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

// end ends the server that serves all links.
func (d *overHTTP) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.one != nil {
		d.one.close()
	}
}

// webServer is one server at an address of this machine.
type webServer struct {
	url    *url.URL
	server *http.Server
	cancel context.CancelFunc
}

func (d *overHTTP) start() (*webServer, error) {
	d.starts.Add(1)
	address := "127.0.0.1:0"
	if d.fault.Everywhere {
		address = ":0"
	}
	l, err := (&net.ListenConfig{}).Listen(d.ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancel(d.ctx)
	mux := http.NewServeMux()
	s := &webServer{url: &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", port), Path: "/mcp"}, server: &http.Server{Handler: mux}, cancel: cancel}
	var h http.Handler
	if d.over == spec.SSE {
		s.url.Path, h = "/sse", refserver.NewSSEHandler(ctx, serverOptions(d.fault))
	} else {
		h = refserver.NewHTTPHandler(ctx, serverOptions(d.fault))
	}
	mux.Handle(s.url.Path, h)
	mux.Handle(s.url.Path+"/", h) // what lies below is up to the faults
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

func (s *webServer) close() {
	s.cancel()
	_ = s.server.Close()
}

// serverLink is a link with a server of its own, which ends with it.
type serverLink struct {
	transport.Web
	server *webServer
}

// Shutdown implements transport.Link.
func (l *serverLink) Shutdown(p transport.Patience) {
	l.Web.Shutdown(p)
	l.server.close()
}
