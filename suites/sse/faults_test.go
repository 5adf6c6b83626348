package sse_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/sse"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, m := range []suitetest.Misbehaviour{
		{
			Name: "a server that behaves", Case: "sse.side-by-side",
			Kept: []string{"sse.multiple-clients", "sse.response-on-own-stream"},
		},
		{Name: "names that lead here", Case: "sse.origin", Kept: []string{"sse.origin-validated"}},
		{
			Name: "messages of one client go to another", Case: "sse.side-by-side",
			Seams: func() refserver.Seams {
				return refserver.Seams{Outgoing: func(o *refserver.Out) {
					for i, frame := range o.Frames {
						o.Frames[i] = bytes.ReplaceAll(frame, []byte("client-1-token"), []byte("client-0-token"))
					}
				}}
			},
			Want: []string{"sse.response-on-own-stream: The server sends a client a message for another. (warning)"},
		},
		{
			Name: "progress by the token alone", Case: "sse.side-by-side", Seams: progressByToken,
			Want: []string{"sse.response-on-own-stream: The server sends a client another's progress for its token. (warning)"},
		},
	} {
		m.Transport, m.Revision = spec.SSE, spec.V20241105
		m.Try(t, sse.Cases())
	}
}

// progressByToken returns the fault of a server that keys its calls by progress
// token alone. It sends progress to the newest call with the token, whichever
// client made it.
func progressByToken() refserver.Seams {
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
