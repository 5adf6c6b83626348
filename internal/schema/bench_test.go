package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// typicalMessages returns messages that servers often send. asked is the method of the
// request.
func typicalMessages() []struct{ name, asked, message string } {
	var tools strings.Builder
	for i := range 20 {
		fmt.Fprintf(&tools, `,{"name":"tool_%d","title":"Tool","description":"Does what the %dth tool does, at some length.",`+
			`"inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"A path"},"n":{"type":"integer"}},"required":["path"]},`+
			`"annotations":{"readOnlyHint":true,"openWorldHint":false}}`, i, i)
	}
	answer := func(result string) string { return `{"jsonrpc":"2.0","id":1,"result":` + result + `}` }
	return []struct{ name, asked, message string }{
		{"tools", spec.MethodToolsList, answer(`{"tools":[` + tools.String()[1:] + `]}`)},
		{"call", spec.MethodToolsCall, answer(`{"content":[{"type":"text","text":"The result of the tool, in a line."}],"structuredContent":{"a":1},"isError":false}`)},
		{"blob", spec.MethodResourcesRead, answer(`{"contents":[{"uri":"file:///a","mimeType":"image/png","blob":"` + strings.Repeat("aGVsbG8h", 8192) + `"}]}`)},
		{"ping", spec.MethodPing, answer(`{}`)},
		{"progress", "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5,"total":1,"message":"half"}}`},
		{"log", "", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"a","data":{"a":[1,2,3]}}}`},
		{"error", spec.MethodToolsCall, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool"}}`},
		{"broken", spec.MethodToolsList, answer(`{"tools":[{"name":1,"inputSchema":{"type":"object"}}]}`)},
	}
}

// BenchmarkMessage measures judging messages that are already parsed.
func BenchmarkMessage(b *testing.B) {
	for _, c := range typicalMessages() {
		b.Run(c.name, func(b *testing.B) {
			v, m := For(spec.V20251125), &wire.Parse([]byte(c.message)).Messages[0]
			b.SetBytes(int64(len(c.message)))
			b.ReportAllocs()
			for b.Loop() {
				if (v.CheckMessage(m, c.asked) != nil) != (c.name == "broken") {
					b.Fatalf("%v", v.CheckMessage(m, c.asked))
				}
			}
		})
	}
}
