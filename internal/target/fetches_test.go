package target

import (
	"strings"
	"testing"
)

// TestFetches checks commands that may have to download the server first, and
// others that resemble them.
func TestFetches(t *testing.T) {
	for _, c := range []struct {
		command string
		want    bool
	}{
		{"npx -y @modelcontextprotocol/server-everything", true},
		{"/usr/local/bin/npx some-server", true},
		{`C:\nodejs\npx.CMD some-server`, true},
		{"cmd /c npx -y some-server", true},
		{"uvx mcp-server-time", true},
		{"uv tool run mcp-server-time", true},
		{"npm exec some-server", true},
		{"npm start", false},
		{"pnpm dlx some-server", true},
		{"docker run -i --rm mcp/time", true},
		{"docker exec -i here ./server", false},
		{"go run ./cmd/server", true},
		{"./go", false},
		{"./my-server run", false},
		{"node npx", false},
		{"", false},
	} {
		target := Target{Argv: strings.Fields(c.command)}
		if got := target.MayDownload(); got != c.want {
			t.Errorf("%q: %v", c.command, got)
		}
	}
}
