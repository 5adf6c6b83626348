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

	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A Server is a protected server with its authorization server.
type Server struct {
	Resource
	// Issuer is the issuer URL of its first authorization server.
	Issuer string
	// The endpoints of the authorization server; "" for one that it does not have.
	AuthorizationURL, TokenURL, RegistrationURL, RevocationURL string
	// HTTP sends all requests. It follows no redirects.
	HTTP *http.Client

	// The fields below describe the authorization server.
	methods     []string // by which a client authenticates at the token endpoint
	challenges  []string // the PKCE methods
	offline     bool     // it has the scope offline_access
	documents   bool     // it reads client id metadata documents
	identifies  bool     // it sends iss in authorization responses
	undescribed bool     // it has no metadata document (2025-03-26)
}

// A Resource describes a protected server, as its challenge and its metadata document do.
type Resource struct {
	URL     *url.URL // its endpoint
	ID      string   // its resource identifier; its URL if the document has none
	Scopes  []string // those of the challenge or, if it names none, those of the document
	Servers []string // its authorization servers, by their issuer URLs
}

// Describe reads the challenge and the metadata document of the server at u. The client must follow
// no redirects and send no credentials. The error is an *Error, or the context's.
func Describe(ctx context.Context, client *http.Client, u *url.URL) (*Resource, error) {
	resource, _, err := (&reader{client, u}).describe(ctx)
	return resource, err
}

// describe is like Describe, but also returns the status of a request without a token, 0 if there
// was no response.
func (r *reader) describe(ctx context.Context) (about *Resource, status int, err error) {
	u := r.server
	status, challenge, err := r.requestChallenge(ctx, "")
	if err != nil {
		return nil, 0, newError(ctx, fmt.Sprintf("the server can't be reached: %v", err), "check the URL, and that the server runs")
	}
	places := oauth.ResourceMetadataURLs(u)
	if named, err := url.Parse(challenge.Param("resource_metadata")); err == nil && named.Host != "" {
		places = append([]*url.URL{named}, places...)
	}
	var document struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
	}
	switch absent, err := r.readFirst(ctx, places, &document); {
	case err == nil:
	case absent && ctx.Err() == nil:
		return nil, status, errUndescribed
	default:
		return nil, status, newError(ctx, fmt.Sprintf("the server's metadata document can't be read: %v", err), "serve it as a JSON document, without a redirect")
	}
	out := &Resource{URL: u, ID: document.Resource, Scopes: strings.Fields(challenge.Param("scope")), Servers: document.Servers}
	if out.ID == "" {
		out.ID = u.String()
	}
	if len(out.Scopes) == 0 {
		out.Scopes = document.Scopes
	}
	return out, status, nil
}

// tokenAdvice is the advice if mcp-conform can't get a token.
const tokenAdvice = "get a token in another way, and pass it with --bearer-env"

// errUndescribed is the error for a server without a metadata document.
var errUndescribed = &Error{"the server has no metadata document that says where its tokens come from", tokenAdvice}

