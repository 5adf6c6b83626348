package streamablehttp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/rules/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// all returns the base rules and those of the package.
func all() []rules.Rule { return slices.Concat(rules.Base(), streamablehttp.Rules()) }

// opened is the script of a handshake and the head of the next request.
const opened = `901> POST /mcp HTTP/1.1
     Accept: application/json, text/event-stream
     Content-Type: application/json
901>> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
901< HTTP/1.1 200 OK
     Content-Type: application/json
901<< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
901! complete
902> POST /mcp HTTP/1.1
     Accept: application/json, text/event-stream
     Content-Type: application/json
     MCP-Protocol-Version: 2025-11-25
902>> {"jsonrpc":"2.0","method":"notifications/initialized"}
902< HTTP/1.1 202 Accepted
902! complete
1> POST /mcp HTTP/1.1
   Accept: application/json, text/event-stream
   Content-Type: application/json
   MCP-Protocol-Version: 2025-11-25
`

// TestRefusalBodies checks which bodies of a refusal are observed and which are deviations.
func TestRefusalBodies(t *testing.T) {
	const body = "streamable-http.rejected-body"
	for _, test := range []struct {
		name, status, media, body string
		came, broken              bool
	}{
		{"text", "400 Bad Request", "text/plain", "no such notification", true, false},
		{"JSON that is not a message", "400 Bad Request", "application/json", `{"error":"no"}`, true, false},
		{"an error without an id", "400 Bad Request", "application/json", `{"jsonrpc":"2.0","error":{"code":-32601,"message":"m"}}`, true, false},
		{"an error with an id", "400 Bad Request", "application/json", `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"m"}}`, true, true},
		{"nothing", "400 Bad Request", "", "", false, false},
		{"the text of a gateway", "502 Bad Gateway", "text/plain", "no upstream", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := "1< HTTP/1.1 " + test.status
			if test.body != "" {
				answer += fmt.Sprintf("\n    Content-Type: %s\n1<< %s", test.media, test.body)
			}
			script := opened + "1>> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}\n" + answer + "\n1! complete\n"
			rec, err := transcript.ParseScript(script)
			if err != nil {
				t.Fatal(err)
			}
			results := rules.Judge(all(), rec.Events, spec.V20251125, spec.StreamableHTTP)
			i := slices.IndexFunc(results, func(r rules.Result) bool { return r.Requirement == body })
			if came := i >= 0; came != test.came || came && len(results[i].Deviations) > 0 != test.broken {
				t.Errorf("observed: %v\n%s", came, strings.TrimSpace(script))
			}
		})
	}
}
