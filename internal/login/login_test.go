package login

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
)

// A world is a protected server and its authorization server, on one host.
type world struct {
	challenge string         // of the protected server, with ORIGIN for its origin
	resource  map[string]any // its metadata document
	metadata  map[string]any // that of the authorization server
	status    int            // of the answer to a token request
	token     map[string]any

	asked    *http.Request // the last token request
	requests int           // token requests

	lets         bool              // users log in
	registration map[string]any    // the answer to a registration; nil if that is refused
	unregistered map[string]any    // the error of a refused registration
	open         int               // the status of the answer to a request without a token; 0 for 401
	scopeless    bool              // a registration with a scope is refused
	registered   map[string]any    // the last registration
	back         map[string]string // parameters of the authorization response, in addition to code, state and iss; "-" leaves one out
	authorized   url.Values        // the last authorization request
	demanded     string            // the scope without which a token is refused
	revoked      []url.Values      // the revocations
	unrevoked    string            // the token whose revocation is refused; "" for none
}

const secret = "the-secret-of-the-client"

// standing returns a world in which everything is right.
func standing() *world {
	return &world{
		resource: map[string]any{"resource": "ORIGIN/mcp", "authorization_servers": []string{"ORIGIN"}, "scopes_supported": []string{"a", "b"}},
		metadata: map[string]any{"issuer": "ORIGIN", "token_endpoint": "ORIGIN/token"},
		status:   http.StatusOK, token: map[string]any{"access_token": "granted", "token_type": "Bearer", "expires_in": 3600},
	}
}

func (w *world) serve(t *testing.T) (*http.Client, *url.URL) {
	t.Helper()
	var s *httptest.Server
	write := func(out http.ResponseWriter, status int, v any) {
		text, _ := json.Marshal(v) //nolint:errchkjson // maps of strings
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(status)
		_, _ = out.Write([]byte(strings.ReplaceAll(string(text), "ORIGIN", s.URL)))
	}
	s = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/mcp":
			if w.challenge != "" {
				out.Header().Set("WWW-Authenticate", strings.ReplaceAll(w.challenge, "ORIGIN", s.URL))
			}
			switch {
			case r.Header.Get("Authorization") == "":
				out.WriteHeader(cmp.Or(w.open, http.StatusUnauthorized))
			case w.demanded != "" && !strings.Contains(w.asked.PostForm.Get("scope")+w.authorized.Get("scope"), w.demanded):
				out.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+w.demanded+`"`)
				out.WriteHeader(http.StatusForbidden)
			}
		case (r.URL.Path == "/.well-known/oauth-protected-resource/mcp" || r.URL.Path == "/own") && w.resource != nil:
			write(out, http.StatusOK, w.resource)
		case r.URL.Path == "/.well-known/oauth-authorization-server" && w.metadata != nil:
			write(out, http.StatusOK, w.metadata)
		case r.URL.Path == "/text":
			_, _ = out.Write([]byte("hello"))
		case r.URL.Path == "/circle":
			http.Redirect(out, r, "/circle", http.StatusFound)
		case r.URL.Path == "/endless":
			_, _ = out.Write([]byte(`{"resource":"`))
			for range 100 {
				if _, err := out.Write(bytes.Repeat([]byte("a"), 1<<20)); err != nil {
					return
				}
			}
		case r.URL.Path == "/token":
			_ = r.ParseForm()
			w.asked = r
			w.requests++
			write(out, w.status, w.token)
		case r.URL.Path == "/register" && w.unregistered != nil:
			write(out, http.StatusBadRequest, w.unregistered)
		case r.URL.Path == "/register" && w.registration != nil:
			w.registered = nil
			_ = json.NewDecoder(r.Body).Decode(&w.registered)
			if w.scopeless && w.registered["scope"] != nil {
				write(out, http.StatusBadRequest, map[string]any{"error": "invalid_client_metadata"})
				return
			}
			write(out, http.StatusCreated, w.registration)
		case r.URL.Path == "/revoke":
			_ = r.ParseForm()
			w.revoked = append(w.revoked, r.PostForm)
			if w.unrevoked != "" && r.PostForm.Get("token") == w.unrevoked {
				write(out, http.StatusBadRequest, map[string]any{"error": "unsupported_token_type"})
			}
		case r.URL.Path == "/authorize" && w.lets:
			w.authorized = r.URL.Query()
			w.respond(out, r, s.URL)
		default:
			http.NotFound(out, r)
		}
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	// The end of another test's server closes idle connections of the default transport.
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, u
}

// respond sends the browser back.
func (w *world) respond(out http.ResponseWriter, r *http.Request, origin string) {
	back, _ := url.Parse(r.URL.Query().Get("redirect_uri"))
	q := url.Values{"code": {"the-code"}, "state": {r.URL.Query().Get("state")}, "iss": {origin}}
	for name, value := range w.back {
		q.Set(name, value)
		if value == "-" {
			q.Del(name)
		}
	}
	back.RawQuery = q.Encode()
	http.Redirect(out, r, back.String(), http.StatusFound)
}

func (w *world) login(t *testing.T) (token string, err error) {
	t.Helper()
	client, u := w.serve(t)
	s, err := Discover(t.Context(), client, u)
	if err != nil {
		return "", err
	}
	_, granted, err := s.ObtainClientToken(t.Context(), Client{"me", secret})
	if err != nil {
		return "", err
	}
	return granted.AccessToken, nil
}

