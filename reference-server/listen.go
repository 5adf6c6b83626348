package refserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// readHeaderTimeout limits how long a client may take to send the header of a request.
const readHeaderTimeout = 10 * time.Second

// An HTTPServer serves MCP at an address.
type HTTPServer struct {
	URL  *url.URL // of the MCP endpoint
	Addr netip.AddrPort

	server       *http.Server
	drain        func(ctx context.Context)
	drainTimeout time.Duration
	cancel       context.CancelFunc
	failed       chan error
}

// Listen serves MCP at an address until the caller closes the server: HTTP+SSE at /sse if over is
// spec.SSE, otherwise Streamable HTTP at /mcp. Port 0 selects a free port. The sessions end with
// ctx. Listen returns an error if it can't listen, or if over is spec.SSE and none of the revisions
// has that transport.
func Listen(ctx context.Context, address string, over spec.Transport, o Options) (*HTTPServer, error) {
	if o = o.withDefaults(); over == spec.SSE && len(o.handshakeRevisions()) == 0 {
		return nil, fmt.Errorf("none of the revisions %v has HTTP+SSE", o.Revisions)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &HTTPServer{
		Addr:   netip.MustParseAddrPort(l.Addr().String()),
		URL:    &url.URL{Scheme: "http", Host: reachableHost(l.Addr()), Path: "/mcp"},
		cancel: cancel, failed: make(chan error, 1), drainTimeout: o.DrainTimeout,
	}
	var h interface {
		http.Handler
		drain(ctx context.Context)
	}
	if over == spec.SSE {
		s.URL.Path = "/sse"
		events := NewSSEHandler(ctx, o)
		events.onExit = s.kill
		h = events
	} else {
		streamable := NewHTTPHandler(ctx, o)
		streamable.onExit = s.kill
		h = streamable
	}
	s.drain = h.drain
	mux := http.NewServeMux()
	mux.Handle(s.URL.Path, h)
	mux.Handle(s.URL.Path+"/", h)
	s.server = &http.Server{Handler: o.protect(s.URL.Path, mux), ReadHeaderTimeout: readHeaderTimeout}
	go func() {
		if err := s.server.Serve(seamListener{l, o.Seams.Input}); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return s, nil
}

// A seamListener passes the input of its connections through a seam, which may be
// nil.
type seamListener struct {
	net.Listener
	input func(r io.Reader) io.Reader
}

// Accept implements net.Listener.
func (l seamListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil || l.input == nil {
		return conn, err
	}
	return seamConn{conn, l.input(conn)}, nil
}

// A seamConn passes its input through a seam.
type seamConn struct {
	net.Conn
	in io.Reader
}

// Read implements net.Conn.
func (c seamConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// reachableHost returns the host and port at which a local client reaches a server. For
// a server that listens on all addresses it returns the loopback address.
func reachableHost(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return address.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

// Failed returns a channel that receives the error if the server ends unexpectedly.
func (s *HTTPServer) Failed() <-chan error { return s.failed }

// Shutdown ends the server gracefully: it refuses new requests, waits at most the drain timeout for
// the responses to requests in flight, ends the sessions with their streams, and closes the
// connections. It returns at the latest when ctx ends.
func (s *HTTPServer) Shutdown(ctx context.Context) {
	draining, done := context.WithTimeout(ctx, s.drainTimeout)
	s.drain(draining)
	done()
	s.cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
}

// errKilled is sent on the channel of Failed when a fault has ended the server.
var errKilled = errors.New("the server died of a fault")

// kill ends the server like a killed process: it breaks all connections at once.
func (s *HTTPServer) kill() {
	_ = s.server.Close()
	s.cancel()
	select {
	case s.failed <- errKilled:
	default:
	}
}

// Close ends the sessions and closes all connections.
func (s *HTTPServer) Close() {
	s.cancel()
	_ = s.server.Close()
}
