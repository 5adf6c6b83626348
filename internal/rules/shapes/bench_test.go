package shapes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/rules/shapes"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// BenchmarkJudge judges parsed conversations of calls, logs and progress. Three of four messages
// are the server's.
func BenchmarkJudge(b *testing.B) {
	const rounds = 2500
	var script strings.Builder
	fmt.Fprintf(&script, "revision: %s\ntransport: stdio\n", r11)
	fmt.Fprintf(&script, `> {"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`+"\n", r11)
	fmt.Fprintf(&script, `< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":%q,"capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}}`+"\n", r11)
	script.WriteString(`> {"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	for i := range rounds {
		fmt.Fprintf(&script, `> {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a","arguments":{},"_meta":{"progressToken":%d}}}`+"\n", i, i)
		fmt.Fprintf(&script, `< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":0.5,"message":"half"}}`+"\n", i)
		script.WriteString(`< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"a","data":{"a":[1,2,3]}}}` + "\n")
		fmt.Fprintf(&script, `< {"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"The result of the tool, in a line."}]}}`+"\n", i)
	}
	rec, err := transcript.ParseScript(script.String())
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		rules []rules.Rule
	}{{"shapes", shapes.Rules()}, {"nothing", nil}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range rules.Judge(c.rules, rec.Events, r11, spec.Stdio) {
					if len(r.Deviations) > 0 {
						b.Fatalf("%+v", r)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(4*rounds), "ns/message")
		})
	}
}
