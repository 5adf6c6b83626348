package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Browser configures how a user logs in with a browser.
type Browser struct {
	// Redirect is the redirect URI, to which the authorization server sends the browser in the
	// end: a URL of this machine. Port 0 means any free port.
	Redirect *url.URL
	// Open opens a URL in the user's browser, or prints it.
	Open func(url string)
	// Pasted delivers redirect addresses that the user copies from a browser on another machine;
	// nil if the user can't paste any.
	Pasted <-chan string
	// Say prints a message when a response or a pasted text is ignored; nil prints nothing.
	Say func(text string)
}

// Authorize lets a user log in with a browser, and returns the login (OAuth 2.1, section 4.1, with
// PKCE). A client without an id is registered first. If the server demands more scopes than the
// token has, the user is asked again, up to maxRounds times in all. The error is an *Error, or the
// context's.
func (s *Server) Authorize(ctx context.Context, client Client, b Browser) (*Login, error) {
	if err := s.checkAuthorization(); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", b.Redirect.Host)
	if err != nil {
		return nil, &Error{fmt.Sprintf("can't listen on %s: %v", b.Redirect.Host, err), "choose another --redirect"}
	}
	redirect := *b.Redirect
	if redirect.Port() == "0" {
		redirect.Host = net.JoinHostPort(redirect.Hostname(), fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
	}
	f := &flow{server: s, redirect: redirect.String(), answers: make(chan url.Values), say: b.Say}
	web := &http.Server{Handler: f.handler(redirect.Path), ReadHeaderTimeout: answerTime}
	served := make(chan struct{})
	go func() { defer close(served); _ = web.Serve(l) }()
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = web.Shutdown(end) // so that the browser gets its page
		_ = web.Close()
		<-served
	}()
	if f.client, err = s.ensureClient(ctx, client, f.redirect); err != nil {
		return nil, err
	}
	for round := 1; ; round++ {
		token, err := f.authorize(ctx, b)
		if err != nil {
			return nil, err
		}
		if round == maxRounds || !s.addMissingScopes(ctx, token) {
			return s.loginWith(f.client, token), nil
		}
	}
}

// checkAuthorization returns an error unless the authorization server has an authorization endpoint
// and its metadata, if it has any, name the PKCE method S256.
func (s *Server) checkAuthorization() error {
	switch {
	case s.AuthorizationURL == "":
		return &Error{fmt.Sprintf("the authorization server %s has no authorization endpoint, so no user can log in", s.Issuer), tokenAdvice}
	case !s.undescribed && !slices.Contains(s.challenges, "S256"):
		return &Error{
			fmt.Sprintf("the metadata of the authorization server %s does not name the PKCE method S256", s.Issuer),
			"a client must refuse to go on: list S256 in code_challenge_methods_supported",
		}
	}
	return nil
}

// scopesToRequest returns the scopes to request: those that the server names, and the one for
// refresh tokens if the authorization server has it. If the server names none, the authorization
// server chooses (MCP, basic/authorization#scope-selection-strategy).
func (s *Server) scopesToRequest() []string {
	if s.offline && len(s.Scopes) > 0 && !slices.Contains(s.Scopes, offlineAccess) {
		return append(slices.Clone(s.Scopes), offlineAccess)
	}
	return s.Scopes
}

// A flow is one login.
type flow struct {
	server   *Server
	client   Client
	redirect string
	answers  chan url.Values // the parameters of authorization responses
	state    atomic.Pointer[string]
	say      func(text string) // may be nil
	strayed  sync.Once         // reports the first response of another login
}

// checkState reports whether an authorization response has the state of the flow. Only the first
// response without it is reported to the user, because a web page may cause any number of such
// responses.
func (f *flow) checkState(q url.Values) bool {
	state := f.state.Load()
	own := state != nil && subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(*state)) == 1
	if !own && f.say != nil {
		f.strayed.Do(func() {
			f.say("Ignored a response of another login, because its state differs. Use the address above.")
		})
	}
	return own
}

