package suite

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestTooLong checks that a response is recognized if only its beginning was kept.
func TestTooLong(t *testing.T) {
	record := transcript.New()
	c := &client.Conversation{Record: record}
	for id, kept := range map[string]bool{"1": true, "2": false} {
		response := []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
		size := int64(len(response))
		if !kept {
			size += 20 << 20
		}
		sent := record.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)})
		record.Add(transcript.Event{Kind: transcript.Received, Raw: response, Size: size})
		if got := hasTooLongResponse(c, []int{sent.Seq}); got == kept {
			t.Errorf("id %s, kept %v: too long is %v", id, kept, got)
		}
	}
}
