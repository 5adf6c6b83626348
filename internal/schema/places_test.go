package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestExaminePlaces checks that Examine returns those places of the revision that occur in the
// message.
func TestExaminePlaces(t *testing.T) {
	const message = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"","annotations":{"priority":2}}]}}`
	v := For(spec.V20251125)
	met, found := v.Examine(&wire.Parse([]byte(message)).Messages[0], spec.MethodToolsCall)
	got := map[string]bool{}
	for _, name := range []string{
		"CallToolResult", "CallToolResult.content", "CallToolResult.isError", "ImageContent", "ImageContent.data", "ImageContent.mimeType",
		"TextContent", "Annotations.priority", "Annotations.audience", "no.such",
	} {
		if met.Has(v.Place(name)) {
			got[name] = true
		}
	}
	want := map[string]bool{
		"CallToolResult": true, "CallToolResult.content": true, "ImageContent": true, "ImageContent.data": true, "Annotations.priority": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("met (-want +got):\n%s", diff)
	}
	var places []string
	for _, f := range found {
		places = append(places, f.Place)
	}
	if diff := cmp.Diff([]string{"ImageContent.mimeType", "Annotations.priority"}, places); diff != "" {
		t.Errorf("places of what is wrong (-want +got):\n%s", diff)
	}
	for _, r := range spec.Revisions() {
		if n := len(For(r).places); n == 0 || n >= maxPlaces {
			t.Errorf("%s has %d places", r, n)
		}
	}
}

// TestPlaces checks that a place is relative to the innermost named type.
func TestPlaces(t *testing.T) {
	for _, c := range []struct{ asked, message, want string }{
		{spec.MethodToolsCall, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"x"}]}}`, "CallToolResult.content.*.type"},
		{spec.MethodToolsList, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"a":1}}}]}}`, "Tool.inputSchema.properties.*"},
		{"", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":[]}}}`, "RequestMeta.progressToken"},
		{"", `{"jsonrpc":"2.0","method":"notifications/progress"}`, "params"},
	} {
		_, found := For(spec.V20251125).Examine(&wire.Parse([]byte(c.message)).Messages[0], c.asked)
		if len(found) == 0 || found[0].Place != c.want {
			t.Errorf("%s: %+v, want it at %s", c.message, found, c.want)
		}
	}
}