// authorize asks the user for one authorization, and exchanges the code for a token.
func (f *flow) authorize(ctx context.Context, b Browser) (*oauth2.Token, error) {
	s := f.server
	c := oauth2.Config{
		ClientID: f.client.ID, ClientSecret: f.client.Secret, RedirectURL: f.redirect, Scopes: s.scopesToRequest(),
		Endpoint: oauth2.Endpoint{AuthURL: s.AuthorizationURL, TokenURL: s.TokenURL, AuthStyle: s.authStyle(f.client)},
	}
	state, verifier, resource := rand.Text(), oauth2.GenerateVerifier(), oauth2.SetAuthURLParam("resource", s.ID)
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier), resource}
	if slices.Contains(c.Scopes, offlineAccess) {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent")) // OpenID Connect Core, section 11
	}
	f.state.Store(&state)
	b.Open(c.AuthCodeURL(state, options...))
	code, err := f.awaitCode(ctx, b.Pasted)
	if err != nil {
		return nil, err
	}
	token, err := checkToken(c.Exchange(context.WithValue(ctx, oauth2.HTTPClient, withTimeout(s.HTTP)), code, oauth2.VerifierOption(verifier), resource))
	if err != nil {
		return nil, s.tokenError(ctx, err, f.client, "log in again; if that fails, read the log of the authorization server")
	}
	return token, nil
}

// awaitCode waits for the authorization response, from the browser or pasted, and returns its code.
// It ignores responses with another state, and pasted texts without a state.
func (f *flow) awaitCode(ctx context.Context, pasted <-chan string) (string, error) {
	for {
		var q url.Values
		select {
		case q = <-f.answers:
		case text, open := <-pasted:
			if !open {
				pasted = nil
				continue
			}
			u, err := url.Parse(strings.TrimSpace(text))
			if err != nil || u.Query().Get("state") == "" {
				if f.say != nil && strings.TrimSpace(text) != "" {
					f.say("Not the right address: it must begin with " + f.redirect + "?")
				}
				continue
			}
			q = u.Query()
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		if f.checkState(q) {
			return f.validatedCode(q)
		}
	}
}

// validatedCode returns the code in the parameters of an authorization response, after the checks
// that the specification demands (MCP, basic/authorization#authorization-response-validation).
func (f *flow) validatedCode(q url.Values) (string, error) {
	s := f.server
	iss := q.Get("iss")
	switch {
	case iss == "" && s.identifies:
		also := ""
		if e := q.Get("error"); slices.Contains(authorizationErrors, e) {
			also = "; it has the error " + e
		}
		return "", &Error{"the authorization response has no iss, although the metadata of the authorization server announces it" + also, "a client must refuse that (RFC 9207, section 2.4)"}
	case iss != "" && iss != s.Issuer:
		return "", &Error{fmt.Sprintf("the authorization response has the iss %q, but the user was sent to %s", iss, s.Issuer), "a client must refuse that (RFC 9207, section 2.4): send the issuer of the metadata as iss"}
	case q.Get("error") != "":
		return "", &Error{fmt.Sprintf("the authorization server refused: %s", wire.Excerpt(strings.TrimSpace(q.Get("error")+" "+q.Get("error_description")), maxText)), "log in again, and consent"}
	case q.Get("code") == "":
		return "", &Error{"the authorization response has neither a code nor an error", "read the log of the authorization server"}
	}
	return q.Get("code"), nil
}

// authorizationErrors are the error codes of an authorization endpoint (OAuth 2.1, section
// 4.1.2.1).
var authorizationErrors = []string{
	"access_denied", "invalid_request", "invalid_scope", "server_error", "temporarily_unavailable", "unauthorized_client", "unsupported_response_type",
}

// CheckRedirect returns an error unless u is an http URL of this machine with a port, as the
// redirect URI of this program must be.
func CheckRedirect(u *url.URL) error {
	if u.Scheme != "http" || !oauth.IsLoopback(u) || u.Port() == "" {
		return errors.New("it must be an http URL of this machine with a port, such as http://127.0.0.1:8976/callback")
	}
	return nil
}
