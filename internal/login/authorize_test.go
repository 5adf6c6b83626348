package login

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// interactive returns a world in which users can log in.
func interactive() *world {
	w := standing()
	w.lets = true
	w.metadata["authorization_endpoint"], w.metadata["registration_endpoint"] = "ORIGIN/authorize", "ORIGIN/register"
	w.metadata["revocation_endpoint"], w.metadata["code_challenge_methods_supported"] = "ORIGIN/revoke", []string{"S256"}
	w.registration = map[string]any{"client_id": "registered"}
	w.token["refresh_token"] = "again"
	return w
}

// authorize logs in with a browser that follows every redirect.
func (w *world) authorize(t *testing.T, client Client) (*Login, error) {
	t.Helper()
	fetcher, u := w.serve(t)
	s, err := Discover(t.Context(), fetcher, u)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, errors.New("the browser did not come back"))
	defer cancel()
	browse := func(address string) {
		go func() {
			if r, err := http.Get(address); err == nil {
				_ = r.Body.Close()
			}
		}()
	}
	return s.Authorize(ctx, client, Browser{Redirect: &url.URL{Scheme: "http", Host: "127.0.0.1:0", Path: "/callback"}, Open: browse})
}

func TestAuthorize(t *testing.T) {
	const document = "https://client.example/about.json"
	for _, c := range []struct {
		name          string
		change        func(w *world)
		client        Client
		id, scope     string // of the authorization request
		secretInToken bool
	}{
		{"registers a client", func(*world) {}, Client{}, "registered", "a b", false},
		{"uses a client that is registered", func(w *world) { w.registration = nil }, Client{ID: "mine"}, "mine", "a b", false},
		{"uses a client with a secret", func(*world) {}, Client{"mine", secret}, "mine", "a b", true},
		{"uses the secret of the registration", func(w *world) {
			w.registration["client_secret"] = secret
			w.metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
		}, Client{}, "registered", "a b", true},
		{"uses a client id metadata document", func(w *world) { w.metadata["client_id_metadata_document_supported"] = true }, Client{ID: document}, document, "a b", false},
		{"asks for refresh tokens", func(w *world) { w.metadata["scopes_supported"] = []string{"a", "offline_access"} }, Client{}, "registered", "a b offline_access", false},
		{"leaves the scopes to the authorization server", func(w *world) {
			delete(w.resource, "scopes_supported")
			w.metadata["scopes_supported"] = []string{"a", "offline_access"}
		}, Client{}, "registered", "", false},
		{"registers a client without scopes", func(w *world) { w.scopeless = true }, Client{}, "registered", "a b", false},
		{"asks for further scopes", func(w *world) { w.demanded = "admin" }, Client{}, "registered", "a b admin", false},
		{"does without iss", func(w *world) { w.back = map[string]string{"iss": "-"} }, Client{}, "registered", "a b", false},
		{"finds the authorization server at the server's host", func(w *world) { w.resource = nil }, Client{}, "registered", "", false},
		{"uses default endpoints", func(w *world) { w.resource, w.metadata = nil, nil }, Client{}, "registered", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := interactive()
			c.change(w)
			l, err := w.authorize(t, c.client)
			if err != nil {
				t.Fatal(err)
			}
			if l.Token.AccessToken != "granted" || l.Token.RefreshToken != "again" || l.Client.ID != c.id {
				t.Errorf("login %+v", l)
			}
			q := w.authorized
			if q.Get("client_id") != c.id || q.Get("scope") != c.scope || q.Get("code_challenge_method") != "S256" || !strings.HasSuffix(q.Get("resource"), "/mcp") {
				t.Errorf("authorization request %v", q)
			}
			form := w.asked.PostForm
			_, password, _ := w.asked.BasicAuth()
			if form.Get("code_verifier") == "" || form.Get("resource") != q.Get("resource") || form.Get("redirect_uri") != q.Get("redirect_uri") || (password == secret) != c.secretInToken {
				t.Errorf("token request %v", form)
			}
			if c.client.ID == "" && w.registered["application_type"] != "native" {
				t.Errorf("registration %v", w.registered)
			}
		})
	}
}

