package serverfeatures

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A server that refuses GET has no stream on which it could announce a changed list.
func TestChangesWithoutAStream(t *testing.T) {
	const (
		refused = "90> GET /mcp HTTP/1.1\n    Accept: text/event-stream\n90< HTTP/1.1 %s\n90! complete\n"
		stream  = "91> GET /mcp HTTP/1.1\n    Accept: text/event-stream\n91< HTTP/1.1 200 OK\n    Content-Type: text/event-stream\n"
	)
	for _, test := range []struct {
		name, gets string
		found      bool
	}{
		{"no GET", "", true},
		{"the stream is open", stream, true},
		{"one GET is refused, another opens a stream", fmt.Sprintf(refused, "400 Bad Request") + stream, true},
		{"405", fmt.Sprintf(refused, "405 Method Not Allowed"), false},
		{"404", fmt.Sprintf(refused, "404 Not Found"), false},
	} {
		for _, list := range []string{"tools", "resources"} {
			t.Run(test.name+", "+list, func(t *testing.T) {
				script := "revision: 2025-11-25\ntransport: streamable-http\n"
				n := 0
				post := func(request, result string) {
					n++
					script += fmt.Sprintf("%d> POST /mcp HTTP/1.1\n    Content-Type: application/json\n%[1]d>> {\"jsonrpc\":\"2.0\",\"id\":%[1]d,%s}\n", n, request)
					script += fmt.Sprintf("%d< HTTP/1.1 200 OK\n    Content-Type: application/json\n%[1]d<< {\"jsonrpc\":\"2.0\",\"id\":%[1]d,\"result\":%s}\n%[1]d! complete\n", n, result)
				}
				walk := func(name string) {
					post(fmt.Sprintf(`"method":"%s/list"`, list), fmt.Sprintf(`{%q:[{"name":%[2]q,"uri":"file:///%[2]s","inputSchema":{"type":"object"}}]}`, list, name))
				}
				post(`"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`,
					fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{%q:{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`, list))
				script += "80> POST /mcp HTTP/1.1\n    Content-Type: application/json\n80>> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n80< HTTP/1.1 202 Accepted\n80! complete\n"
				script += test.gets
				walk("a")
				walk("b")
				post(`"method":"ping"`, "{}")
				rec, err := transcript.ParseScript(script)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range rec.Events {
					if e.Exchange == n { // the ping after which the notification had enough time
						e.At += verdict.NoticeTime
					}
				}
				found := slices.ContainsFunc(rules.Judge(Rules(), rec.Events, spec.V20251125, spec.StreamableHTTP), func(r rules.Result) bool {
					return slices.ContainsFunc(r.Deviations, func(d verdict.Deviation) bool {
						return strings.Contains(d.Summary, "sends no notification of a changed")
					})
				})
				if found != test.found {
					t.Errorf("a change without a notification is found: %v, want %v\n%s", found, test.found, script)
				}
			})
		}
	}
}
