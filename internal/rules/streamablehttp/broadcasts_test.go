package streamablehttp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestBroadcastNeedsTwoStreams checks that streamable-http.no-broadcast is observed only if two
// streams were certainly open at once, and not if their responses overlap by chance.
func TestBroadcastNeedsTwoStreams(t *testing.T) {
	const (
		request1 = "1>> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
		head2    = "2> POST /mcp HTTP/1.1\n   Accept: application/json, text/event-stream\n   Content-Type: application/json\n   MCP-Protocol-Version: 2025-11-25\n"
		request2 = head2 + "2>> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n"
		opened1  = "1< HTTP/1.1 200 OK\n   Content-Type: text/event-stream\n"
		opened2  = "2< HTTP/1.1 200 OK\n   Content-Type: text/event-stream\n"
		result1  = "1<~ data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
		result2  = "2<~ data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n"
		over1    = "1! complete\n"
		over2    = "2! complete\n"
	)
	for _, test := range []struct {
		name   string
		events []string
		want   bool
	}{
		{"one after the other", []string{request1, opened1, result1, over1, request2, opened2, result2, over2}, false},
		{"a burst", []string{request1, request2, opened1, opened2, result1, over1, result2, over2}, false},
		{"a request while a stream is open", []string{request1, opened1, request2, opened2, result2, over2, result1, over1}, true},
		{"a message on the stream that was open first", []string{request1, opened1, request2, opened2, result1, over1, result2, over2}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec, err := transcript.ParseScript(opened + strings.Join(test.events, ""))
			if err != nil {
				t.Fatal(err)
			}
			results := rules.Judge(all(), rec.Events, spec.V20251125, spec.StreamableHTTP)
			if got := slices.ContainsFunc(results, func(r rules.Result) bool { return r.Requirement == "streamable-http.no-broadcast" }); got != test.want {
				t.Errorf("observed: %v, want %v", got, test.want)
			}
		})
	}
}