func TestRefusedAuthorizations(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(w *world)
		client Client
		want   string
	}{
		{"no authorization endpoint", func(w *world) { delete(w.metadata, "authorization_endpoint") }, Client{}, "no authorization endpoint"},
		{"no PKCE", func(w *world) { delete(w.metadata, "code_challenge_methods_supported") }, Client{}, "S256"},
		{"no registration", func(w *world) { delete(w.metadata, "registration_endpoint") }, Client{}, "does not support dynamic client registration"},
		{"a refused registration", func(w *world) { w.registration = nil }, Client{}, "did not register a client: 404"},
		{"refused metadata", func(w *world) {
			w.registration, w.unregistered = nil, map[string]any{"error": "invalid_client_metadata", "error_description": "no redirect_uris"}
		}, Client{}, "did not register a client: 400 Bad Request invalid_client_metadata no redirect_uris"},
		{"a registration without an id", func(w *world) { w.registration = map[string]any{} }, Client{}, "no client_id"},
		{"a document that is never read", func(*world) {}, Client{ID: "https://client.example/about.json"}, "client id metadata documents"},
		{"no consent", func(w *world) {
			w.back = map[string]string{"error": "access_denied", "error_description": "not today", "code": "-"}
		}, Client{}, "refused: access_denied not today"},
		{"another issuer", func(w *world) { w.back = map[string]string{"iss": "https://other.example"} }, Client{}, `has the iss "https://other.example"`},
		{"an error of another issuer", func(w *world) {
			w.back = map[string]string{"iss": "https://other.example", "error": "secret text"}
		}, Client{}, "has the iss"},
		{"no iss, though it is promised", func(w *world) {
			w.metadata["authorization_response_iss_parameter_supported"] = true
			w.back = map[string]string{"iss": "-"}
		}, Client{}, "has no iss"},
		{"no consent, and no iss", func(w *world) {
			w.metadata["authorization_response_iss_parameter_supported"] = true
			w.back = map[string]string{"iss": "-", "code": "-", "error": "access_denied", "error_description": "secret text"}
		}, Client{}, "has the error access_denied"},
		{"no code", func(w *world) { w.back = map[string]string{"code": "-"} }, Client{}, "neither a code nor an error"},
		{"a refused code", func(w *world) { w.status, w.token = http.StatusBadRequest, map[string]any{"error": "invalid_grant"} }, Client{}, "issued no token: invalid_grant"},
		{"a token that needs a proof", func(w *world) { w.token["token_type"] = "DPoP" }, Client{}, `type "DPoP"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := interactive()
			c.change(w)
			_, err := w.authorize(t, c.client)
			var why *Error
			if !errors.As(err, &why) || !strings.Contains(err.Error(), c.want) || why.Advice == "" {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), "secret text") {
				t.Errorf("the error shows what another issuer says: %v", err)
			}
		})
	}
}

// TestForeignState checks that a pasted response with another state is ignored, as is one that
// another page causes, and that the response with the state of the flow still counts.
func TestForeignState(t *testing.T) {
	w := interactive()
	fetcher, u := w.serve(t)
	s, err := Discover(t.Context(), fetcher, u)
	if err != nil {
		t.Fatal(err)
	}
	pasted := make(chan string)
	open := func(address string) {
		go func() {
			at, _ := url.Parse(address)
			pasted <- "not an address: %zz"
			pasted <- at.Query().Get("redirect_uri") + "?code=stolen&state=other"
			pasted <- at.Query().Get("redirect_uri") + "?code=right&state=" + at.Query().Get("state")
			close(pasted)
		}()
	}
	said := ""
	b := Browser{Redirect: &url.URL{Scheme: "http", Host: "127.0.0.1:0", Path: "/"}, Open: open, Pasted: pasted, Say: func(text string) { said += text + "\n" }}
	if _, err := s.Authorize(t.Context(), Client{ID: "mine"}, b); err != nil {
		t.Fatal(err)
	}
	if strings.Count(said, "Not the right address: it must begin with http://127.0.0.1:") != 1 || strings.Count(said, "Ignored a response of another login") != 1 {
		t.Errorf("what was said: %q", said)
	}
	if code := w.asked.PostForm.Get("code"); code != "right" {
		t.Errorf("code %q", code)
	}
}

// TestLoginWithoutCallback checks that a login ends with its context.
func TestLoginWithoutCallback(t *testing.T) {
	w := interactive()
	fetcher, u := w.serve(t)
	s, err := Discover(t.Context(), fetcher, u)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err = s.Authorize(ctx, Client{ID: "mine"}, Browser{
		Redirect: &url.URL{Scheme: "http", Host: "127.0.0.1:0", Path: "/"}, Open: func(string) { cancel(errors.New("closed")) },
	})
	if err == nil || err.Error() != "closed" {
		t.Errorf("%v", err)
	}
}

func TestCheckRedirect(t *testing.T) {
	for text, ok := range map[string]bool{
		"http://127.0.0.1:0/callback": true, "http://localhost:8976/": true, "http://[::1]:1/x": true,
		"https://127.0.0.1:1/": false, "http://example.com:80/": false, "http://127.0.0.1/callback": false, "callback": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckRedirect(u); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
