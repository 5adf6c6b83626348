package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/login"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
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

// checkCredentials returns a usage error for flags that can't be combined.
func (f *remoteFlags) checkCredentials(t target.Target) error {
	switch {
	case (f.clientID == "") != (f.clientSecretEnv == ""):
		return usagef("give both, or neither", "of --client-id and --client-secret-env only one is given")
	case f.clientID != "" && t.URL == "":
		return usagef("leave it out, or give the URL", "--client-id is for a server that is reached by its URL")
	case f.clientID != "" && f.authServer:
		return usagef("give one of them", "both --client-id and --auth-server are given")
	}
	return nil
}

// reachAt returns how to reach the server at u: with a valid token, if the run has an authorization
// server or the credentials of a client, and the user gave no Authorization header.
func (a *app) reachAt(f *remoteFlags, u *url.URL, reach exchange.Reach) (exchange.Reach, error) {
	switch {
	case reach.Authorizes():
	case f.issuer != nil:
		access := reach.Access(u)
		resource, err := login.Describe(a.ctx, access.Client, u)
		if err != nil { // the server may protect itself without a metadata document
			resource = &login.Resource{ID: u.String()}
		}
		token := f.issuer.Token(issuer.Valid, resource.ID, strings.Join(resource.Scopes, " "))
		reach.Token = func() string { return token }
	case f.clientID != "":
		secret := strings.TrimSpace(a.variable(f.clientSecretEnv))
		if secret == "" {
			return reach, usagef("set it to the client's secret", "--client-secret-env names %q, and that variable is not set, or empty", f.clientSecretEnv)
		}
		a.secrets.Add(secret)
		source, err := a.clientTokens(reach.Access(u), f.clientID, secret)
		if err != nil {
			return reach, err
		}
		reach.Token = source
	}
	return reach, nil
}

// clientTokens returns a function that returns the current token of a client.
func (a *app) clientTokens(access transport.Access, id, secret string) (func() string, error) {
	server, err := login.Discover(a.ctx, access.Client, access.URL)
	if err != nil {
		return nil, a.noToken(err)
	}
	source, last, err := server.ClientCredentials(a.ctx, id, secret)
	if err != nil {
		return nil, a.noToken(err)
	}
	a.secrets.Add(last.AccessToken)
	return func() string {
		t, err := source.Token()
		if err != nil {
			return last.AccessToken // an expired one shows what the server does with it
		}
		a.secrets.Add(t.AccessToken)
		return t.AccessToken
	}, nil
}

// noToken converts the reason why there is no token into an error that ends the run.
func (a *app) noToken(err error) error {
	var why *login.Error
	if errors.As(err, &why) {
		return &engine.UnreachableError{Reason: why.Reason, Advice: why.Advice, Err: err}
	}
	return &engine.NothingJudgedError{Reason: err.Error() + " while a token was requested"}
}
