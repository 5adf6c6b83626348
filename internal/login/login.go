// Package login gets access tokens for a protected server, as an MCP client does: it finds the
// server's authorization server by its metadata documents, and asks there for a token for the
// server, on behalf of a client or of a user (MCP, basic/authorization; RFC 9728, RFC 8414,
// RFC 8707). It keeps the tokens of users in files.
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

// An Error says why there is no token, and what to do.
type Error struct{ Reason, Advice string }

func (e *Error) Error() string { return e.Reason }

// failed returns an *Error or, if the context has ended, its cause.
func failed(ctx context.Context, reason, advice string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &Error{reason, advice}
}

// A Client is what an authorization server knows as a client.
type Client struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"` // "" for a public client
}

// ClientCredentials returns a source of tokens that the client gets for itself, and the first one
// (OAuth 2.1, section 4.2). The source gets another token when one expires. The error is an *Error,
// or the context's.
func (s *Server) ClientCredentials(ctx context.Context, client Client) (oauth2.TokenSource, *oauth2.Token, error) {
	for round := 1; ; round++ {
		source := s.credentials(ctx, client)
		token, err := source.Token()
		if err != nil {
			return nil, nil, s.refused(ctx, err, client, "check the id and the secret, and that this client may use client credentials")
		}
		if round == maxRounds || !s.widen(ctx, token) {
			return source, token, nil
		}
	}
}

// Once returns a token that the client gets for itself, whether or not the server accepts it. The
// error is that of the library.
func (s *Server) Once(ctx context.Context, client Client) (*oauth2.Token, error) {
	return s.credentials(ctx, client).Token()
}

func (s *Server) credentials(ctx context.Context, client Client) oauth2.TokenSource {
	c := clientcredentials.Config{
		ClientID: client.ID, ClientSecret: client.Secret, TokenURL: s.TokenURL, Scopes: s.Scopes, AuthStyle: s.style(client),
		EndpointParams: url.Values{"resource": {s.ID}},
	}
	return checkedSource{c.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, bounded(s.HTTP)))}
}

// maxRounds is how often tokens are requested because the server demands further scopes.
const maxRounds = 3

// widen adds the scopes that the server misses in the token to those to ask for. It returns false
// if there are none.
func (s *Server) widen(ctx context.Context, token *oauth2.Token) bool {
	return s.AddScopes(s.Missing(ctx, token.AccessToken))
}

// AddScopes adds scopes to those to ask for. It returns false if they are among them.
func (s *Server) AddScopes(scopes []string) bool {
	before := len(s.Scopes)
	for _, scope := range scopes {
		if !slices.Contains(s.Scopes, scope) {
			s.Scopes = append(slices.Clone(s.Scopes), scope)
		}
	}
	return len(s.Scopes) > before
}

// style returns how the client authenticates at the token endpoint.
func (s *Server) style(c Client) oauth2.AuthStyle {
	if c.Secret == "" || len(s.methods) > 0 && !slices.Contains(s.methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// bounded returns the client with a limit for each request.
func bounded(client *http.Client) *http.Client {
	out := *client
	out.Timeout = answerTime
	return &out
}

// refused returns the error for a token request that failed.
func (s *Server) refused(ctx context.Context, err error, client Client, advice string) error {
	return failed(ctx, fmt.Sprintf("the authorization server %s issues no token: %s", s.Issuer, explain(err, client)), advice)
}

// explain returns what a token endpoint answered, without the client's secret. The body of an answer
// that is not an error of OAuth may be anything, such as a page with all that the request had.
func explain(err error, client Client) string {
	text := err.Error()
	if late := (net.Error)(nil); errors.As(err, &late) && late.Timeout() {
		return "it gave no answer in time"
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

// maxText is how many bytes of a text of an authorization server are shown.
const maxText = 500

// proofs are the types of tokens that require a proof of possession, unlike bearer tokens.
var proofs = []string{"dpop", "pop", "mac"}

// errProof is the error for a token that has to be proven.
type errProof struct{ kind string }

func (e *errProof) Error() string {
	return fmt.Sprintf("its token has the type %q, and MCP has bearer tokens", e.kind)
}

// checked returns an error in place of a token that has to be proven.
func checked(t *oauth2.Token, err error) (*oauth2.Token, error) {
	if err == nil && slices.Contains(proofs, strings.ToLower(t.TokenType)) {
		return nil, &errProof{wire.Excerpt(t.TokenType, maxText)}
	}
	return t, err
}

// A checkedSource returns the tokens of a source that need no proof.
type checkedSource struct{ oauth2.TokenSource }

// Token implements oauth2.TokenSource.
func (s checkedSource) Token() (*oauth2.Token, error) { return checked(s.TokenSource.Token()) }
