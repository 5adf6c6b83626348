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
	Resource
	// Issuer and TokenURL are those of its first authorization server.
	Issuer, TokenURL string

	methods []string // by which a client authenticates at the token endpoint
	client  *http.Client
}

// A Resource is what a protected server says about itself.
type Resource struct {
	ID      string   // its resource identifier
	Scopes  []string // that a token needs
	Servers []string // its authorization servers, by their issuer URLs
}

// Describe returns what the server at u says about itself in its challenge and its metadata
// document. The client must follow no redirects and send no credentials. The error is an *Error, or
// the context's.
func Describe(ctx context.Context, client *http.Client, u *url.URL) (*Resource, error) {
	r := &reader{client, u}
	challenge := r.challenge(ctx)
	places := oauth.ResourceMetadataURLs(u)
	if named, err := url.Parse(challenge.Param("resource_metadata")); err == nil && named.Host != "" {
		places = append([]*url.URL{named}, places...)
	}
	var document struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
	}
	if err := r.first(ctx, places, &document); err != nil {
		return nil, failed(ctx, fmt.Sprintf("the server has no metadata document that says where its tokens come from: %v", err), tokenAdvice)
	}
	out := &Resource{ID: document.Resource, Scopes: strings.Fields(challenge.Param("scope")), Servers: document.Servers}
	if out.ID == "" {
		out.ID = u.String()
	}
	if len(out.Scopes) == 0 {
		out.Scopes = document.Scopes
	}
	return out, nil
}

// tokenAdvice is the advice if a token can't be had here.
const tokenAdvice = "get a token in another way, and give it with --bearer-env"

// Discover finds out where the tokens of the server at u come from. Client and error are those of
// Describe.
func Discover(ctx context.Context, client *http.Client, u *url.URL) (*Server, error) {
	resource, err := Describe(ctx, client, u)
	if err != nil {
		return nil, err
	}
	if len(resource.Servers) == 0 {
		return nil, &Error{"the server's metadata document names no authorization server", tokenAdvice}
	}
	s := &Server{Resource: *resource, Issuer: resource.Servers[0], client: client}
	return s, s.readIssuer(ctx, &reader{client, u})
}

// readIssuer reads the metadata of the authorization server.
func (s *Server) readIssuer(ctx context.Context, r *reader) error {
	issuer, err := url.Parse(s.Issuer)
	if err != nil || issuer.Host == "" {
		return &Error{fmt.Sprintf("the server names the authorization server %q, which is no URL", s.Issuer), "let authorization_servers name issuer URLs"}
	}
	var metadata struct {
		Issuer   string   `json:"issuer"`
		TokenURL string   `json:"token_endpoint"`
		Methods  []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := r.first(ctx, oauth.ServerMetadataURLs(issuer), &metadata); err != nil {
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

// A reader reads documents that the server at a URL names.
type reader struct {
	client *http.Client
	server *url.URL
}

// challenge returns the Bearer challenge of the server, if it sends one.
func (r *reader) challenge(ctx context.Context) oauth.Challenge {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.server.String(), strings.NewReader("{}"))
	if err != nil {
		return oauth.Challenge{}
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	response, err := r.client.Do(q)
	if err != nil {
		return oauth.Challenge{}
	}
	_ = response.Body.Close()
	all, _ := oauth.ParseChallenges(response.Header.Values("WWW-Authenticate"))
	c, _ := oauth.Bearer(all)
	return c
}

// first reads the first JSON document at the places.
func (r *reader) first(ctx context.Context, places []*url.URL, into any) error {
	var problems []string
	for _, u := range places {
		err := r.read(ctx, u, into)
		if err == nil {
			return nil
		}
		problems = append(problems, u.Redacted()+": "+err.Error())
	}
	return errors.New(strings.Join(problems, "; "))
}

func (r *reader) read(ctx context.Context, u *url.URL, into any) error {
	if !oauth.MayFetch(r.server, u) {
		return errors.New("it is in another network, or no URL for http")
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	q.Header.Set("Accept", "application/json")
	response, err := r.client.Do(q)
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
		EndpointParams: url.Values{"resource": {s.ID}},
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