// Discover finds the authorization server of the MCP server at u. If the MCP server has an endpoint
// at u but no metadata document, Discover looks for an authorization server on the same host, as
// revision 2025-03-26 says. For client and error, see Describe.
func Discover(ctx context.Context, client *http.Client, u *url.URL) (*Server, error) {
	r := &reader{client, u}
	resource, status, err := r.describe(ctx)
	if errors.Is(err, errUndescribed) {
		s := &Server{Resource: Resource{URL: u, ID: u.String()}, HTTP: client}
		asks := status == http.StatusUnauthorized || status == http.StatusForbidden
		if (asks || !slices.Contains(absentStatuses, status)) && s.discoverAtHostRoot(ctx, r, asks) {
			return s, nil
		}
		if !asks && ctx.Err() == nil {
			return nil, &Error{
				fmt.Sprintf("%s; nor does it require one: a request without a token got status %d", errUndescribed.Reason, status),
				"check the URL, " + u.Redacted() + "; a server that needs no token needs no login",
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if !coversURL(resource.ID, u) {
		return nil, &Error{
			fmt.Sprintf("the server's metadata document is that of %q", resource.ID),
			"a client must refuse that (RFC 9728, section 3.3): set resource to " + u.Redacted(),
		}
	}
	if len(resource.Servers) == 0 {
		return nil, &Error{"the server's metadata document names no authorization server", tokenAdvice}
	}
	s := &Server{Resource: *resource, Issuer: resource.Servers[0], HTTP: client}
	issuer, err := url.Parse(s.Issuer)
	if err != nil || issuer.Host == "" {
		return nil, &Error{fmt.Sprintf("the server names the authorization server %q, which is not a URL", s.Issuer), "list issuer URLs in authorization_servers"}
	}
	if err := s.readMetadata(ctx, r, oauth.ServerMetadataURLs(issuer)); err != nil {
		return nil, err
	}
	return s, nil
}

// coversURL reports whether the URL resource has the scheme and the host of u, and a path that
// equals the path of u or is a parent of it.
func coversURL(resource string, u *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || !strings.EqualFold(r.Scheme, u.Scheme) || !strings.EqualFold(r.Host, u.Host) {
		return false
	}
	base, path := strings.TrimSuffix(r.Path, "/"), strings.TrimSuffix(u.Path, "/")
	return path == base || strings.HasPrefix(path, base+"/")
}

// metadata is the metadata document of an authorization server (RFC 8414, section 2).
type metadata struct {
	Issuer           string   `json:"issuer"`
	AuthorizationURL string   `json:"authorization_endpoint"`
	TokenURL         string   `json:"token_endpoint"`
	RegistrationURL  string   `json:"registration_endpoint"`
	RevocationURL    string   `json:"revocation_endpoint"`
	Methods          []string `json:"token_endpoint_auth_methods_supported"`
	Challenges       []string `json:"code_challenge_methods_supported"`
	Scopes           []string `json:"scopes_supported"`
	Documents        bool     `json:"client_id_metadata_document_supported"`
	Identifies       bool     `json:"authorization_response_iss_parameter_supported"`
}

// readMetadata reads the metadata of the authorization server from the first of the URLs that has
// a JSON document. It returns an error if the document is that of another issuer.
func (s *Server) readMetadata(ctx context.Context, r *reader, places []*url.URL) error {
	var m metadata
	if _, err := r.readFirst(ctx, places, &m); err != nil {
		return newError(ctx, fmt.Sprintf("the authorization server %s has no metadata document: %v", s.Issuer, err), "check that it runs, and can be reached from here")
	}
	if strings.TrimSuffix(m.Issuer, "/") != strings.TrimSuffix(s.Issuer, "/") {
		return &Error{fmt.Sprintf("the metadata of the authorization server %s is that of %s", s.Issuer, m.Issuer), "a client must refuse that (RFC 8414, section 3.3): use the same issuer in both"}
	}
	return s.useMetadata(&m)
}

// useMetadata copies the values of a metadata document. It returns an error if there is no token
// endpoint, or if an endpoint is not secure (see oauth.IsSecure), because secrets are sent to them.
func (s *Server) useMetadata(m *metadata) error {
	for _, endpoint := range []struct{ name, url string }{
		{"token", m.TokenURL}, {"authorization", m.AuthorizationURL}, {"registration", m.RegistrationURL}, {"revocation", m.RevocationURL},
	} {
		u, err := url.Parse(endpoint.url)
		if endpoint.url == "" && endpoint.name != "token" {
			continue
		}
		if err != nil || u.Host == "" || !oauth.IsSecure(u) {
			return &Error{
				fmt.Sprintf("the authorization server has the %s endpoint %q, which is not an https URL", endpoint.name, endpoint.url), "mcp-conform sends no secret there: use an https URL",
			}
		}
	}
	s.Issuer = m.Issuer
	s.AuthorizationURL, s.TokenURL, s.RegistrationURL, s.RevocationURL = m.AuthorizationURL, m.TokenURL, m.RegistrationURL, m.RevocationURL
	s.methods, s.challenges, s.documents, s.identifies = m.Methods, m.Challenges, m.Documents, m.Identifies
	for _, scope := range m.Scopes {
		s.offline = s.offline || scope == offlineAccess
	}
	return nil
}

// offlineAccess is the scope of refresh tokens (OpenID Connect Core, section 11).
const offlineAccess = "offline_access"

// discoverAtHostRoot looks for an authorization server at the root of the MCP server's host, and
// reports whether it found one. A metadata document there is sufficient. Without one, and only if
// asks is true, which means that the MCP server requires a token, discoverAtHostRoot requests the
// default path /authorize, and reports whether that exists (MCP 2025-03-26,
// basic/authorization#fallbacks-for-servers-without-metadata-discovery).
func (s *Server) discoverAtHostRoot(ctx context.Context, r *reader, asks bool) bool {
	root := &url.URL{Scheme: s.URL.Scheme, Host: s.URL.Host}
	s.Issuer = root.String()
	if s.readMetadata(ctx, r, []*url.URL{oauth.RootServerMetadataURL(s.URL)}) == nil {
		return true
	}
	if !asks {
		return false
	}
	m := &metadata{Issuer: s.Issuer, AuthorizationURL: s.Issuer + "/authorize", TokenURL: s.Issuer + "/token", RegistrationURL: s.Issuer + "/register"}
	s.undescribed = true
	return s.useMetadata(m) == nil && r.exists(ctx, root.JoinPath("authorize"))
}

// A reader sends requests to an MCP server, and reads the metadata documents that it refers to.
type reader struct {
	client *http.Client
	server *url.URL
}

// withinAnswerTime returns a context that times out after answerTime; it is for one request. Time
// spent waiting for the server's rate limit does not count.
func withinAnswerTime(ctx context.Context) (context.Context, context.CancelFunc) {
	var clock transcript.Clock
	return clock.WithTimeout(transcript.WithClock(ctx, &clock), answerTime, context.DeadlineExceeded)
}

// requestChallenge sends a request with the token, or with none if it is "", and returns the status
// and the Bearer challenge of the response, if any. The body of the request, an empty object, is
// not a JSON-RPC message and has no effect.
func (r *reader) requestChallenge(ctx context.Context, token string) (status int, c oauth.Challenge, err error) {
	limited, cancel := withinAnswerTime(ctx)
	defer cancel()
	q, err := http.NewRequestWithContext(limited, http.MethodPost, r.server.String(), strings.NewReader("{}"))
	if err != nil {
		return 0, c, err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := r.client.Do(q)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("no response within %s", answerTime)
	}
	if err != nil {
		return 0, c, err
	}
	_ = response.Body.Close()
	all, _ := oauth.ParseChallenges(response.Header.Values("WWW-Authenticate"))
	c, _ = oauth.BearerChallenge(all)
	return response.StatusCode, c, nil
}

// MissingScopes returns the scopes that the server demands, if it refuses the token with the error
// insufficient_scope (MCP, basic/authorization#step-up-authorization-flow), otherwise nil. They may
// include scopes of the token.
func (s *Server) MissingScopes(ctx context.Context, token string) []string {
	status, c, err := (&reader{s.HTTP, s.URL}).requestChallenge(ctx, token)
	if err != nil || status != http.StatusForbidden || c.Param("error") != "insufficient_scope" {
		return nil
	}
	return strings.Fields(c.Param("scope"))
}

// readFirst requests the URLs in places in order, and decodes the first JSON document that it gets
// into the variable into. If it gets none, it returns an error, and absent reports whether all
// responses had one of absentStatuses.
func (r *reader) readFirst(ctx context.Context, places []*url.URL, into any) (absent bool, err error) {
	var problems []string
	absent = true
	for _, u := range places {
		status, err := r.read(ctx, u, into)
		if err == nil {
			return false, nil
		}
		absent = absent && slices.Contains(absentStatuses, status)
		problems = append(problems, u.Redacted()+": "+err.Error())
	}
	return absent, errors.New(strings.Join(problems, "; "))
}

// absentStatuses are the statuses that are taken to mean that there is no document at a URL.
var absentStatuses = []int{http.StatusNotFound, http.StatusGone, http.StatusMethodNotAllowed, http.StatusUnauthorized, http.StatusForbidden}

// read requests u, and decodes the JSON document in the response. It returns the status of the
// response, or 0 if there was none.
func (r *reader) read(ctx context.Context, u *url.URL, into any) (status int, err error) {
	err = r.get(ctx, u, func(response *http.Response) error {
		if status = response.StatusCode; status != http.StatusOK {
			return errors.New(response.Status)
		}
		if err := json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(into); err != nil {
			return fmt.Errorf("no JSON document of at most 1 MiB: %w", err)
		}
		return nil
	})
	return status, err
}

// exists reports whether a request for u gets a response with a status other than 404 and 401.
func (r *reader) exists(ctx context.Context, u *url.URL) (found bool) {
	_ = r.get(ctx, u, func(response *http.Response) error {
		found = response.StatusCode != http.StatusNotFound && response.StatusCode != http.StatusUnauthorized
		return nil
	})
	return found
}

// get requests u, and calls the function use with the response. If oauth.MayFetch forbids the
// request, get sends nothing and returns an error.
func (r *reader) get(ctx context.Context, u *url.URL, use func(*http.Response) error) error {
	if !oauth.MayFetch(r.server, u) {
		return errors.New("it is in another network, or is not an http or https URL")
	}
	limited, cancel := withinAnswerTime(ctx)
	defer cancel()
	err := r.getWithin(limited, u, use)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("no complete response within %s", answerTime)
	}
	return err
}

func (r *reader) getWithin(ctx context.Context, u *url.URL, use func(*http.Response) error) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	q.Header.Set("Accept", "application/json")
	response, err := r.client.Do(q)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err // without the URL, which callers print
	}
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	return use(response)
}
