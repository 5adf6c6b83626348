package exchange

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// TestAccess checks that requests outside of a link carry none of its headers, follow no redirect,
// and do not reach this network because a server elsewhere says so.
func TestAccess(t *testing.T) {
	var seen http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer s.Close()
	here, _ := url.Parse(s.URL)
	reach := Reach{Fields: []transcript.Field{{Name: "Authorization", Value: "Bearer x"}}}
	r, err := reach.Access(here).Client.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusFound || seen.Get("Authorization") != "" {
		t.Errorf("status %d, Authorization %q", r.StatusCode, seen.Get("Authorization"))
	}

	elsewhere, _ := url.Parse("https://192.0.2.1/mcp")
	if _, err := reach.Access(elsewhere).Client.Get(s.URL); err == nil || !strings.Contains(err.Error(), "is an address in the local network") {
		t.Errorf("a server elsewhere led to this machine: %v", err)
	}
}

// TestAccessWithProxies checks that the choice of a proxy for each URL decides whether addresses in
// the private network are refused, not the choice for the server's own URL.
func TestAccessWithProxies(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	here, _ := url.Parse(s.URL)
	elsewhere, _ := url.Parse("http://192.0.2.1/mcp")
	through := func(host string) *Reach {
		return &Reach{Proxy: func(u *url.URL) (*url.URL, error) {
			if u.Hostname() == host {
				return here, nil
			}
			return nil, nil
		}}
	}
	if _, err := through("192.0.2.1").Access(elsewhere).Client.Get(s.URL); err == nil || !strings.Contains(err.Error(), "is an address in the local network") {
		t.Errorf("a server behind a proxy led to this machine: %v", err)
	}
	r, err := through("192.0.2.2").Access(elsewhere).Client.Get("http://192.0.2.2/") // served by the proxy
	if err != nil {
		t.Fatalf("the proxy was not used: %v", err)
	}
	_ = r.Body.Close()
}

// TestFurtherScopes checks that a request whose token lacks a scope is sent again with another
// token, that only remarks are left of the first attempt, and that the refusal stands if that does
// not help, or if the caller has chosen the token.
func TestFurtherScopes(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer wide" {
			w.Header().Add("WWW-Authenticate", `Bearer realm="x", error="insufficient_scope", scope="a b"`)
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer s.Close()
	u, _ := url.Parse(s.URL)
	own := []transcript.Field{{Name: "Authorization", Value: "Bearer own"}}
	for name, c := range map[string]struct {
		fields []transcript.Field
		wider  string // the token after Widen; "" if there is none
		status int
		asked  int
	}{
		"another token":            {nil, "wide", http.StatusOK, 1},
		"no further token":         {nil, "", http.StatusForbidden, 1},
		"a token that is no wider": {nil, "narrow", http.StatusForbidden, maxWidened},
		"a token of the caller":    {own, "wide", http.StatusForbidden, 0},
	} {
		t.Run(name, func(t *testing.T) {
			token, asked := "narrow", 0
			x := &Client{Record: transcript.New(), Reach: Reach{
				Token: func() string { return token },
				ObtainScope: func(scope string) bool {
					if asked++; scope != "a b" {
						t.Errorf("asked for the scopes %q", scope)
					}
					token = c.wider
					return c.wider != ""
				},
			}}
			p := x.Begin(t.Context(), Request{URL: u, Request: transport.Request{Method: "POST", Body: []byte("{}"), Fields: c.fields}})
			<-p.Over()
			x.Wait()
			if p.Head().Status() != c.status || asked != c.asked {
				t.Errorf("status %d, asked %d times", p.Head().Status(), asked)
			}
			if n := len(transcript.ExchangesOf(x.Record.From(0)).All()); n != 1 {
				t.Errorf("%d exchanges", n)
			}
			last := transcript.ExchangesOf(x.Record.From(0)).All()[0]
			if scope, lacks := last.MissingScope(); lacks != (c.status == http.StatusForbidden) || lacks && scope != "a b" || last.Intercepted() != lacks {
				t.Errorf("lacks %t %q", lacks, scope)
			}
		})
	}
}
