package login

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"
	"pgregory.net/rapid"
)

// expired returns a login that was saved and whose token has expired.
func expired(t *testing.T, w *world) (*Login, Store, *http.Client) {
	t.Helper()
	l, err := w.authorize(t, Client{ID: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	l.Token.Expiry = time.Now().Add(-time.Minute)
	s := Store{filepath.Join(t.TempDir(), "logins")}
	if err := s.Save(l); err != nil {
		t.Fatal(err)
	}
	return l, s, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func TestRenewal(t *testing.T) {
	w := interactive()
	l, s, client := expired(t, w)
	w.token = map[string]any{"access_token": "second", "token_type": "Bearer", "expires_in": 3600}
	source := l.Source(t.Context(), client, s)
	for range 2 {
		token, err := source.Token()
		if err != nil || token.AccessToken != "second" {
			t.Fatalf("%v, %v", token, err)
		}
	}
	if form := w.asked.PostForm; form.Get("grant_type") != "refresh_token" || form.Get("refresh_token") != "again" || form.Get("client_id") != "mine" || form.Get("resource") != l.Resource {
		t.Errorf("asked for %v", form)
	}
	kept, err := s.Get(l.Server, "")
	if err != nil || kept.Token.AccessToken != "second" || kept.Token.RefreshToken != "again" {
		t.Errorf("kept %+v, %v", kept.Token, err)
	}
}

// TestRenewedElsewhere checks that a process takes over the token that another one has renewed,
// because a refresh token may be usable only once.
func TestRenewedElsewhere(t *testing.T) {
	w := interactive()
	l, s, client := expired(t, w)
	w.asked = nil
	other := *l
	other.Token = &oauth2.Token{AccessToken: "from elsewhere", Expiry: time.Now().Add(time.Hour)}
	if err := s.Save(&other); err != nil {
		t.Fatal(err)
	}
	token, err := l.Source(t.Context(), client, s).Token()
	if err != nil || token.AccessToken != "from elsewhere" || w.asked != nil {
		t.Errorf("%v, %v, asked %v", token, err, w.asked)
	}
}

// TestRenewalAtOnce checks that several sources of a login use its refresh token once.
func TestRenewalAtOnce(t *testing.T) {
	w := interactive()
	l, s, client := expired(t, w)
	w.token = map[string]any{"access_token": "second", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "another"}
	w.requests = 0
	var group sync.WaitGroup
	for range 8 {
		source := l.Source(t.Context(), client, s)
		group.Go(func() {
			if token, err := source.Token(); err != nil || token.AccessToken != "second" {
				t.Errorf("%v, %v", token, err)
			}
		})
	}
	group.Wait()
	if w.requests != 1 {
		t.Errorf("%d requests", w.requests)
	}
}

func TestRefusedRenewals(t *testing.T) {
	for name, change := range map[string]func(w *world, l *Login){
		"the authorization server does not renew it": func(w *world, _ *Login) {
			w.status, w.token = http.StatusBadRequest, map[string]any{"error": "invalid_grant"}
		},
		"issued no refresh token": func(_ *world, l *Login) { l.Token.RefreshToken = "" },
	} {
		t.Run(name, func(t *testing.T) {
			w := interactive()
			l, s, client := expired(t, w)
			change(w, l)
			if err := s.Save(l); err != nil {
				t.Fatal(err)
			}
			_, err := l.Source(t.Context(), client, s).Token()
			var why *Error
			if !errors.As(err, &why) || !strings.Contains(why.Advice, "mcp-conform login "+l.Server) || strings.Contains(err.Error(), "again") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestRevoke(t *testing.T) {
	w := interactive()
	l, _, client := expired(t, w)
	check := func(name string, wantAccess, wantRefresh bool) {
		t.Helper()
		if access, refresh := l.Revoke(t.Context(), client); access != wantAccess || refresh != wantRefresh {
			t.Errorf("%s: revoked the access token %t, the refresh token %t", name, access, refresh)
		}
	}
	check("both", true, true)
	if len(w.revoked) != 2 || w.revoked[0].Get("token") != "granted" || w.revoked[1].Get("token") != "again" || w.revoked[1].Get("client_id") != "mine" {
		t.Errorf("revoked %v", w.revoked)
	}
	w.unrevoked = "granted"
	check("an access token that can't be revoked", false, true)
	w.unrevoked = "again"
	check("a refresh token that can't be revoked", true, false)
	l.RevocationURL = ""
	check("no endpoint", false, false)
	l.Token.RefreshToken = ""
	check("no endpoint and no refresh token", false, true)
}

func TestStore(t *testing.T) {
	w := interactive()
	l, s, _ := expired(t, w)
	info, err := os.Stat(s.path(l.Server, ""))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(s.Folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the folder %v, %v", info.Mode(), err)
	}
	bob := *l
	bob.Name = "bob"
	if err := s.Save(&bob); err != nil {
		t.Fatal(err)
	}
	all, _, err := s.All()
	if err != nil || len(all) != 2 || all[0].Name != "" || all[1].Name != "bob" {
		t.Fatalf("%v, %v", all, err)
	}
	if diff := cmp.Diff(l.Scopes, all[0].Scopes); diff != "" || all[0].Token.RefreshToken != "again" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
	if err := s.Delete(l); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(l.Server, ""); got != nil || err != nil {
		t.Errorf("after the deletion: %v, %v", got, err)
	}
	if err := os.WriteFile(s.path(l.Server, ""), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, broken, err := s.All()
	if err != nil || len(all) != 1 || len(broken) != 1 || broken[0] != s.path(l.Server, "") {
		t.Errorf("with a damaged file: %v, %q, %v", all, broken, err)
	}
	if _, err := s.Get(l.Server, ""); !errors.As(err, new(*BrokenError)) {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestPaths checks that logins share no file, and that no file is outside of the folder.
func TestPaths(t *testing.T) {
	s := Store{"/logins"}
	rapid.Check(t, func(t *rapid.T) {
		a, b := [2]string{rapid.String().Draw(t, "server"), rapid.String().Draw(t, "name")}, [2]string{rapid.String().Draw(t, "server"), rapid.String().Draw(t, "name")}
		p := s.path(a[0], a[1])
		if a != b && p == s.path(b[0], b[1]) || filepath.Dir(p) != "/logins" {
			t.Fatalf("%q", p)
		}
	})
}
