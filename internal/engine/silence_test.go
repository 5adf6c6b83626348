package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestExplainSilence checks that the reason for a missing response to
// initialize fits what the server did.
func TestExplainSilence(t *testing.T) {
	const (
		asked    = `> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n"
		answered = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	)
	for name, test := range map[string]struct {
		script         string
		reason, advice string // substrings
		not            string // a substring of neither
	}{
		"a response once stdin is closed":    {asked + "! close-input\n< " + answered, "came only when stdin was closed, not within 7s, which looks like output that is not flushed", "flush stdout", "own id"},
		"two responses once stdin is closed": {asked + "! close-input\n" + `< {"jsonrpc":"2.0","method":"notifications/message"}` + "\n< " + answered, "came only when stdin was closed", "flush stdout", "own id"},
		"a response without a newline":       {asked + "! close-input\n<| " + answered, "has no newline at its end", "end each message with a newline", "own id"},
		"another id":                         {asked + `< {"jsonrpc":"2.0","id":2,"result":{}}` + "\n! close-input\n", "answered initialize with id 2 instead of that of the request", "return the id", "flush"},
		"another id once stdin is closed":    {asked + "! close-input\n" + `< {"jsonrpc":"2.0","id":2,"result":{}}` + "\n", "answered initialize with id 2 instead of that of the request", "return the id", "flush"},
		"no id":                              {asked + `< {"jsonrpc":"2.0","result":{}}` + "\n", "answered initialize with id (none)", "return the id", "flush"},
		"a request of the server's":          {asked + `< {"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n", "wrote 1 messages, but did not answer", "own id", "flush"},
		"an unfinished line":                 {asked + `<| {"jsonrpc":"2.0","id":1,"resu` + "\n", "which ends inside a message", "write each message as a whole", "no MCP message"},
		"a line of a log":                    {asked + "< ready\n", "which is not an MCP message", "to stderr", "inside a message"},
		"a message too long": {asked + `! flooded "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"` + "\n! size 16777217\n! detail more than 16777216 bytes without a newline\n",
			"a message that is longer than mcp-conform reads, and initialize was not answered before: more than 16777216 bytes", "send a smaller message", "stderr"},
		"too many messages": {asked + `! flooded "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"` + "\n! detail more than 20000 messages\n", "flooded stdout", "", "longer than"},
		"text without a newline": {asked + "! flooded flood flood\n! size 16777217\n! detail more than 16777216 bytes without a newline\n",
			"flooded stdout", "to stderr", "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			reason, advice := ExplainSilence(eventsOf(t, test.script), spec.MethodInitialize, 7*time.Second, false)
			if !strings.Contains(reason, test.reason) || !strings.Contains(advice, test.advice) || strings.Contains(reason+advice, test.not) {
				t.Errorf("said %q and advised %q", reason, advice)
			}
		})
	}
}

// TestExplainRefusal checks that the advice after a refused initialize fits the
// refusal.
func TestExplainRefusal(t *testing.T) {
	head := `transport: streamable-http

1> POST /mcp HTTP/1.1
   Accept: application/json, text/event-stream
1> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}
`
	for name, test := range map[string]struct{ response, want, not string }{
		"a version header is missing": {"1< HTTP/1.1 400 Bad Request\n   Content-Type: text/plain\n1<< Bad Request: missing MCP-Protocol-Version header\n1! complete\n", "without the header MCP-Protocol-Version", "Accept"},
		"another reason":              {"1< HTTP/1.1 406 Not Acceptable\n   Content-Type: text/plain\n1<< no\n1! complete\n", "in Accept", "Version"},
	} {
		t.Run(name, func(t *testing.T) {
			e := ExplainRefusal(eventsOf(t, head+test.response), time.Second)
			if !strings.Contains(e.Advice, test.want) || strings.Contains(e.Advice, test.not) {
				t.Errorf("advised %q", e.Advice)
			}
		})
	}
}

// eventsOf parses the script of one conversation.
func eventsOf(t *testing.T, script string) []*transcript.Event {
	t.Helper()
	r, err := transcript.ParseScript(strings.ReplaceAll(script, "\t", ""))
	if err != nil {
		t.Fatal(err)
	}
	return r.Events
}
