package streamablehttp_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// chaos has texts for each kind of event, any of which may occur anywhere in an exchange.
var chaos = map[transcript.Kind][]string{
	transcript.Requested: {
		"", "POST /mcp HTTP/1.1", "POST /mcp HTTP/1.1\nAccept: application/json, text/event-stream\nContent-Type: application/json\nHost: localhost",
		"GET /mcp HTTP/1.1\nAccept: text/event-stream", "GET /mcp HTTP/1.1\nAccept: text/event-stream\nLast-Event-ID: 1\nMcp-Session-Id: a",
		"DELETE /mcp HTTP/1.1\nMcp-Session-Id: a", "POST /m HTTP/1.1\nContent-Type: application/json\nOrigin: x\nMCP-Protocol-Version: y",
		"GET /sse HTTP/1.1\nAccept: text/event-stream\nHost: [::1]:3000",
	},
	transcript.Sent: {
		"", "{", "[]", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"progressToken":1}}}`, `[{"jsonrpc":"2.0","id":3,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`,
	},
	transcript.Responded: {
		"", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\nContent-Type: text/event-stream", "HTTP/1.1 200 OK\nContent-Type: application/json\nMcp-Session-Id: a",
		"HTTP/1.1 202 Accepted", "HTTP/1.1 400 Bad Request", "HTTP/1.1 403 Forbidden", "HTTP/1.1 404 Not Found", "HTTP/1.1 405 X", "HTTP/1.1 100 Continue", "HTTP/1.1 500",
	},
	transcript.Received: {
		"", "x", "[]", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`,
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`, `[{"jsonrpc":"2.0","id":3,"result":{}}]`, "{}",
	},
	transcript.Streamed: {
		"\n", ":\n\n", "id: 1\ndata:\n\n", "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n", "retry: 1", "event: endpoint\ndata: /m\n\n",
		"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}\n\n",
		"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n", "data: []\n\n", "data: x\n\n", "event: x\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n", "\xef\xbb\xbf",
	},
	transcript.Over: {""}, transcript.Flooded: {"x"}, transcript.GaveUp: {""}, transcript.Exited: {""}, transcript.OutputClosed: {""},
}

// For any transcript, the rules terminate, and all their deviations have evidence. Written and
// read, a transcript is the same.
func TestRulesAcceptAnyTranscript(t *testing.T) {
	kinds := []transcript.Kind{
		transcript.Requested, transcript.Requested, transcript.Sent, transcript.Sent, transcript.Responded, transcript.Responded, transcript.Received,
		transcript.Streamed, transcript.Streamed, transcript.Streamed, transcript.Over, transcript.Flooded, transcript.GaveUp, transcript.Exited, transcript.OutputClosed,
	}
	rapid.Check(t, func(t *rapid.T) {
		rec := transcript.New()
		rec.Add(transcript.Event{Kind: transcript.Opened})
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			e := transcript.Event{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Exchange: rapid.IntRange(0, 4).Draw(t, "exchange")}
			text := []byte(rapid.SampledFrom(chaos[e.Kind]).Draw(t, "text"))
			switch e.Kind {
			case transcript.Streamed:
				e.Stream = text
			case transcript.Over:
				e.How = rapid.SampledFrom([]transcript.How{transcript.Complete, transcript.Broken, transcript.Dropped, transcript.Unreachable, transcript.Unreadable}).Draw(t, "how")
			case transcript.GaveUp:
				e.Of = rapid.IntRange(0, rec.Len()-1).Draw(t, "of")
			default:
				e.Raw = text
			}
			if rapid.IntRange(0, 9).Draw(t, "cut") == 0 {
				e.Size = 1 << 20
			}
			rec.Add(e)
		}
		rev := rapid.SampledFrom(spec.Revisions()).Draw(t, "revision")
		over := rapid.SampledFrom(spec.Transports()).Draw(t, "transport")
		events := rec.From(0)
		for _, r := range rules.Judge(all(), events, rev, over) {
			for _, d := range r.Deviations {
				if d.Summary == "" || d.Permitted == "" || len(d.At) == 0 || d.At[0] < 0 || d.At[len(d.At)-1] >= len(events) {
					t.Fatalf("%s is not reported in full: %+v", r.Requirement, d)
				}
			}
		}
		var first, again bytes.Buffer
		if err := transcript.Write(&first, events); err != nil {
			t.Fatal(err)
		}
		read, err := transcript.ReadRecordings("t", bytes.NewReader(first.Bytes()))
		if err == nil {
			err = transcript.Write(&again, read[0].Events)
		}
		if err == nil && !bytes.Equal(first.Bytes(), again.Bytes()) {
			t.Fatal("a transcript that was read is written differently")
		}
	})
}
