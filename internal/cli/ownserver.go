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

// foreignResource is a resource that no server has, so no server may accept a token for it.
const foreignResource = "https://other-server.invalid/mcp"

// ownAuthServer requests tokens from the server's own authorization server, as a client with client
// credentials. It implements suite.Issuer.
type ownAuthServer struct {
	ctx     context.Context //nolint:containedctx // cases ask for tokens without one
	server  *login.Server
	client  login.Client
	secrets *redact.Secrets
}

// ownIssuer returns an issuer that uses the server's own authorization server. It returns nil if
// the run does not authorize with client credentials, or if no authorization server is discovered.
func (a *app) ownIssuer(s *remoteServer) suite.Issuer {
	id := s.flags.identity(s.flags.as)
	if id.ClientID == "" || !s.authorized {
		return nil
	}
	server, err := login.Discover(a.ctx, s.reached.Client, s.reached.URL)
	if err != nil {
		return nil
	}
	return &ownAuthServer{a.ctx, server, login.Client{ID: id.ClientID, Secret: strings.TrimSpace(a.environmentVariable(id.ClientSecretEnv))}, a.secrets}
}

// Token implements suite.Issuer. It returns "" for a kind of token that it can't request, and after
// an error. An authorization server may ignore the requested scopes and resource, so Token also
// returns "" unless the token's claims prove that it is of the requested kind. A token that was
// requested without scopes must have none. The audience of a token for another resource must name
// foreignResource, and must share no name with the audience of a valid token (an audience may be
// any name, such as "api").
func (o *ownAuthServer) Token(kind issuer.Kind, resource, scope string) string {
	s := *o.server
	s.ID, s.Scopes = resource, strings.Fields(scope)
	switch kind {
	case issuer.Valid:
	case issuer.NoScope:
		s.Scopes = nil
	case issuer.OtherResource:
		s.ID = foreignResource
	default:
		return ""
	}
	token, err := s.RequestToken(o.ctx, o.client)
	if err != nil {
		return ""
	}
	o.secrets.Add(token.AccessToken)
	claims, known := oauth.ParseClaims(token.AccessToken)
	switch {
	case kind == issuer.OtherResource && (!known || !claims.IsFor(foreignResource) || claims.IsFor(resource) || claims.SharesAudience(o.Token(issuer.Valid, resource, scope))),
		kind == issuer.NoScope && (!known || len(claims.Scopes) > 0):
		return ""
	}
	return token.AccessToken
}

// ForOtherUser implements suite.Issuer. It returns "", because client credentials have no user.
func (*ownAuthServer) ForOtherUser(string) string { return "" }

// foreignToken is an issuer with a token that the user has for another server. Other tokens come from
// the next issuer, which may be nil.
type foreignToken struct {
	token string
	next  suite.Issuer
}

// Token implements suite.Issuer. It does not return the user's token if its claims name the resource.
func (f *foreignToken) Token(kind issuer.Kind, resource, scope string) string {
	if claims, _ := oauth.ParseClaims(f.token); kind == issuer.OtherResource && !claims.IsFor(resource) {
		return f.token
	}
	if f.next == nil {
		return ""
	}
	return f.next.Token(kind, resource, scope)
}

// ForOtherUser implements suite.Issuer.
func (f *foreignToken) ForOtherUser(token string) string {
	if f.next == nil {
		return ""
	}
	return f.next.ForOtherUser(token)
}
