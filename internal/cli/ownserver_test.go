package cli

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/login"
	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// TestOwnAuthServer checks that a token counts as one for another resource, or without scopes, only
// if its claims show that: an authorization server may ignore the requested resource and scopes.
func TestOwnAuthServer(t *testing.T) {
	const resource = "https://x.example/mcp"
	trusted, err := issuer.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer trusted.Close()
	answer := func(token string) *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token":"` + token + `","token_type":"Bearer"}`))
		}))
	}
	ignores, opaque := answer(trusted.Token(issuer.Valid, resource, "mcp")), answer("opaque")
	api := answer("e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"aud":"api"}`)) + ".c2ln")
	both := answer("e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"aud":["api","`+foreignResource+`"]}`)) + ".c2ln")
	defer api.Close()
	defer both.Close()
	defer ignores.Close()
	defer opaque.Close()
	u, err := url.Parse(resource)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tokens string // the token endpoint
		kind   issuer.Kind
		want   bool
	}{
		"valid":                   {trusted.URL + "/token", issuer.Valid, true},
		"for another resource":    {trusted.URL + "/token", issuer.OtherResource, true},
		"without scope":           {trusted.URL + "/token", issuer.NoScope, true},
		"expired":                 {trusted.URL + "/token", issuer.Expired, false},
		"the resource is ignored": {ignores.URL, issuer.OtherResource, false},
		"the resource is ignored, and the server has a name": {api.URL, issuer.OtherResource, false},
		"the resource is added to the name of the server":    {both.URL, issuer.OtherResource, false},
		"the scope is ignored":                               {ignores.URL, issuer.NoScope, false},
		"opaque, for another resource":                       {opaque.URL, issuer.OtherResource, false},
		"opaque, without scope":                              {opaque.URL, issuer.NoScope, false},
		"no authorization server":                            {"http://127.0.0.1:1/token", issuer.Valid, false},
	} {
		o := &ownAuthServer{t.Context(), &login.Server{Resource: login.Resource{URL: u}, TokenURL: c.tokens, HTTP: http.DefaultClient}, login.Client{ID: "c", Secret: "s"}, redact.New()}
		if got := o.Token(c.kind, resource, "mcp"); (got != "") != c.want {
			t.Errorf("%s: token %q", name, got)
		}
	}
}

// TestForeignToken checks which tokens a user's token for another server takes the place of.
func TestForeignToken(t *testing.T) {
	const resource = "https://example.com/mcp"
	own := issuer.JWT("none", map[string]any{"aud": resource}, nil)
	other := issuer.JWT("none", map[string]any{"aud": "https://other.example/mcp"}, nil)
	for _, c := range []struct {
		name, token string
		kind        issuer.Kind
		want        string
	}{
		{"an opaque token", "opaque", issuer.OtherResource, "opaque"},
		{"a JWT for another server", other, issuer.OtherResource, other},
		{"a JWT for this server", own, issuer.OtherResource, ""},
		{"another kind", other, issuer.Expired, ""},
	} {
		if got := (&foreignToken{token: c.token}).Token(c.kind, resource, ""); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if got := (&foreignToken{token: own, next: &foreignToken{token: other}}).Token(issuer.OtherResource, resource, ""); got != other {
		t.Errorf("the next issuer's token is %q", got)
	}
}
