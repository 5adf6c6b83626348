package script

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestOwnMessages checks that each message that no operation sends is reported
// after the operation that it follows.
func TestOwnMessages(t *testing.T) {
	t.Parallel()
	const (
		called    = `> {"jsonrpc":"2.0","id":1085,"method":"tools/call","params":{"name":"a"}}`
		pinged    = `> {"jsonrpc":"2.0","id":1,"method":"ping"}`
		cancelled = `> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1085,"reason":"the client leaves"}}`
		asks      = `< {"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{}}`
		again     = `< {"jsonrpc":"2.0","id":"s2","method":"sampling/createMessage","params":{}}`
		gives     = `> {"jsonrpc":"2.0","id":"s1","result":{}}`
		givesMore = `> {"jsonrpc":"2.0","id":"s2","result":{}}`
		refuses   = `> {"jsonrpc":"2.0","id":"s1","error":{"code":-1,"message":"no"}}`

		answered = `the client answered the server's sampling/createMessage with id "s1"`
		left     = "the client cancelled tools/call with id 1085, which was still open when it left"
	)
	call := Operation{Do: Send, Method: spec.MethodToolsCall, Message: Bytes(called[2:])}
	together := call
	together.Together = true
	said := Operation{Do: Send, Method: spec.MethodCancelled, Message: Bytes(cancelled[2:])}
	stray := Operation{Do: Send, Message: Bytes(gives[2:])}
	fence, leave := Operation{Do: Fence}, Operation{Do: Close}
	repeat := Operation{Do: Repeat, Message: call.Message}
	for name, c := range map[string]struct {
		operations []Operation
		spans      []span
		record     []string
		want       []OwnMessage
	}{
		"at the end": {
			[]Operation{call, fence}, []span{{0, 0, 1}, {1, 1, 2}}, []string{called, pinged, cancelled, asks, gives},
			[]OwnMessage{{1, left}, {1, answered}},
		},
		"before the next": {
			[]Operation{call, fence, fence}, []span{{0, 0, 1}, {1, 3, 4}, {2, 4, 5}}, []string{called, asks, gives, pinged, pinged},
			[]OwnMessage{{0, answered}},
		},
		"after what is written at once": {
			[]Operation{together, fence, fence}, []span{{0, 0, 1}, {2, 3, 4}}, []string{called, asks, gives, pinged},
			[]OwnMessage{{1, answered}},
		},
		"when it leaves": {
			[]Operation{call, leave, fence}, []span{{0, 0, 1}}, []string{called, cancelled}, []OwnMessage{{1, left}},
		},
		"several times": {
			[]Operation{call}, []span{{0, 0, 1}}, []string{called, asks, gives, again, givesMore},
			[]OwnMessage{{0, "the client answered the server's sampling/createMessage, 2 times"}},
		},
		"with an error": {
			[]Operation{call}, []span{{0, 0, 1}}, []string{called, asks, refuses},
			[]OwnMessage{{0, `the client refused the server's sampling/createMessage with id "s1"`}},
		},
		"before all":                 {[]Operation{call}, []span{{0, 2, 3}}, []string{asks, gives, called}, []OwnMessage{{-1, answered}}},
		"the script cancels it":      {[]Operation{call, said}, []span{{0, 0, 1}, {1, 1, 2}}, []string{called, cancelled}, nil},
		"the script answers":         {[]Operation{call, stray}, []span{{0, 0, 1}, {1, 2, 3}}, []string{called, asks, gives}, nil},
		"not requested":              {[]Operation{call}, []span{{0, 0, 1}}, []string{called, gives}, nil},
		"a repeated operation sends": {[]Operation{repeat}, []span{{0, 0, 2}}, []string{called, cancelled}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := transcript.New()
			for _, line := range c.record {
				kind := map[byte]transcript.Kind{'>': transcript.Sent, '<': transcript.Received}[line[0]]
				rec.Add(transcript.Event{Kind: kind, Raw: []byte(line[2:])})
			}
			script := Script{Revision: spec.V20250618, Operations: c.operations}
			o := &Playback{Script: script, Conversations: []*Conversation{{Events: rec.From(0), spans: c.spans}}}
			if diff := cmp.Diff(c.want, o.OwnMessages()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
