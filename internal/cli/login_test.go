package cli

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/login"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// A shell invokes commands that share a folder for logins, and searches their output for tokens.
type shell struct {
	t       *testing.T
	folder  string
	browse  func(url string)
	environ []string
}

// run invokes a command, and checks its exit code and that its output has the text.
func (s *shell) run(code int, want string, args ...string) string {
	s.t.Helper()
	var out, errs bytes.Buffer
	got := invoke(args, World{
		In: strings.NewReader(""), Out: &out, Err: &errs, Browse: s.browse,
		Environ: append(s.environ, "PATH="+os.Getenv("PATH"), loginFolder+"="+s.folder),
	})
	text := out.String() + errs.String()
	if got != code || !strings.Contains(text, want) {
		s.t.Errorf("mcp-conform %s: exit code %d, not %d, or no %q:\n%s", strings.Join(args, " "), got, code, want, text)
	}
	for _, l := range s.logins() {
		for _, secret := range []string{l.Token.AccessToken, l.Token.RefreshToken, "eyJ"} {
			if strings.Contains(text, secret) {
				s.t.Errorf("mcp-conform %s prints a token:\n%s", strings.Join(args, " "), text)
			}
		}
	}
	return text
}

func (s *shell) logins() []*login.Login {
	all, _, err := login.Store{Folder: s.folder}.All()
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// TestLogin logs in as two users, uses their logins, and logs out again. The command that uses a
// login is doctor, because Ginkgo can run only one suite per process.
func TestLogin(t *testing.T) {
	trusted, err := issuer.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer trusted.Close()
	server, err := refserver.Listen(t.Context(), "127.0.0.1:0", spec.StreamableHTTP, refserver.Options{AuthServer: trusted.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	at := server.URL.String()
	s := &shell{t: t, folder: filepath.Join(t.TempDir(), "logins"), browse: func(url string) {
		go func() {
			if r, err := http.Get(url); err == nil { //nolint:noctx // a browser
				_ = r.Body.Close()
			}
		}()
	}}

	s.run(0, "There are no logins", "whoami")
	s.run(3, "there is no login for "+at, "whoami", at)
	s.run(3, "401", "doctor", "--no-config", at)
	s.run(2, `there is no login and no identity "bob"`, "doctor", "--no-config", "--as", "bob", at)
	s.run(0, "Logged in to "+at+". The token is valid until", "login", at)
	s.run(0, "Logged in to "+at+" as bob", "login", "--as", "bob", at)
	s.run(0, at+" as bob, by "+trusted.URL, "whoami")
	if text := s.run(0, "its user (sub) is ", "whoami", "--as", "bob"); strings.Count(text, ", by ") != 1 {
		t.Errorf("whoami --as bob lists\n%s", text)
	}
	s.run(3, "there is no login as eve", "whoami", "--as", "eve")
	s.checkBrokenLogins(at)
	if text := s.run(0, "The login is used", "doctor", "--no-config", at); !strings.Contains(text, "mcp-conform-reference-server") {
		t.Errorf("doctor with a login:\n%s", text)
	}
	s.run(0, "The login as bob is used", "doctor", "--no-config", "--as", "bob", "--other-user", "", at)
	s.run(3, "401", "doctor", "--no-config", "--as", "none", at)

	old := s.logins()[0]
	token := old.Token.AccessToken
	old.Token.Expiry = time.Now().Add(-time.Hour)
	if err := (login.Store{Folder: s.folder}).Save(old); err != nil {
		t.Fatal(err)
	}
	s.run(0, "The login is used", "doctor", "--no-config", at)
	if renewed := s.logins()[0].Token; renewed.AccessToken == token || !renewed.Valid() {
		t.Error("the login was not renewed")
	}
	old.Token.RefreshToken = "of no use"
	if err := (login.Store{Folder: s.folder}).Save(old); err != nil {
		t.Fatal(err)
	}
	s.run(3, "log in again: mcp-conform login "+at, "doctor", "--no-config", at)

	old.Token.AccessToken, old.Token.Expiry = "revoked", time.Now().Add(time.Hour)
	if err := (login.Store{Folder: s.folder}).Save(old); err != nil {
		t.Fatal(err)
	}
	s.run(3, "did not accept the token of the login; log in again: mcp-conform login "+at, "doctor", "--no-config", at)

	s.run(3, "there is no login", "logout", "--as", "eve", at)
	s.run(2, "both --all and --as are given", "logout", "--all", "--as", "bob")
	s.run(0, "The authorization server has revoked its tokens", "logout", at)
	s.run(0, "as bob", "logout", "--all")
	s.run(0, "There are no logins", "whoami")
}

// checkBrokenLogins checks that a file which is not a login is named, that the other login is
// listed nevertheless, that the file can be deleted, and that the mode of a restored file is
// corrected.
func (s *shell) checkBrokenLogins(at string) {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.folder, "*.json"))
	if err != nil || len(paths) != 2 {
		s.t.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		name := "bob"
		if !strings.Contains(string(text), `"name": "bob"`) {
			name = ""
		}
		if err := os.WriteFile(path, []byte("garbage"), 0o600); err != nil {
			s.t.Fatal(err)
		}
		s.run(0, ", by ", "whoami")
		s.run(0, "is not a login; mcp-conform logout --all", "whoami")
		s.run(2, "is not a login", "whoami", "--as", name, at)
		s.run(2, "log in again: mcp-conform login "+at, "doctor", "--no-config", "--as", name, at)
		s.run(0, "which is not a login", "logout", "--as", name, at)
		if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // so that its mode is corrected
			s.t.Fatal(err)
		}
		s.run(0, ", by ", "whoami")
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			s.t.Errorf("%v, %v", info.Mode(), err)
		}
	}
}

func TestLoginUsage(t *testing.T) {
	s := &shell{t: t, folder: t.TempDir()}
	s.run(2, "takes one URL", "login")
	s.run(2, `"./server" is not a URL`, "login", "./server")
	s.run(2, "must be an http URL of this machine", "login", "--redirect", "http://example.com:80/", "http://127.0.0.1:1/mcp")
	s.run(2, "means no login", "login", "--as", "none", "http://127.0.0.1:1/mcp")
	s.run(2, "both --all and a URL", "logout", "--all", "http://127.0.0.1:1/mcp")
	s.run(2, "for a server that is reached by its URL", "doctor", "--no-config", "--as", "bob", "./server")
	s.run(2, "the token of one user", "doctor", "--no-config", "--as", "bob", "--client-id", "c", "--client-secret-env", "S", "http://127.0.0.1:1/mcp")
	s.run(2, `are both "bob"`, "doctor", "--no-config", "--as", "bob", "--other-user", "bob", "http://127.0.0.1:1/mcp")
	s.run(2, "--client-secret-env takes the name of an environment variable", "login", "--client-id", "x", "--client-secret-env", "s3cr3t-Of-x", "http://127.0.0.1:1/mcp")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.folder = file
	s.run(2, "which is not a folder", "whoami")
	s.run(2, "which is not a folder", "doctor", "--no-config", "--transport", "http", "--as", "bob", "http://127.0.0.1:1/mcp")
	s.folder = t.TempDir()
	s.environ = []string{"CI=true"}
	s.run(2, "needs a browser, but this is CI", "login", "http://127.0.0.1:1/mcp")
}
