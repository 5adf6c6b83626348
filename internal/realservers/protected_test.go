package realservers

import (
	"net"
	"net/url"
	"strconv"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
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

// TestIssuedTokens judges servers that trust the authorization server of the run. The first checks
// for whom a token was issued, the second does not.
func TestIssuedTokens(t *testing.T) {
	for name, words := range map[string][]string{
		"typescript-sdk-1.32-bearer":              nil,
		"typescript-sdk-1.32-bearer-any-resource": {"any-resource"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trusted, err := issuer.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer trusted.Close()
			s := httpServer{over: spec.StreamableHTTP, path: "/mcp", server: server{
				name: name, argv: append([]string{"node", "./protected.mjs"}, words...), revisions: in(spec.V20250618, last),
				env: []string{"PORT=" + port, issuer.URLVariable + "=" + trusted.URL},
			}, reach: func(u *url.URL) exchange.Reach {
				return exchange.Reach{Fields: []transcript.Field{{Name: "Authorization", Value: "Bearer " + trusted.Token(issuer.Valid, u.String(), "mcp")}}}
			}}
			dialer := s.dialer(t)
			defer dialer.Close()
			p, err := s.judge(t, dialer, measure(), func(o *engine.Options) {
				o.Issuer, o.Selection = trusted, engine.Selection{Labels: "authorization"}
			})
			if err != nil {
				t.Fatal(err)
			}
			if n := p.Count(last, verdict.Kept); n < leastProtected {
				t.Errorf("only %d requirements were seen kept", n)
			}
			hold(t, name, p)
		})
	}
}

// leastProtected is a little below the number of requirements that a server which
// protects itself keeps in this area.
const leastProtected = 25

// freePort returns a port that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
