package script

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestMetadataIsAdded checks which frames get the metadata of the stateless era.
func TestMetadataIsAdded(t *testing.T) {
	conversation := func(r spec.Revision) *liveConversation {
		c, err := client.Open(t.Context(), inprocess.Dialer(nil), client.Options{Revision: r, Capabilities: map[string]any{}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return &liveConversation{c: c}
	}
	now, before := conversation(spec.V20260728), conversation(spec.V20251125)
	const usual = `"io.modelcontextprotocol/clientCapabilities":{}`
	for _, c := range []struct {
		name, frame string
		added       bool
	}{
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, true},
		{"params", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"a"}}`, true},
		{"own metadata", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":1}}}`, true},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, false},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`, false},
		{"params of a wrong type", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}`, false},
		{"metadata of a wrong type", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":"a"}}`, false},
		{"no JSON", `{"jsonrpc":`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := string(now.withMetadata([]byte(c.frame)))
			if !c.added {
				if got != c.frame {
					t.Errorf("the frame became %s", got)
				}
				return
			}
			meta := wire.At(wire.Parse([]byte(got)).Messages[0].Params(), "/_meta")
			names, values := wire.Members(meta)
			if string(values[spec.MetaClientCapabilities]) != "{}" || string(values[spec.MetaVersion]) != `"2026-07-28"` {
				t.Errorf("without %s: %v in %s", usual, names, got)
			}
			if same := string(before.withMetadata([]byte(c.frame))); same != c.frame {
				t.Errorf("in a handshake revision the frame became %s", same)
			}
		})
	}
	own := now.withMetadata([]byte(`{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":1,"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}}`))
	if got := string(wire.At(wire.Parse(own).Messages[0].Params(), spec.MetaPointer(spec.MetaVersion))); got != `"1900-01-01"` {
		t.Errorf("the version of the script became %s", got)
	}
}
