package realservers

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/started"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestProtectedServers judges how servers that require a token protect themselves. The run has no
// token, so that the report is incomplete.
func TestProtectedServers(t *testing.T) {
	const example = "./node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js"
	for name, flags := range map[string][]string{
		"typescript-sdk-1.32-oauth":        {"--oauth"},
		"typescript-sdk-1.32-oauth-strict": {"--oauth", "--oauth-strict"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httpServer{over: spec.StreamableHTTP, path: "/mcp", server: server{
				name: name, argv: append([]string{"node", example}, flags...), revisions: in(first, spec.V20250618, last),
				env: []string{"MCP_PORT=" + port, "MCP_AUTH_PORT=" + freePort(t)},
			}}
			for _, r := range s.revisions {
				one := s
				one.revisions = in(r)
				dialer := one.dialer(t)
				// One process serves all, because a second one could not have the port of its
				// authorization server.
				p, err := one.judge(t, struct{ transport.Dialer }{dialer}, measure())
				dialer.Close()
				if err != nil {
					t.Fatal(err)
				}
				if p.Incomplete == "" {
					t.Error("the run had no token, and yet it is complete")
				}
				hold(t, name+"-"+string(r), p)
			}
		})
	}
}

// TestIssuedTokens judges servers that trust the authorization server of the run. Servers with
// any-resource do not check the audience of a token; with anonymous, the SDK does not learn the
// user.
func TestIssuedTokens(t *testing.T) {
	handshake, both := in(spec.V20250618, last), in(last, current)
	goProtected := func(flags ...string) []string {
		return append([]string{"./go-sdk/go-sdk-protected", "-http", "127.0.0.1:" + port}, flags...)
	}
	for _, c := range []struct {
		name      string
		argv      []string
		revisions []spec.Revision
	}{
		{"typescript-sdk-1.32-bearer", []string{"node", "./protected.mjs"}, handshake},
		{"typescript-sdk-1.32-bearer-any-resource", []string{"node", "./protected.mjs", "any-resource"}, handshake},
		{"typescript-sdk-2.4-bearer", []string{"node", "./protected-2.mjs"}, both},
		{"typescript-sdk-2.4-bearer-any-resource", []string{"node", "./protected-2.mjs", "any-resource"}, both},
		{"go-sdk-bearer", goProtected(), in(last)},
		{"go-sdk-bearer-stateless", goProtected("-stateless"), both},
		{"go-sdk-bearer-any-resource-anonymous", goProtected("-any-resource", "-anonymous"), in(last)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			trusted, err := issuer.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer trusted.Close()
			s := httpServer{over: spec.StreamableHTTP, path: "/mcp", server: server{
				name: c.name, argv: c.argv, revisions: c.revisions,
				env: []string{"PORT=" + port, issuer.URLVariable + "=" + trusted.URL},
			}, reach: func(u *url.URL) exchange.Reach { return bearer(trusted.Token(issuer.Valid, u.String(), "mcp")) }}
			dialer := s.dialer(t)
			defer dialer.Close()
			p, err := s.judge(t, dialer, measure(), func(o *engine.Options) {
				o.Issuer, o.Selection = trusted, engine.Selection{Focus: []string{`^(authorization|security)\.`}}
			})
			if err != nil {
				t.Fatal(err)
			}
			if n := p.Count(last, verdict.Kept); n < leastProtected {
				t.Errorf("only %d requirements were seen kept", n)
			}
			hold(t, c.name, p)
		})
	}
}

// TestGoExample judges the example auth/server of the go-sdk, without a token and with those of the
// authorization server of the run. It accepts a token for any server.
func TestGoExample(t *testing.T) {
	trusted, err := issuer.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trusted.Close)
	program := goExample(t, map[string]string{"authorizationServer": trusted.URL, "introspectionEndpoint": trusted.URL + "/introspect"})
	for name, token := range map[string]func(u *url.URL) string{
		"go-sdk-example-without": func(*url.URL) string { return "" },
		"go-sdk-example":         func(u *url.URL) string { return trusted.Token(issuer.Valid, u.String(), "read") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httpServer{over: spec.StreamableHTTP, path: "/mcp", server: server{
				name: name, argv: []string{program, "-port", port}, revisions: in(last),
			}, reach: func(u *url.URL) exchange.Reach {
				if token := token(u); token != "" {
					return bearer(token)
				}
				return exchange.Reach{}
			}}
			dialer := s.dialer(t)
			defer dialer.Close()
			p, err := s.judge(t, dialer, measure(), func(o *engine.Options) {
				o.Selection = engine.Selection{Focus: []string{`^(authorization|security)\.`}}
				if token(&url.URL{}) != "" {
					o.Issuer = trusted
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			hold(t, name, p)
		})
	}
}

// goExample builds the example auth/server of the go-sdk with values for its variables, which it has
// instead of flags, and returns the path of the program.
func goExample(t *testing.T, variables map[string]string) string {
	t.Helper()
	const folder = "../../fixtures/servers/go-sdk"
	if _, err := os.Stat(folder + "/go-sdk-protected"); err != nil { // then its modules may be missing, too
		skip.Missing(t, "real server", "it is not installed; fixtures/servers/install.sh does that")
	}
	var flags []string
	for name, value := range variables {
		flags = append(flags, "-X main."+name+"="+value)
	}
	program := filepath.Join(t.TempDir(), "go-sdk-example")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", strings.Join(flags, " "), "-o", program, "github.com/modelcontextprotocol/go-sdk/examples/auth/server")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestStaticToken judges a server that knows one token and has no metadata, without that token and
// with it.
func TestStaticToken(t *testing.T) {
	for name, reach := range map[string]exchange.Reach{"typescript-sdk-2.4-static-without": {}, "typescript-sdk-2.4-static": bearer("demo-token")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httpServer{over: spec.StreamableHTTP, path: "/mcp", server: server{
				name: name, argv: []string{"node", "./protected-2.mjs", "static"}, revisions: in(last), env: []string{"PORT=" + port},
			}, reach: func(*url.URL) exchange.Reach { return reach }}
			dialer := s.dialer(t)
			defer dialer.Close()
			p, err := s.judge(t, dialer, measure(), func(o *engine.Options) {
				o.Selection = engine.Selection{Focus: []string{`^(authorization|security)\.`}}
			})
			if err != nil {
				t.Fatal(err)
			}
			hold(t, name, p)
		})
	}
}

// bearer returns a way to reach a server with a token.
func bearer(token string) exchange.Reach {
	return exchange.Reach{Fields: []transcript.Field{{Name: "Authorization", Value: "Bearer " + token}}}
}

// leastProtected is a little below the number of requirements that a server which
// protects itself keeps in this area.
const leastProtected = 25

func freePort(t *testing.T) string {
	t.Helper()
	port, err := started.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
