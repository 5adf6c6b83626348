package reporters

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func TestAbbreviate(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{
			"metadata",
			`{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"roots":{},"x":"}\"{"},"io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/protocolVersion":"1"}}`,
			`{"_meta":{"…/clientCapabilities":{…},"…/clientInfo":{…},"…/protocolVersion":"1"}}`,
		},
		{"empty", `{"io.modelcontextprotocol/clientCapabilities":{}}`, `{"…/clientCapabilities":{}}`},
		{"not an object", `{"io.modelcontextprotocol/clientInfo":5}`, `{"…/clientInfo":5}`},
		{"cut", `{"io.modelcontextprotocol/clientInfo":{"name":"c`, `{"…/clientInfo":{"name":"c`},
		{"several", `["io.modelcontextprotocol/a","io.modelcontextprotocol/clientInfo":{"name":"io.modelcontextprotocol/b"},"io.modelcontextprotocol/c"]`, `["…/a","…/clientInfo":{…},"…/c"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := abbreviate(&verdict.Evidence{Direction: ">", Text: c.text}).Text; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
