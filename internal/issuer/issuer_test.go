package issuer

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func started(t *testing.T) *Issuer {
	t.Helper()
	i, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

func decode(t *testing.T, r *http.Response, err error) (status int, body map[string]any) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, body
}

// TestIntrospection checks which kinds of tokens the issuer itself takes for its own.
func TestIntrospection(t *testing.T) {
	i := started(t)
	got := map[Kind]bool{}
	for _, kind := range []Kind{Valid, Expired, NotYetValid, OtherResource, OtherServers, LongerPath, NoResource, UnknownKey, OtherKey, Unsigned, PublicSecret, OtherIssuer, NoScope, OtherUser} {
		r, err := http.PostForm(i.URL+"/introspect", url.Values{"token": {i.Token(kind, "https://x.example/mcp", "mcp")}}) //nolint:noctx // a test
		_, body := decode(t, r, err)
		got[kind] = body["active"] == true
		if kind == Valid && (body["aud"] != "https://x.example/mcp" || body["scope"] != "mcp") {
			t.Errorf("claims %v", body)
		}
	}
	want := map[Kind]bool{
		Valid: true, OtherResource: true, OtherServers: true, LongerPath: true, NoResource: true, NoScope: true, OtherUser: true, // introspection does not check audience, scope or user
		Expired: false, NotYetValid: false, UnknownKey: false, OtherKey: false, Unsigned: false, PublicSecret: false, OtherIssuer: false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("active (-want +got):\n%s", diff)
	}
}

// TestCodes checks the flow with a code, and that a code is of no use twice or without its
// verifier.
func TestCodes(t *testing.T) {
	i := started(t)
	browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	// The verifier and its challenge are those of RFC 7636, appendix B.
	const verifier, challenge = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	code := func() string {
		q := url.Values{
			"response_type": {"code"}, "client_id": {"c"}, "redirect_uri": {"http://127.0.0.1:1/back?x=y"}, "state": {"s"},
			"code_challenge": {challenge}, "code_challenge_method": {"S256"}, "resource": {"https://x.example/mcp"}, "scope": {"a b"},
		}
		r, err := browser.Get(i.URL + "/authorize?" + q.Encode())
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		back, err := url.Parse(r.Header.Get("Location"))
		if err != nil || back.Query().Get("state") != "s" || back.Query().Get("iss") != i.URL || back.Query().Get("x") != "y" {
			t.Fatalf("redirected to %s", r.Header.Get("Location"))
		}
		return back.Query().Get("code")
	}
	exchange := func(code, verifier string) (int, map[string]any) {
		r, err := http.PostForm(i.URL+"/token", url.Values{"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}}) //nolint:noctx // a test
		return decode(t, r, err)
	}
	one := code()
	status, body := exchange(one, verifier)
	if status != http.StatusOK || strings.Count(body["access_token"].(string), ".") != 2 {
		t.Errorf("status %d, %v", status, body)
	}
	renew := func(token any) (int, map[string]any) {
		r, err := http.PostForm(i.URL+"/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.(string)}}) //nolint:noctx // a test
		return decode(t, r, err)
	}
	status, second := renew(body["refresh_token"])
	if status != http.StatusOK || second["access_token"] == body["access_token"] || second["refresh_token"] == body["refresh_token"] {
		t.Errorf("renewed: %d, %v", status, second)
	}
	if status, _ := renew(body["refresh_token"]); status != http.StatusBadRequest {
		t.Errorf("a refresh token was accepted twice: %d", status)
	}
	for _, token := range []any{second["refresh_token"], second["access_token"]} {
		r, err := http.PostForm(i.URL+"/revoke", url.Values{"token": {token.(string)}}) //nolint:noctx // a test
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatal(r, err)
		}
		_ = r.Body.Close()
	}
	if status, _ := renew(second["refresh_token"]); status != http.StatusBadRequest {
		t.Errorf("a revoked refresh token was accepted: %d", status)
	}
	r, err := http.PostForm(i.URL+"/introspect", url.Values{"token": {second["access_token"].(string)}}) //nolint:noctx // a test
	if _, claims := decode(t, r, err); claims["active"] != false {
		t.Errorf("a revoked token is active: %v", claims)
	}
	if status, _ := exchange(one, verifier); status != http.StatusBadRequest {
		t.Errorf("a code was accepted twice: %d", status)
	}
	if status, _ := exchange(code(), "another"); status != http.StatusBadRequest {
		t.Errorf("a code was accepted without its verifier: %d", status)
	}
}

func TestRefusals(t *testing.T) {
	i := started(t)
	for _, c := range []struct{ path, body string }{
		{"/token", "grant_type=password"}, {"/token", "%"}, {"/register", "no JSON"},
	} {
		r, err := http.Post(i.URL+c.path, "application/x-www-form-urlencoded", strings.NewReader(c.body)) //nolint:noctx // a test
		if status, _ := decode(t, r, err); status != http.StatusBadRequest {
			t.Errorf("%s with %q: %d", c.path, c.body, status)
		}
	}
	r, err := http.Get(i.URL + "/authorize?response_type=token") //nolint:noctx // a test
	if status, _ := decode(t, r, err); status != http.StatusBadRequest {
		t.Errorf("authorize: %d", status)
	}
}
