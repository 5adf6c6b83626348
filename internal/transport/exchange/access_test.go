package exchange

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
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
	if _, err := reach.Access(elsewhere).Client.Get(s.URL); err == nil || !strings.Contains(err.Error(), "is an address of this network") {
		t.Errorf("a server elsewhere led to this machine: %v", err)
	}
}
