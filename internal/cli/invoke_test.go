package cli

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// invoke is Main without its cleanup, after which a process cannot start
// servers any more.
func invoke(args []string, w World) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	a := &app{World: w, wire: w.Out, wireErr: w.Err, ctx: ctx, cancel: cancel, secrets: redact.New()}
	root := a.root()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return a.fail(err)
	}
	return a.code
}
