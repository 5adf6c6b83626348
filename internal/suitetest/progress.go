package suitetest

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// ProgressByToken returns the fault of a server that keys its calls by progress
// token alone. It sends progress to the newest call with the token, whichever
// client made it.
func ProgressByToken() refserver.Seams {
	var mu sync.Mutex
	newest := map[string]*refserver.Call{}
	return refserver.Seams{
		BeforeHandle: func(c *refserver.Call) {
			if token, ok := wire.Text(wire.At(c.Params, "/_meta/progressToken")); ok {
				mu.Lock()
				newest[token] = c
				mu.Unlock()
			}
		},
		Outgoing: func(o *refserver.Out) {
			if o.Method != spec.MethodProgress || len(o.Frames) != 1 {
				return
			}
			params := wire.At(o.Frames[0], "/params")
			token, _ := wire.Text(wire.At(params, "/progressToken"))
			mu.Lock()
			c := newest[token]
			mu.Unlock()
			if c != nil && c.Session != o.Session {
				o.Frames = nil
				c.Notify(o.Method, params)
			}
		},
	}
}
