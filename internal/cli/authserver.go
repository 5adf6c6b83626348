package cli

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcp-conform/mcp-conform/internal/issuer"
)

// startIssuer starts the authorization server of --auth-server.
func (a *app) startIssuer(f *remoteFlags) error {
	i, err := issuer.Start(a.ctx)
	if err != nil {
		return harnessError{err}
	}
	f.issuer = i
	return nil
}

// serveIssuer runs an authorization server for tests at an address until a signal arrives.
func (a *app) serveIssuer(address string) error {
	ctx, cancel := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	i, err := issuer.StartAt(ctx, address)
	if err != nil {
		return usagef("give a free HOST:PORT of this machine, such as 127.0.0.1:9000; port 0 takes any", "the address can't be served: %v", err)
	}
	defer i.Close()
	_, _ = fmt.Fprintf(a.Err, "mcp-conform authorization server: the issuer is %s\n", i.URL)
	<-ctx.Done()
	return nil
}
