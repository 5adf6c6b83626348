package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// httpServer is the reference server at an address.
type httpServer struct {
	server *http.Server
	url    *url.URL
	stop   context.CancelFunc
	failed chan error
}

// startHTTP starts the reference server at an address of ours.
func startHTTP(ctx context.Context, address string, over spec.Transport, o refserver.Options) (*httpServer, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, usagef("give a free HOST:PORT; port 0 takes any", "the address can't be served: %v", err)
	}
	ctx, stop := context.WithCancel(ctx)
	mux := http.NewServeMux()
	path := "/mcp"
	if over == spec.SSE {
		path = "/sse"
		mux.Handle(path, refserver.NewSSEHandler(ctx, o))
	} else {
		mux.Handle(path, refserver.NewHTTPHandler(ctx, o))
	}
	h := &httpServer{
		server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second},
		url:    &url.URL{Scheme: "http", Host: l.Addr().String(), Path: path},
		stop:   stop, failed: make(chan error, 1),
	}
	go func() {
		if err := h.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			h.failed <- err
		}
	}()
	return h, nil
}

// close ends the server: first its sessions, then its connections.
func (h *httpServer) close() {
	h.stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if h.server.Shutdown(ctx) != nil {
		_ = h.server.Close()
	}
}

// serveHTTP is the reference server at an address until a signal comes.
func (a *app) serveHTTP(address string, over spec.Transport, o refserver.Options) error {
	ctx, cancel := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	h, err := startHTTP(ctx, address, over, o)
	if err != nil {
		return err
	}
	defer h.close()
	_, _ = fmt.Fprintf(a.Err, "mcp-conform reference server: serving MCP at %s\n", h.url)
	select {
	case err := <-h.failed:
		return harnessError{err}
	case <-ctx.Done():
		return nil
	}
}
