package client

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestStatelessServer holds a conversation of the stateless era with a server
// on @modelcontextprotocol/server, which fixtures/servers/install.sh installs.
func TestStatelessServer(t *testing.T) {
	folder := filepath.Join("..", "..", "fixtures", "servers")
	node, err := exec.LookPath("node")
	if err != nil {
		skip.Missing(t, "real server", "node is not installed")
	}
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "@modelcontextprotocol", "server")); err != nil {
		skip.Missing(t, "real server", "the real servers are not installed; fixtures/servers/install.sh does that")
	}
	dialer := stdio.NewDialer(stdio.Command{Argv: []string{node, "stateless.mjs"}, Dir: folder})
	c, err := Open(t.Context(), dialer, Options{Revision: spec.V20260728, StartTimeout: DefaultTimeout * 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Handshake(t.Context()); err != nil {
		t.Fatalf("%v; stderr: %s", err, c.Stderr(2000))
	}
	if s := c.Server(); !s.Declares("tools") || len(wire.Elements(wire.At(s.Result, "/supportedVersions"))) != 1 {
		t.Errorf("server/discover says %s", s.Result)
	}
	r := c.Do(t.Context(), spec.MethodToolsList, nil)
	if !r.Succeeded() {
		t.Fatalf("tools/list: %+v", r)
	}
	if name, _ := wire.Text(wire.At(r.Message.Result(), "/tools/0/name")); name != "greet" {
		t.Errorf("tools/list says %s", r.Message.Result())
	}
	call := c.Do(t.Context(), spec.MethodToolsCall, map[string]any{"name": "greet", "_meta": map[string]any{"progressToken": "p"}})
	if text, _ := wire.Text(wire.At(call.Message.Result(), "/content/0/text")); text != "hello" {
		t.Errorf("tools/call says %s", call.Message.Raw)
	}
	id := c.NewID()
	if bare := c.DoRaw(t.Context(), id, wire.NewRequest(id, spec.MethodToolsList, nil)); bare.Succeeded() {
		t.Errorf("without the metadata tools/list says %s, so this test proves nothing", bare.Message.Raw)
	}
	if err := c.AwaitQuiet(t.Context()); err != nil {
		t.Errorf("server/discover is not a fence: %v", err)
	}
	var methods []string
	for _, e := range c.Record.From(0) {
		if e.Kind == transcript.Sent {
			methods = append(methods, e.Messages()[0].Method)
		}
	}
	if diff := cmp.Diff([]string{"server/discover", "tools/list", "tools/call", "tools/list", "server/discover"}, methods); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}
