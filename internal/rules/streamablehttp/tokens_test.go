package streamablehttp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestRefusedTokens checks that a refused token is a deviation only if the server later serves an
// equal request with the same token.
func TestRefusedTokens(t *testing.T) {
	const requirement = "authorization.token.bearer-header-accepted"
	for _, test := range []struct {
		name, status, token, method string
		broken                      bool
	}{
		{"an equal request is served", "401 Unauthorized", "abc", "ping", true},
		{"another request is served", "401 Unauthorized", "abc", "tools/list", false},
		{"another token is accepted", "401 Unauthorized", "def", "ping", false},
		{"another status", "403 Forbidden", "abc", "ping", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			post := func(n int, token, method string) string {
				return fmt.Sprintf("%d> POST /mcp HTTP/1.1\n   Authorization: Bearer %s\n   MCP-Protocol-Version: 2025-11-25\n%d>> {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":%q}\n", n, token, n, n, method)
			}
			script := opened[:strings.LastIndex(opened, "1> POST")] +
				post(1, "abc", "ping") + "1< HTTP/1.1 " + test.status + "\n1! complete\n" +
				post(2, test.token, test.method) + "2< HTTP/1.1 200 OK\n   Content-Type: application/json\n2<< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n2! complete\n"
			rec, err := transcript.ParseScript(script)
			if err != nil {
				t.Fatal(err)
			}
			observed, broken := false, false
			for _, r := range rules.Judge(all(), rec.Events, spec.V20251125, spec.StreamableHTTP) {
				if r.Requirement == requirement {
					observed, broken = observed || r.Observed > 0, broken || len(r.Deviations) > 0
				}
			}
			if !observed || broken != test.broken {
				t.Errorf("observed %t, broken %t, want %t", observed, broken, test.broken)
			}
		})
	}
}
