package utilities_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/rules/utilities"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// Streams have no order among themselves, so progress and the response are compared only if both
// came on the request's own stream.
func TestOrderOfStreams(t *testing.T) {
	const (
		stops  = "progress.stops-after-completion"
		active = "progress.only-in-progress"
		head   = `1> POST /mcp HTTP/1.1
1>> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
1< HTTP/1.1 200 OK
   Content-Type: application/json
1<< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
1! complete
2> POST /mcp HTTP/1.1
2>> {"jsonrpc":"2.0","method":"notifications/initialized"}
2< HTTP/1.1 202 Accepted
2! complete
3> GET /mcp HTTP/1.1
3< HTTP/1.1 200 OK
   Content-Type: text/event-stream
4> POST /mcp HTTP/1.1
4>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"t"}}}
4< HTTP/1.1 200 OK
   Content-Type: text/event-stream`
		own    = `4<~ data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`
		late   = `4<~ data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}`
		other  = `3<~ data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":3}}`
		answer = `4<~ data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
		away   = `3<~ data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
		again  = `5> POST /mcp HTTP/1.1
5>> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"t"}}}
5< HTTP/1.1 200 OK
   Content-Type: application/json
5<< {"jsonrpc":"2.0","id":2,"result":{"content":[]}}
5! complete`
	)
	for _, c := range []struct {
		name   string
		script []string
		kept   []string
		broken bool
	}{
		{"all on its stream", []string{own, answer}, []string{active, stops}, false},
		{"after the answer on its stream", []string{own, answer, late}, []string{active}, true},
		{"after the answer on another stream", []string{own, answer, other}, nil, false},
		{"before the answer on another stream", []string{other, answer}, nil, false},
		{"on another stream, like the answer", []string{own, away, other}, nil, false},
		{"the answer on another stream", []string{own, away}, nil, false},
		{"a token that was given twice", []string{own, answer, again, late}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			record, err := transcript.ParseScript("revision: 2025-11-25\ntransport: streamable-http\n" + head + "\n" + strings.Join(c.script, "\n"))
			if err != nil {
				t.Fatal(err)
			}
			var kept []string
			broken := false
			for _, r := range rules.Judge(utilities.Rules(), record.Events, spec.V20251125, spec.StreamableHTTP) {
				switch {
				case r.Requirement != stops && r.Requirement != active:
				case len(r.Deviations) > 0:
					broken = true
				default:
					kept = append(kept, r.Requirement)
				}
			}
			slices.Sort(kept)
			if diff := cmp.Diff(c.kept, kept, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			if broken != c.broken {
				t.Errorf("broken is %v", broken)
			}
		})
	}
}
