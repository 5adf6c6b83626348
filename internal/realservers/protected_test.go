package realservers

import (
	"net"
	"strconv"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
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
