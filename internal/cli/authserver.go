package cli

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/upstream"
)

// startIssuer starts the authorization server of --auth-server.
func (a *app) startIssuer(s *remoteServer) error {
	i, err := issuer.Start(a.ctx)
	if err != nil {
		return harnessError{err}
	}
	s.issuer = i
	return nil
}

// startUpstream starts a test double of the service that the server calls, if --upstream-env is
// given. It returns a usage error if the run does not start the server, which then can't get the
// variable. It also returns one if --upstream-url is given without --upstream-env or is not an HTTP
// URL.
func (a *app) startUpstream(s *remoteServer, t target.Target) error {
	f := s.flags
	switch {
	case f.upstreamEnv == "" && f.upstreamURL == "":
		return nil
	case f.upstreamEnv == "":
		return usagef("add --upstream-env NAME, or leave it out", "--upstream-url is given without --upstream-env")
	case t.Start == nil:
		return usagef("add --start COMMAND, or leave it out", "--upstream-env is for a server that the run starts: the run sets the variable in its environment")
	}
	var service *url.URL
	if f.upstreamURL != "" {
		u, err := url.Parse(f.upstreamURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return usagef("give one like https://api.example.com", "--upstream-url is %q, which is not a URL", f.upstreamURL)
		}
		service = u
	}
	d, err := upstream.Start(a.ctx, service)
	if err != nil {
		return harnessError{err}
	}
	s.upstream = d
	return nil
}

// serveIssuer runs a test authorization server at an address until a signal arrives or a.ctx ends.
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
