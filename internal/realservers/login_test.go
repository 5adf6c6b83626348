package realservers

import (
	"bufio"
	"bytes"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/cli"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/login"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
)

// TestLogins logs in as two users at authorization servers of other projects, judges a protected
// server with these logins, and logs out again.
func TestLogins(t *testing.T) {
	const example = "./node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js"
	for _, c := range []struct {
		name, host string
		argv       []string
		// Whether the authorization server asks the user, renews tokens, and revokes access tokens.
		asks, renews, revokes bool
	}{
		{"typescript-sdk-1.32-oauth-user", "localhost", []string{"node", example, "--oauth"}, false, false, false},
		{"typescript-sdk-1.32-oauth-strict-user", "localhost", []string{"node", example, "--oauth", "--oauth-strict"}, false, false, false},
		{"oidc-provider-user", "127.0.0.1", []string{"node", "./protected.mjs", "oidc", "opaque"}, true, true, true},
		// JWTs stay valid until they expire.
		{"oidc-provider-jwt-user", "127.0.0.1", []string{"node", "./protected.mjs", "oidc", "jwt"}, true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := serveWithUsers(t, c.name, c.host, c.argv)
			s := &shell{t: t, folder: filepath.Join(t.TempDir(), "logins")}
			if c.asks {
				s.browse = (&person{name: "eve", refuses: true}).browse
				s.run(3, "the authorization server refused: access_denied", "login", at)
			}
			for _, name := range []string{"alice", "bob"} {
				s.browse = (&person{name: name}).browse
				s.run(0, "Logged in to "+at+" as "+name, "login", "--as", name, at)
			}
			s.run(0, at+" as bob, by http://"+c.host, "whoami")
			s.run(3, "401", "doctor", "--no-config", "--as", "none", at)
			s.run(0, "The login as alice is used", "doctor", "--no-config", "--as", "alice", at)

			second := ""
			if c.asks { // without a question, both are the same user of the example
				second = "bob"
			}
			judgeAs(t, c.name, at, s, "alice", second)

			for range 2 { // the second time with the refresh token of the first
				s.expire("alice")
				if !c.renews {
					s.run(3, "log in again: mcp-conform login "+at+" --as alice", "doctor", "--no-config", "--as", "alice", at)
					continue
				}
				old := s.login("alice").Token
				s.run(0, "The login as alice is used", "doctor", "--no-config", "--as", "alice", at)
				if renewed := s.login("alice").Token; renewed.AccessToken == old.AccessToken || !renewed.Valid() {
					t.Error("the login was not renewed")
				}
			}
			if !c.renews {
				s.run(0, "The token stays valid until it expires", "logout", "--as", "bob", at)
				return
			}
			bob := s.login("bob")
			ended := "The authorization server has revoked its tokens"
			if !c.revokes {
				ended = "has revoked the refresh token, but not the access token"
			}
			s.run(0, ended, "logout", "--as", "bob", at)
			if err := (login.Store{Folder: s.folder}).Save(bob); err != nil {
				t.Fatal(err)
			}
			if c.revokes {
				s.run(3, "401", "doctor", "--no-config", "--as", "bob", at)
			}
			s.expire("bob")
			s.run(3, "does not renew it: invalid_grant", "doctor", "--no-config", "--as", "bob", at)
		})
	}
}

// TestRegisteredClients uses clients that oidc-provider knows already.
func TestRegisteredClients(t *testing.T) {
	t.Parallel()
	at := serveWithUsers(t, "oidc-provider", "127.0.0.1", []string{"node", "./protected.mjs", "oidc", "opaque"})
	secret := "SECRET=" + `a+b c:d%e/f=&"` // as in oidc.mjs
	s := &shell{t: t, folder: filepath.Join(t.TempDir(), "logins"), browse: (&person{name: "alice"}).browse, environ: []string{secret, "WRONG=wrong"}}
	s.run(3, "issued no token: invalid_client", "doctor", "--no-config", "--client-id", "machine", "--client-secret-env", "WRONG", at)
	s.run(0, "mcp-conform-protected", "doctor", "--no-config", "--client-id", "machine", "--client-secret-env", "SECRET", at)
	for name, flags := range map[string][]string{"public": nil, "confidential": {"--client-secret-env", "SECRET"}} {
		s.run(0, "Logged in", append([]string{"login", "--as", name, "--client-id", name, at}, flags...)...)
		s.expire(name)
		s.run(0, "mcp-conform-protected", "doctor", "--no-config", "--as", name, at)
		s.run(0, "The authorization server has revoked its tokens", "logout", "--as", name, at)
	}
}

