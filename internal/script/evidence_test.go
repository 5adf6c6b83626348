package script

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestNotificationBelongsToPendingRequests checks that a notification is attributed to the
// operation with the last pending request, without which the notification would not recur.
func TestNotificationBelongsToPendingRequests(t *testing.T) {
	t.Parallel()
	rec := transcript.New()
	for _, e := range []struct {
		kind transcript.Kind
		raw  string
	}{
		{transcript.Sent, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`},
		{transcript.Received, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{transcript.Sent, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}`},
		{transcript.Sent, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"log"}}`},
		{transcript.Sent, `{"jsonrpc":"2.0","id":4,"method":"ping"}`},
		{transcript.Received, `{"jsonrpc":"2.0","id":4,"result":{}}`},
		{transcript.Received, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":1}}`},
		{transcript.Received, `{"jsonrpc":"2.0","id":3,"result":{"content":[]}}`},
		{transcript.Received, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`},
		{transcript.Received, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":1}}`},
	} {
		rec.Add(transcript.Event{Kind: e.kind, Raw: []byte(e.raw)})
	}
	o := &Playback{Conversations: []*Conversation{{Events: rec.From(0)}}}
	var sent []request
	for e, m := range transcript.Messages(rec.From(0), transcript.Sent) {
		sent = append(sent, request{operation: len(sent), text: e.Raw, id: m.ID})
	}
	for _, e := range rec.From(0) {
		o.Conversations[0].dialogue.Note(e)
	}
	o.Conversations[0].matchRequests(sent)
	for name, c := range map[string]struct{ at, want []int }{
		"while calls run":    {[]int{1, 6}, []int{0, 2}},
		"while nothing runs": {[]int{1, 9}, []int{0}},
		"an answer":          {[]int{0, 1}, []int{0}},
	} {
		if diff := cmp.Diff(c.want, o.Conversations[0].Operations(c.at)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
