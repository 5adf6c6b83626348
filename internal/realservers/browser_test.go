package realservers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/skip"
)

// TestBrowserLogin logs in with Chromium at oidc-provider, and refuses to. MCP_CONFORM_PICTURES
// names a folder for pictures of the pages that mcp-conform shows in the end.
func TestBrowserLogin(t *testing.T) {
	name := "chromium"
	if other := os.Getenv("CHROMIUM"); other != "" {
		name = other
	}
	chromium, err := exec.LookPath(name)
	if err != nil {
		skip.Missing(t, "login in a browser", err.Error())
	}
	at := serveWithUsers(t, "oidc-provider", "127.0.0.1", []string{"node", "./protected.mjs", "oidc", "opaque"})
	pictures := os.Getenv("MCP_CONFORM_PICTURES")
	if pictures == "" {
		pictures = t.TempDir()
	}
	for _, c := range []struct {
		name, says, page string
		code             int
	}{
		{"alice", "Logged in to " + at, "Back to the terminal\n", 0},
		{"cancel", "the authorization server refused: access_denied", "Not logged in\n", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			page := make(chan string, 1)
			s := &shell{t: t, folder: filepath.Join(t.TempDir(), "logins"), browse: func(address string) {
				go func() {
					p := exec.CommandContext(ctx, "node", "../../fixtures/servers/login.mjs", chromium, c.name, filepath.Join(pictures, c.name+".png"), address)
					out, err := p.CombinedOutput()
					if err != nil {
						out = append(out, err.Error()...)
					}
					page <- string(out)
				}()
			}}
			s.run(c.code, c.says, "login", "--timeout", "1m", at)
			if got := <-page; !strings.HasPrefix(got, c.page) || strings.Contains(got, "no effect") {
				t.Errorf("the page in the end is:\n%s", got)
			}
		})
	}
}