// TestGoExampleLogin logs in at oidc-provider for the example auth/server of the go-sdk.
func TestGoExampleLogin(t *testing.T) {
	t.Parallel()
	own, auth := freePort(t), freePort(t)
	start(t, "oidc-provider", "http://127.0.0.1:"+auth, []string{"node", "./protected.mjs", "oidc", "opaque"}, "PORT="+freePort(t), "AUTH_PORT="+auth)
	program := goExample(t, map[string]string{
		"authorizationServer": "http://127.0.0.1:" + auth, "introspectionEndpoint": "http://127.0.0.1:" + auth + "/token/introspection",
		"clientID": "resource-server", "clientSecret": "not-a-secret-of-anybody",
	})
	at := "http://localhost:" + own + "/mcp"
	start(t, "go-sdk-example", at, []string{program, "-port", own})
	s := &shell{t: t, folder: filepath.Join(t.TempDir(), "logins")}
	for _, name := range []string{"alice", "bob"} {
		s.browse = (&person{name: name}).browse
		s.run(0, "Logged in to "+at+" as "+name, "login", "--as", name, at)
	}
	judgeAs(t, "go-sdk-example-user", at, s, "alice", "bob")
	s.run(0, "The authorization server has revoked its tokens", "logout", "--as", "bob", at)
}

// TestForeignToken gives a run a token that the authorization server of the example issued for
// another server. With --oauth-strict, the authorization server issues none.
func TestForeignToken(t *testing.T) {
	const example = "./node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js"
	for name, flags := range map[string][]string{"typescript-sdk-1.32-oauth": {"--oauth"}, "typescript-sdk-1.32-oauth-strict": {"--oauth", "--oauth-strict"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := serveWithUsers(t, name, "localhost", append([]string{"node", example}, flags...))
			u, err := url.Parse(at)
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			server, err := login.Discover(t.Context(), client, u)
			if err != nil {
				t.Fatal(err)
			}
			server.ID = "http://localhost:1/mcp"
			l, err := server.Authorize(t.Context(), login.Client{}, login.Browser{
				Redirect: &url.URL{Scheme: "http", Host: "127.0.0.1:0", Path: "/callback"},
				Open:     func(address string) { go (&person{name: "eve"}).browse(address) },
			})
			if strict := len(flags) > 1; strict || err != nil {
				if strict != (err != nil) {
					t.Errorf("a token for another server: %v", err)
				}
				return
			}
			s := &shell{t: t, folder: filepath.Join(t.TempDir(), "logins"), browse: (&person{name: "alice"}).browse, environ: []string{"FOREIGN=" + l.Token.AccessToken}}
			s.run(0, "Logged in", "login", "--as", "alice", at)
			s.run(1, "BROKEN  authorization.token.audience-checked", "run", "--no-config", "--revision", string(last), "--focus", "authorization.token.audience-checked",
				"--as", "alice", "--foreign-token-env", "FOREIGN", at)
		})
	}
}

