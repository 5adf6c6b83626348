package faults

import (
	"context"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// requestIf sends a request to the client after notifications/initialized, if the session matches.
func requestIf(when func(s *refserver.Session) bool, method string, params any) *refserver.Seams {
	return onInitialized(func(s *refserver.Session) {
		if when(s) {
			s.Go(func(ctx context.Context) { _, _ = s.SendRequest(ctx, wire.ID{}, method, params) })
		}
	})
}

// declares matches sessions whose client declared a capability.
func declares(path ...string) func(s *refserver.Session) bool {
	return func(s *refserver.Session) bool { return s.ClientDeclared(path...) }
}

func doesNotDeclare(path ...string) func(s *refserver.Session) bool {
	return func(s *refserver.Session) bool { return !s.ClientDeclared(path...) }
}

// allOf matches sessions that match all conditions.
func allOf(several ...func(s *refserver.Session) bool) func(s *refserver.Session) bool {
	return func(s *refserver.Session) bool {
		for _, when := range several {
			if !when(s) {
				return false
			}
		}
		return true
	}
}

// sendFromTool makes a tool send a request to the client before the tool runs, if the session
// matches.
func sendFromTool(tool string, when func(s *refserver.Session) bool, method string, params any) *refserver.Seams {
	return wrapTool(tool, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if when(c.Session) {
			_, _ = c.SendRequest(method, params)
		}
		return next(c)
	})
}

// wrapTool wraps the handler of one tool's calls.
func wrapTool(tool string, f func(c *refserver.Call, next Handler) (any, *refserver.Error)) *refserver.Seams {
	return WrapHandler("tools/call", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if name, _ := wire.Text(wire.At(c.Params, "/name")); name == tool {
			return f(c, next)
		}
		return next(c)
	})
}

// onClientResponse calls decide for each matching response of the client to a request of the
// method; decide determines what happens to that response. The server waits for the client's
// responses without a timeout.
//
//go:noinline
func onClientResponse(method string, when func(reply *wire.Message) bool, decide func(s *refserver.Session, raw []byte) refserver.FrameAction) func() *refserver.Seams {
	return func() *refserver.Seams {
		var mu sync.Mutex
		asked := map[string]bool{}
		return &refserver.Seams{
			RequestTimeout: noTimeout,
			Outgoing: func(o *refserver.Out) {
				if o.Kind == refserver.OutRequest && o.Method == method {
					mu.Lock()
					defer mu.Unlock()
					asked[o.ID.Key()] = true
				}
			},
			Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
				f := wire.Parse(raw)
				if len(f.Messages) != 1 || f.Messages[0].Kind != wire.Response {
					return refserver.Pass(raw)
				}
				mu.Lock()
				defer mu.Unlock()
				if m := &f.Messages[0]; asked[m.ID.Key()] && when(m) {
					return decide(s, raw)
				}
				return refserver.Pass(raw)
			},
		}
	}
}

// replaceByError delivers an error to the server instead of the client's result.
func replaceByError(_ *refserver.Session, raw []byte) refserver.FrameAction {
	return refserver.Pass(wire.NewError(wire.Parse(raw).Messages[0].ID, -32603, "The reply can't be read", nil))
}

// isErrorResponse matches error responses.
func isErrorResponse(m *wire.Message) bool { return m.IsError() }

// resultHasText matches responses whose result has the given string at the JSON pointer.
func resultHasText(pointer, text string) func(m *wire.Message) bool {
	return func(m *wire.Message) bool {
		got, _ := wire.Text(wire.At(m.Result(), pointer))
		return got == text
	}
}

// resultLacks matches results that have nothing at the JSON pointer.
func resultLacks(pointer string) func(m *wire.Message) bool {
	return func(m *wire.Message) bool { return m.Has("result") && wire.At(m.Result(), pointer) == nil }
}
