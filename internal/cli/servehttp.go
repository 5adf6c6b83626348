package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// serveHTTP runs the reference server at an address until a signal arrives or the server fails.
func (a *app) serveHTTP(address string, over spec.Transport, o refserver.Options) error {
	signalled, cancel := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	ctx := context.WithoutCancel(a.ctx) // sessions end after the signal
	server, err := refserver.Listen(ctx, address, over, o)
	if err != nil {
		return usagef("give a free HOST:PORT; port 0 takes any", "the address can't be served: %v", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		server.Shutdown(ctx)
	}()
	_, _ = fmt.Fprintf(a.Err, "mcp-conform reference server: serving MCP at %s\n", server.URL)
	select {
	case err := <-server.Failed():
		return harnessError{err}
	case <-signalled.Done():
		return nil
	}
}
