package refserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// headTime bounds how long a client may take to send the head of a request.
const headTime = 10 * time.Second

// Listening is a server at an address.
type Listening struct {
	URL *url.URL // of the MCP endpoint
	At  netip.AddrPort

	server    *http.Server
	drain     func(ctx context.Context)
	drainTime time.Duration
	cancel    context.CancelFunc
	failed    chan error
}

// Listen serves MCP at an address until the context ends or the server is
// closed: over HTTP+SSE at /sse, else over Streamable HTTP at /mcp. Port 0 takes
// a free one.
func Listen(ctx context.Context, address string, over spec.Transport, o Options) (*Listening, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Listening{
		At:     netip.MustParseAddrPort(l.Addr().String()),
		URL:    &url.URL{Scheme: "http", Host: reachable(l.Addr()), Path: "/mcp"},
		cancel: cancel, failed: make(chan error, 1), drainTime: o.withDefaults().DrainTime,
	}
	var h interface {
		http.Handler
		drain(ctx context.Context)
	}
	if over == spec.SSE {
		s.URL.Path = "/sse"
		events := NewSSEHandler(ctx, o)
		events.died = s.die
		h = events
	} else {
		streamable := NewHTTPHandler(ctx, o)
		streamable.died = s.die
		h = streamable
	}
	s.drain = h.drain
	mux := http.NewServeMux()
	mux.Handle(s.URL.Path, h)
	mux.Handle(s.URL.Path+"/", h)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: headTime}
	go func() {
		if err := s.server.Serve(wrapped{l, o.Seams.Input}); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return s, nil
}

// wrapped is a listener whose connections are read through a seam, which may be
// nil.
type wrapped struct {
	net.Listener
	input func(r io.Reader) io.Reader
}

// Accept implements net.Listener.
func (l wrapped) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil || l.input == nil {
		return conn, err
	}
	return readThrough{conn, l.input(conn)}, nil
}

// readThrough is a connection that is read through a seam.
type readThrough struct {
	net.Conn
	in io.Reader
}

// Read implements net.Conn.
func (c readThrough) Read(p []byte) (int, error) { return c.in.Read(p) }

// reachable is where this machine reaches a server that listens at an address:
// one that does so at all of them, at that of the loopback interface.
func reachable(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return at.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

// Failed gets the error with which the server ended unasked.
func (s *Listening) Failed() <-chan error { return s.failed }

// Shutdown ends the server as it should be ended: new requests are refused,
// those in progress have the drain time to be answered, then the sessions and
// their streams end, and last the connections. The context bounds all of it.
func (s *Listening) Shutdown(ctx context.Context) {
	draining, done := context.WithTimeout(ctx, s.drainTime)
	s.drain(draining)
	done()
	s.cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
}

// errDied says that a fault has ended the server.
var errDied = errors.New("the server died of a fault")

// die ends the server as the end of its process does: its connections break in
// the middle of whatever they carry.
func (s *Listening) die() {
	_ = s.server.Close()
	s.cancel()
	select {
	case s.failed <- errDied:
	default:
	}
}

// Close ends the sessions and closes all connections.
func (s *Listening) Close() {
	s.cancel()
	_ = s.server.Close()
}
