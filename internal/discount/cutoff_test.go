package discount

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestCutoffs(t *testing.T) {
	const brokenEachTime = "none of 3 tools/call requests got a complete response: the connection broke each time"
	call, ping := `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	type end struct {
		body string
		how  transcript.How
	}
	cut, other := end{call, transcript.Broken}, end{ping, transcript.Complete}
	for _, x := range []struct {
		name string
		ends []end
		want string
	}{
		{"every call", []end{cut, other, cut, cut}, brokenEachTime},
		{"every call, and some we closed", []end{cut, other, cut, {call, transcript.Dropped}, cut}, brokenEachTime},
		{"now and then", []end{cut, cut, {call, transcript.Complete}, cut, other}, ""},
		{"too few", []end{cut, other, cut}, ""},
		{"the server is gone", []end{cut, cut, cut, {ping, transcript.Broken}}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			record := transcript.New()
			for i, e := range x.ends {
				n := i + 1
				record.Add(transcript.Event{Kind: transcript.Requested, Exchange: n, Head: &transcript.Head{Line: "POST /mcp HTTP/1.1"}})
				record.Add(transcript.Event{Kind: transcript.Sent, Exchange: n, Raw: []byte(e.body), Frame: wire.Parse([]byte(e.body))})
				record.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: e.how})
			}
			c := cutoffs{}
			c.observe(conversation(record.From(0)))
			if got := c.notice(); got != x.want {
				t.Errorf("said %q, want %q", got, x.want)
			}
		})
	}
}
