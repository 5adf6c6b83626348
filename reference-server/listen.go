package refserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// headTime bounds how long a client may take to send the head of a request.
const headTime = 10 * time.Second

// Listening is a server at an address.
type Listening struct {
	URL *url.URL // of the MCP endpoint

	server *http.Server
	cancel context.CancelFunc
	failed chan error
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
		URL:    &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/mcp"},
		cancel: cancel, failed: make(chan error, 1),
	}
	var h http.Handler
	if over == spec.SSE {
		s.URL.Path = "/sse"
		h = NewSSEHandler(ctx, o)
	} else {
		h = NewHTTPHandler(ctx, o)
	}
	mux := http.NewServeMux()
	mux.Handle(s.URL.Path, h)
	mux.Handle(s.URL.Path+"/", h)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: headTime}
	go func() {
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return s, nil
}

// Failed gets the error with which the server ended unasked.
func (s *Listening) Failed() <-chan error { return s.failed }

// Shutdown ends the sessions, and waits for what is being answered as long as
// the context allows.
func (s *Listening) Shutdown(ctx context.Context) {
	s.cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
}

// Close ends the sessions and closes all connections.
func (s *Listening) Close() {
	s.cancel()
	_ = s.server.Close()
}
