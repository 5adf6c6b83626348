package cli

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// invoke is Main without its cleanup, after which a process cannot start
// servers any more.
func invoke(args []string, w World) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	a := &app{World: w, wire: w.Out, wireErr: w.Err, ctx: ctx, cancel: cancel, secrets: redact.New()}
	root := a.rootCommand()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return a.fail(err)
	}
	return a.code
}

// linkedTool returns the path of a program that is the tool: the test binary acts as it under this
// name.
func linkedTool(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows lets only privileged users make symbolic links")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(t.TempDir(), "mcp-conform")
	if err := os.Symlink(self, tool); err != nil {
		t.Fatal(err)
	}
	return tool
}
