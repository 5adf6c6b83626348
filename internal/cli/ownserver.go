package cli

import (
	"context"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/login"
	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// elsewhere is a resource for which a token is of no use at any server.
const elsewhere = "https://other-server.invalid/mcp"

// ownServer issues tokens of the server's own authorization server, for a client that gets its own. It
// implements suite.Issuer.
type ownServer struct {
	ctx     context.Context //nolint:containedctx // cases ask for tokens without one
	server  *login.Server
	client  login.Client
	secrets *redact.Secrets
}

// ownIssuer returns the own authorization server of the server, if the user is a client that gets its
// own tokens there; else nil.
func (a *app) ownIssuer(f *remoteFlags) suite.Issuer {
	id := f.identity(f.as)
	if id.ClientID == "" || !f.authorized {
		return nil
	}
	server, err := login.Discover(a.ctx, f.reached.Client, f.reached.URL)
	if err != nil {
		return nil
	}
	return &ownServer{a.ctx, server, login.Client{ID: id.ClientID, Secret: strings.TrimSpace(a.variable(id.ClientSecretEnv))}, a.secrets}
}

// Token implements suite.Issuer. An authorization server may ignore the resource that it is asked for,
// and servers may know themselves by any name, such as api. So a token is one for another server only
// if its audience says so, and has no name that is in the audience of a valid token.
func (o *ownServer) Token(kind issuer.Kind, resource, scope string) string {
	s := *o.server
	s.ID, s.Scopes = resource, strings.Fields(scope)
	switch kind {
	case issuer.Valid:
	case issuer.NoScope:
		s.Scopes = nil
	case issuer.OtherResource:
		s.ID = elsewhere
	default:
		return ""
	}
	token, err := s.Once(o.ctx, o.client)
	if err != nil {
		return ""
	}
	o.secrets.Add(token.AccessToken)
	claims, known := oauth.ParseClaims(token.AccessToken)
	switch {
	case kind == issuer.OtherResource && (!known || !claims.IsFor(elsewhere) || claims.IsFor(resource) || claims.SharesAudience(o.Token(issuer.Valid, resource, scope))),
		kind == issuer.NoScope && (!known || len(claims.Scopes) > 0):
		return ""
	}
	return token.AccessToken
}

// ForOtherUser implements suite.Issuer.
func (*ownServer) ForOtherUser(string) string { return "" }