func TestClientCredentials(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(w *world)
		scope  string
		inBody bool // the secret is in the body
	}{
		{"well-known path", func(*world) {}, "a b", false},
		{"the challenge names document and scope", func(w *world) { w.challenge = `Bearer scope="c", resource_metadata="ORIGIN/own"` }, "c", false},
		{"a server that asks only for some requests", func(w *world) { w.open = http.StatusBadRequest }, "a b", false},
		{"such a server without a document", func(w *world) { w.open, w.resource = http.StatusBadRequest, nil }, "", false},
		{"no scopes", func(w *world) { delete(w.resource, "scopes_supported") }, "", false},
		{"the server demands a further scope", func(w *world) { w.demanded = "admin" }, "a b admin", false},
		{"the secret belongs into the body", func(w *world) {
			w.metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
		}, "a b", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := standing()
			c.change(w)
			token, err := w.login(t)
			if err != nil || token != "granted" {
				t.Fatalf("%q, %v", token, err)
			}
			_, password, basic := w.asked.BasicAuth()
			if basic == c.inBody || (password == secret) == c.inBody || (w.asked.PostForm.Get("client_secret") == secret) != c.inBody {
				t.Errorf("Authorization %t, body %v", basic, w.asked.PostForm)
			}
			if got := w.asked.PostForm; got.Get("grant_type") != "client_credentials" || got.Get("scope") != c.scope || !strings.HasSuffix(got.Get("resource"), "/mcp") {
				t.Errorf("asked for %v", got)
			}
		})
	}
}

func TestRefusedLogins(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(w *world)
		want   string
	}{
		{"no document of the resource", func(w *world) { w.resource, w.metadata = nil, nil }, "no metadata document that says where its tokens come from"},
		{"a wrong path next to an authorization server", func(w *world) { w.resource, w.open = nil, http.StatusNotFound }, "a request without a token got status 404"},
		{"a server that needs no token", func(w *world) { w.resource, w.metadata, w.open, w.lets = nil, nil, http.StatusBadRequest, true }, "a request without a token got status 400"},
		{"the document of another server", func(w *world) { w.resource["resource"] = "https://other.example/mcp" }, `that of "https://other.example/mcp"`},
		{"the document of another path", func(w *world) { w.resource["resource"] = "ORIGIN/other" }, `/other"`},
		{"an authorization endpoint without https", func(w *world) { w.metadata["authorization_endpoint"] = "http://auth.example/a" }, "not an https URL"},
		{"a document that is not JSON", func(w *world) { w.challenge = `Bearer resource_metadata="ORIGIN/text"`; w.resource = nil }, "can't be read"},
		{"a document of many megabytes", func(w *world) { w.challenge = `Bearer resource_metadata="ORIGIN/endless"`; w.resource = nil }, "at most 1 MiB"},
		{"a document behind redirects in a circle", func(w *world) { w.challenge = `Bearer resource_metadata="ORIGIN/circle"`; w.resource = nil }, "302 Found"},
		{"an authorization server at a link-local address", func(w *world) { w.resource["authorization_servers"] = []string{"http://169.254.169.254"} }, "it is in another network"},
		{"no authorization server", func(w *world) { w.resource["authorization_servers"] = []string{} }, "names no authorization server"},
		{"an authorization server that is not a URL", func(w *world) { w.resource["authorization_servers"] = []string{"auth"} }, `"auth", which is not a URL`},
		{"no document of the authorization server", func(w *world) { w.metadata = nil }, "404 Not Found"},
		{"another issuer", func(w *world) { w.metadata["issuer"] = "https://other.example" }, "is that of https://other.example"},
		{"a token endpoint without https", func(w *world) { w.metadata["token_endpoint"] = "http://auth.example/token" }, "not an https URL"},
		{"no token endpoint", func(w *world) { delete(w.metadata, "token_endpoint") }, "not an https URL"},
		{"a refusal", func(w *world) {
			w.status, w.token = http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": "who?"}
		}, "issued no token: invalid_client who?"},
		{"the secret in an answer", func(w *world) {
			w.status, w.token = http.StatusInternalServerError, map[string]any{"a": secret}
		}, "issued no token: 500 Internal Server Error"},
		{"the secret in an error", func(w *world) {
			w.status, w.token = http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_description": "client_secret=" + secret}
		}, "issued no token: invalid_request client_secret=…"},
		{"a token that needs a proof", func(w *world) { w.token["token_type"] = "DPoP" }, `type "DPoP"`},
		{"a long error", func(w *world) {
			w.status, w.token = http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_description": strings.Repeat("a", 1<<19)}
		}, "aaa…"},
		{"an answer without a token", func(w *world) { w.token = map[string]any{} }, "issued no token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := standing()
			c.change(w)
			_, err := w.login(t)
			var why *Error
			if !errors.As(err, &why) || !strings.Contains(err.Error(), c.want) || why.Advice == "" {
				t.Errorf("%v", err)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the secret is in the error: %v", err)
			}
		})
	}
}

// TestEchoedSecret checks that an error shows the secret neither as it is nor as it was sent.
func TestEchoedSecret(t *testing.T) {
	const odd = "a/b +c"
	got := explainTokenError(&oauth2.RetrieveError{ErrorCode: "invalid_request", ErrorDescription: odd + " " + url.QueryEscape(odd)}, Client{"c", odd})
	if got != "invalid_request … …" {
		t.Error(got)
	}
}

// TestSilentTokenEndpoint checks that the error names the silence, not the library's time-out.
func TestSilentTokenEndpoint(t *testing.T) {
	err := fmt.Errorf("oauth2: %w", &url.Error{Op: "Post", URL: "https://example.com/token", Err: os.ErrDeadlineExceeded})
	if got := explainTokenError(err, Client{}); got != "it did not respond in time" {
		t.Error(got)
	}
}
