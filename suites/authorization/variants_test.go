package authorization

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPathVariants checks how URLs with other spellings of a path are sent.
func TestPathVariants(t *testing.T) {
	for from, want := range map[string][]string{
		"http://x/mcp?a=b":   {"http://x/mcp/?a=b", "http://x//mcp?a=b", "http://x/MCP?a=b", "http://x/mc%70?a=b"},
		"http://x/v1/mcp/":   {"http://x/v1/mcp", "http://x//v1/mcp", "http://x/V1/MCP", "http://x/v1/mc%70"},
		"http://x/MCP":       {"http://x/MCP/", "http://x//MCP", "http://x/MC%50"},
		"http://x/":          nil,
		"http://x":           nil,
		"http://x/a%2Fb":     nil,
		"http://x/caf%C3%A9": {"http://x/caf%C3%A9/", "http://x//caf%C3%A9", "http://x/CAF%C3%89"},
	} {
		u, err := url.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range pathVariants(u) {
			got = append(got, v.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", from, diff)
		}
	}
}