// judgeAs judges the protection of the server at a URL with the login of a user, and with that of a
// second one unless it is "".
func judgeAs(t *testing.T, name, at string, s *shell, first, second string) {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	token := func(name string) func() string {
		source := s.login(name).Source(t.Context(), &http.Client{}, login.Store{Folder: s.folder})
		return func() string {
			granted, err := source.Token()
			if err != nil {
				t.Error(err)
				return ""
			}
			return granted.AccessToken
		}
	}
	judged := server{name: name, revisions: in(last)}
	p, err := judged.judge(t, streamablehttp.NewDialer(u, exchange.Reach{Token: token(first)}), measure(), func(o *engine.Options) {
		o.Selection = engine.Selection{Focus: []string{`^(authorization|security)\.`}}
		if second != "" {
			other := token(second)
			o.OtherToken = func(*url.URL) string { return other() }
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	hold(t, name, p)
}

// serveWithUsers starts a protected server with its authorization server, and returns its URL when
// it answers.
func serveWithUsers(t *testing.T, name, host string, argv []string) string {
	t.Helper()
	own, auth := freePort(t), freePort(t)
	at := "http://" + host + ":" + own + "/mcp"
	start(t, name, at, argv, "PORT="+own, "AUTH_PORT="+auth, "MCP_PORT="+own, "MCP_AUTH_PORT="+auth)
	return at
}

// start starts a server, and waits until it answers at a URL.
func start(t *testing.T, name, at string, argv []string, env ...string) {
	t.Helper()
	c := server{name: name, argv: argv, env: env}.command(t)
	var output bytes.Buffer
	p := exec.CommandContext(t.Context(), c.Argv[0], c.Argv[1:]...)
	p.Env, p.Stdout, p.Stderr = c.Env, &output, &output
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
		if t.Failed() {
			t.Logf("the server wrote:\n%s", output.String())
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		response, err := http.Get(at) //nolint:noctx // on this machine
		if err == nil {
			_ = response.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// asCommand is the variable with which this test binary is mcp-conform itself. Commands have
// processes of their own, because each of them ends the servers of its process.
const asCommand = "MCP_CONFORM_TEST_COMMAND"

// command runs mcp-conform, and returns its exit code.
func command() int {
	w := cli.SystemWorld()
	w.Browse = func(string) {} // the test reads the address
	return cli.Main(os.Args[1:], w)
}

// A shell invokes commands that share a folder for logins.
type shell struct {
	t       *testing.T
	folder  string
	browse  func(address string)
	environ []string
}

// run invokes a command, and checks its exit code, and that its output has the text and no token.
func (s *shell) run(code int, want string, args ...string) {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	p := exec.CommandContext(s.t.Context(), self, args...)
	p.Env = append([]string{"PATH=" + os.Getenv("PATH"), "MCP_CONFORM_LOGINS=" + s.folder, asCommand + "=1"}, s.environ...)
	out, err := p.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	p.Stderr = p.Stdout
	if err := p.Start(); err != nil {
		s.t.Fatal(err)
	}
	var text strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "http://") && s.browse != nil {
			s.browse(lines.Text())
		}
		text.WriteString(lines.Text() + "\n")
	}
	_ = p.Wait() // the exit code says more
	if got := p.ProcessState.ExitCode(); got != code || !strings.Contains(text.String(), want) {
		s.t.Fatalf("mcp-conform %s: exit code %d, not %d, or no %q:\n%s", strings.Join(args, " "), got, code, want, &text)
	}
	for _, l := range s.logins() {
		if strings.Contains(text.String(), l.Token.AccessToken) || l.Token.RefreshToken != "" && strings.Contains(text.String(), l.Token.RefreshToken) {
			s.t.Errorf("mcp-conform %s prints a token:\n%s", strings.Join(args, " "), &text)
		}
	}
}

func (s *shell) logins() []*login.Login {
	s.t.Helper()
	all, _, err := login.Store{Folder: s.folder}.All()
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// login returns the login of a user.
func (s *shell) login(name string) *login.Login {
	s.t.Helper()
	for _, l := range s.logins() {
		if l.Name == name {
			return l
		}
	}
	s.t.Fatalf("there is no login as %s", name)
	return nil
}

// expire changes the login of a user so that its token has expired.
func (s *shell) expire(name string) {
	s.t.Helper()
	l := s.login(name)
	l.Token.Expiry = time.Now().Add(-time.Minute)
	if err := (login.Store{Folder: s.folder}).Save(l); err != nil {
		s.t.Fatal(err)
	}
}

// A person logs in under a name with a browser without scripts, and consents to everything, or
// refuses.
type person struct {
	name    string
	refuses bool
}

var (
	formPattern   = regexp.MustCompile(`(?s)<form[^>]* action="([^"]*)".*?</form>`)
	inputPattern  = regexp.MustCompile(`<input [^>]*name="([^"]*)"(?: value="([^"]*)")?`)
	cancelPattern = regexp.MustCompile(`<a href="([^"]*)">\[ Cancel \]`)
)

// browse follows redirects and fills in at most ten forms.
func (p *person) browse(address string) {
	go func() {
		jar, _ := cookiejar.New(nil)
		browser := &http.Client{Jar: jar, Timeout: 10 * time.Second}
		page, err := browser.Get(address) //nolint:noctx // it has a timeout
		for range 10 {
			if err != nil {
				return // the login ends without a response
			}
			text, _ := io.ReadAll(page.Body)
			_ = page.Body.Close()
			form, cancel := formPattern.FindSubmatch(text), cancelPattern.FindSubmatch(text)
			switch {
			case form == nil:
				return
			case p.refuses && cancel != nil:
				page, err = browser.Get(resolve(page, cancel[1])) //nolint:noctx // it has a timeout
			default:
				fields := url.Values{}
				for _, input := range inputPattern.FindAllSubmatch(form[0], -1) {
					fields.Set(string(input[1]), html.UnescapeString(string(input[2])))
					if len(input[2]) == 0 {
						fields.Set(string(input[1]), p.name)
					}
				}
				page, err = browser.PostForm(resolve(page, form[1]), fields) //nolint:noctx // it has a timeout
			}
		}
	}()
}

// resolve returns a link of a page as an address.
func resolve(page *http.Response, link []byte) string {
	u, err := page.Request.URL.Parse(html.UnescapeString(string(link)))
	if err != nil {
		return ""
	}
	return u.String()
}
