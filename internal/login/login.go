// Package login gets access tokens for a protected server, as an MCP client does: it finds the
// server's authorization server by its metadata documents, and asks there for a token for the
// server (MCP, basic/authorization; RFC 9728, RFC 8414, RFC 8707).
package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/mcp-conform/mcp-conform/internal/oauth"
)

// Limits of each request.
const (
	answerTime = 10 * time.Second
	maxBody    = 1 << 20
)

// An Error says why there is no token, and what to do.
type Error struct{ Reason, Advice string }

func (e *Error) Error() string { return e.Reason }

// A Server is a protected server, and where its tokens come from.
type Server struct {
	Resource string   // its resource identifier
	Scopes   []string // that a token needs, as the server says
	// Issuer and TokenURL are those of its first authorization server.
	Issuer, TokenURL string

	methods []string // by which a client authenticates at the token endpoint
	client  *http.Client
}

// Discover finds out where the tokens of the server at u come from. The client must follow no
// redirects and send no credentials. The error is an *Error, or the context's.
func Discover(ctx context.Context, client *http.Client, u *url.URL) (*Server, error) {
	s := &Server{client: client}
	challenge := s.challenge(ctx, u)
	places := oauth.ResourceMetadataURLs(u)
	if named, err := url.Parse(challenge.Param("resource_metadata")); err == nil && named.Host != "" {
		places = append([]*url.URL{named}, places...)
	}
	var resource struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
	}
	if err := s.first(ctx, u, places, &resource); err != nil {
		return nil, failed(ctx, fmt.Sprintf("the server has no metadata document that says where its tokens come from: %v", err), "get a token in another way, and give it with --bearer-env")
	}
	if len(resource.Servers) == 0 {
		return nil, &Error{"the server's metadata document names no authorization server", "get a token in another way, and give it with --bearer-env"}
	}
	s.Issuer = resource.Servers[0]
	if s.Resource = resource.Resource; s.Resource == "" {
		s.Resource = u.String()
	}
	if s.Scopes = strings.Fields(challenge.Param("scope")); len(s.Scopes) == 0 {
		s.Scopes = resource.Scopes
	}
	return s, s.readIssuer(ctx, u)
}

// readIssuer reads the metadata of the authorization server.
func (s *Server) readIssuer(ctx context.Context, from *url.URL) error {
	issuer, err := url.Parse(s.Issuer)
	if err != nil || issuer.Host == "" {
		return &Error{fmt.Sprintf("the server names the authorization server %q, which is no URL", s.Issuer), "let authorization_servers name issuer URLs"}
	}
	var metadata struct {
		Issuer   string   `json:"issuer"`
		TokenURL string   `json:"token_endpoint"`
		Methods  []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := s.first(ctx, from, oauth.ServerMetadataURLs(issuer), &metadata); err != nil {
		return failed(ctx, fmt.Sprintf("the authorization server %s has no metadata document: %v", s.Issuer, err), "check that it runs, and can be reached from here")
	}
	if strings.TrimSuffix(metadata.Issuer, "/") != strings.TrimSuffix(s.Issuer, "/") {
		return &Error{fmt.Sprintf("the metadata of the authorization server %s is that of %s", s.Issuer, metadata.Issuer), "a client must refuse that (RFC 8414, section 3.3): let both have the same issuer"}
	}
	token, err := url.Parse(metadata.TokenURL)
	if err != nil || token.Host == "" || !oauth.IsSecure(token) {
		return &Error{fmt.Sprintf("the authorization server has the token endpoint %q, which is no https URL", metadata.TokenURL), "no secret is sent there"}
	}
	s.TokenURL, s.methods = metadata.TokenURL, metadata.Methods
	return nil
}

// challenge returns the Bearer challenge of the server, if it sends one.
func (s *Server) challenge(ctx context.Context, u *url.URL) oauth.Challenge {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader("{}"))
	if err != nil {
		return oauth.Challenge{}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	response, err := s.client.Do(r)
	if err != nil {
		return oauth.Challenge{}
	}
	_ = response.Body.Close()
	all, _ := oauth.ParseChallenges(response.Header.Values("WWW-Authenticate"))
	c, _ := oauth.Bearer(all)
	return c
}

// first reads the first JSON document at the places.
func (s *Server) first(ctx context.Context, from *url.URL, places []*url.URL, into any) error {
	var problems []string
	for _, u := range places {
		err := s.read(ctx, from, u, into)
		if err == nil {
			return nil
		}
		problems = append(problems, u.Redacted()+": "+err.Error())
	}
	return errors.New(strings.Join(problems, "; "))
}

func (s *Server) read(ctx context.Context, from, u *url.URL, into any) error {
	if !oauth.MayFetch(from, u) {
		return errors.New("it is in another network, or no URL for http")
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	response, err := s.client.Do(r)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err // the URL is named already
	}
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(into); err != nil {
		return fmt.Errorf("no JSON document: %w", err)
	}
	return nil
}

func failed(ctx context.Context, reason, advice string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &Error{reason, advice}
}

// ClientCredentials returns a source of tokens that the client gets for itself, and the first one
// (OAuth 2.1, section 4.2). The source gets another token when one expires. The error is an *Error,
// or the context's.
func (s *Server) ClientCredentials(ctx context.Context, id, secret string) (oauth2.TokenSource, *oauth2.Token, error) {
	style := oauth2.AuthStyleInHeader
	if len(s.methods) > 0 && !slices.Contains(s.methods, "client_secret_basic") {
		style = oauth2.AuthStyleInParams
	}
	c := clientcredentials.Config{
		ClientID: id, ClientSecret: secret, TokenURL: s.TokenURL, Scopes: s.Scopes, AuthStyle: style,
		EndpointParams: url.Values{"resource": {s.Resource}},
	}
	bounded := *s.client
	bounded.Timeout = answerTime
	source := c.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, &bounded))
	token, err := source.Token()
	if err != nil {
		text := strings.ReplaceAll(err.Error(), secret, "…")
		if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) && refused.ErrorCode != "" {
			text = strings.TrimSpace(refused.ErrorCode + " " + refused.ErrorDescription)
		}
		return nil, nil, failed(ctx, fmt.Sprintf("the authorization server %s issues no token: %s", s.Issuer, text), "check the id and the secret, and that this client may use client credentials")
	}
	return source, token, nil
}
