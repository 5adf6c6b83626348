// Package login gets access tokens for a protected server, as an MCP client does: it finds the
// authorization server of that server through metadata documents, and requests a token from it, on
// behalf of a client or of a user (MCP, basic/authorization; RFC 9728, RFC 8414, RFC 8707). It
// keeps the tokens of users in files.
package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Limits of each request.
const (
	answerTime = 10 * time.Second
	maxBody    = 1 << 20
)

// An Error is the reason why there is no token, with advice.
type Error struct{ Reason, Advice string }

func (e *Error) Error() string { return e.Reason }

// newError returns an *Error or, if the context has ended, its cause.
func newError(ctx context.Context, reason, advice string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &Error{reason, advice}
}

// A Client is an OAuth client.
type Client struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"` // "" for a public client
}

// ObtainClientToken gets a token with the client credentials grant (OAuth 2.1, section 4.2). It
// returns the token and a source, which gets a new token when one expires. If the server demands
// more scopes than the token has, ObtainClientToken gets another token, up to maxRounds in all.
// The error is an *Error, or the context's.
func (s *Server) ObtainClientToken(ctx context.Context, client Client) (oauth2.TokenSource, *oauth2.Token, error) {
	for round := 1; ; round++ {
		source := s.credentials(ctx, client)
		token, err := source.Token()
		if err != nil {
			return nil, nil, s.tokenError(ctx, err, client, "check the id and the secret, and that this client may use client credentials")
		}
		if round == maxRounds || !s.addMissingScopes(ctx, token) {
			return source, token, nil
		}
	}
}

// RequestToken gets a token with the client credentials grant, without checking that the server
// accepts it. The error is that of package oauth2, or a *proofError.
func (s *Server) RequestToken(ctx context.Context, client Client) (*oauth2.Token, error) {
	return s.credentials(ctx, client).Token()
}

// credentials returns a source of tokens with the client credentials grant.
func (s *Server) credentials(ctx context.Context, client Client) oauth2.TokenSource {
	c := clientcredentials.Config{
		ClientID: client.ID, ClientSecret: client.Secret, TokenURL: s.TokenURL, Scopes: s.Scopes, AuthStyle: s.authStyle(client),
		EndpointParams: url.Values{"resource": {s.ID}},
	}
	return checkedSource{c.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, withTimeout(s.HTTP)))}
}

// maxRounds limits how often a token is requested. Every round but the first is due to scopes that
// the server demands.
const maxRounds = 3

// addMissingScopes adds the scopes that the token lacks to s.Scopes, the scopes to request. It
// returns false if s.Scopes has all of them already.
func (s *Server) addMissingScopes(ctx context.Context, token *oauth2.Token) bool {
	return s.AddScopes(s.MissingScopes(ctx, token.AccessToken))
}

// AddScopes adds scopes to s.Scopes, the scopes to request. It returns false if s.Scopes has
// all of them already.
func (s *Server) AddScopes(scopes []string) bool {
	before := len(s.Scopes)
	for _, scope := range scopes {
		if !slices.Contains(s.Scopes, scope) {
			s.Scopes = append(slices.Clone(s.Scopes), scope)
		}
	}
	return len(s.Scopes) > before
}

// authStyle returns how the client authenticates at the token endpoint: in the body if it has no
// secret or the authorization server does not support client_secret_basic, otherwise in a header.
func (s *Server) authStyle(c Client) oauth2.AuthStyle {
	if c.Secret == "" || len(s.methods) > 0 && !slices.Contains(s.methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// withTimeout returns a copy of the client with a timeout for each request.
func withTimeout(client *http.Client) *http.Client {
	out := *client
	out.Timeout = answerTime
	return &out
}

// tokenError returns the error for a token request that failed.
func (s *Server) tokenError(ctx context.Context, err error, client Client, advice string) error {
	return newError(ctx, fmt.Sprintf("the authorization server %s issued no token: %s", s.Issuer, explainTokenError(err, client)), advice)
}

// explainTokenError describes why a token request failed, without the client's secret. It leaves
// out the body of a response that is not an OAuth error, because such a body may repeat the
// request.
func explainTokenError(err error, client Client) string {
	text := err.Error()
	if late := (net.Error)(nil); errors.As(err, &late) && late.Timeout() {
		return "it did not respond in time"
	}
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) {
		if text = strings.TrimSpace(refused.ErrorCode + " " + refused.ErrorDescription); refused.ErrorCode == "" {
			text = refused.Response.Status
		}
	}
	for _, secret := range []string{client.Secret, url.QueryEscape(client.Secret)} {
		text = strings.ReplaceAll(text, cmp.Or(secret, "\x00"), "…")
	}
	return wire.Excerpt(text, maxText)
}

// maxText limits how much of a string from an authorization server is shown, in bytes.
const maxText = 500

// proofs are the types, in lower case, of tokens that require a proof of possession, unlike bearer
// tokens.
var proofs = []string{"dpop", "pop", "mac"}

// A proofError is the error for a token that requires a proof of possession.
type proofError struct{ kind string }

func (e *proofError) Error() string {
	return fmt.Sprintf("its token has the type %q, but MCP uses bearer tokens", e.kind)
}

// checkToken returns its arguments unchanged, unless the token requires a proof of possession: then
// it returns a *proofError.
func checkToken(t *oauth2.Token, err error) (*oauth2.Token, error) {
	if err == nil && slices.Contains(proofs, strings.ToLower(t.TokenType)) {
		return nil, &proofError{wire.Excerpt(t.TokenType, maxText)}
	}
	return t, err
}

// A checkedSource is a source whose tokens checkToken has checked.
type checkedSource struct{ oauth2.TokenSource }

// Token implements oauth2.TokenSource.
func (s checkedSource) Token() (*oauth2.Token, error) { return checkToken(s.TokenSource.Token()) }
