package faults

import (
	"context"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// asksWhere asks when the client has said initialized and has declared what
// when picks, in spite of what it has not.
func asksWhere(when func(s *refserver.Session) bool, method string, params any) refserver.Seams {
	return onceReady(func(s *refserver.Session) {
		if when(s) {
			s.Go(func(ctx context.Context) { _, _ = s.SendRequest(ctx, wire.ID{}, method, params) })
		}
	})
}

// declares picks the clients that declared a capability, lacks those that did not.
func declares(path ...string) func(s *refserver.Session) bool {
	return func(s *refserver.Session) bool { return s.Declared(path...) }
}

func lacks(path ...string) func(s *refserver.Session) bool {
	return func(s *refserver.Session) bool { return !s.Declared(path...) }
}

// and picks the clients that all of them pick.
func and(several ...func(s *refserver.Session) bool) func(s *refserver.Session) bool {
	return func(s *refserver.Session) bool {
		for _, when := range several {
			if !when(s) {
				return false
			}
		}
		return true
	}
}

// toolAsks has a tool ask the client before it does its work.
func toolAsks(tool string, when func(s *refserver.Session) bool, method string, params any) refserver.Seams {
	return calling(tool, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if when(c.Session) {
			_, _ = c.SendRequest(method, params)
		}
		return next(c)
	})
}

// calling wraps the calls of one tool.
func calling(tool string, f func(c *refserver.Call, next Handler) (any, *refserver.Error)) refserver.Seams {
	return Handle("tools/call", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if name, _ := wire.Text(wire.At(c.Params, "/name")); name == tool {
			return f(c, next)
		}
		return next(c)
	})
}

// onReply does something with the client's replies to requests for the method
// for which when holds.
func onReply(method string, when func(reply *wire.Message) bool, then func(s *refserver.Session, raw []byte) refserver.FrameAction) func() refserver.Seams {
	return func() refserver.Seams {
		var mu sync.Mutex
		asked := map[string]bool{}
		return refserver.Seams{
			RequestTimeout: patient,
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
					return then(s, raw)
				}
				return refserver.Pass(raw)
			},
		}
	}
}

// fails has a reply read as an error.
func fails(_ *refserver.Session, raw []byte) refserver.FrameAction {
	return refserver.Pass(wire.NewError(wire.Parse(raw).Messages[0].ID, -32603, "The reply can't be read", nil))
}

// isFailure picks the errors among the replies.
func isFailure(m *wire.Message) bool { return m.IsError() }

// saying picks the replies whose result has this text at the pointer.
func saying(pointer, text string) func(m *wire.Message) bool {
	return func(m *wire.Message) bool {
		got, _ := wire.Text(wire.At(m.Result(), pointer))
		return got == text
	}
}

// missing picks the results that have nothing at the pointer.
func missing(pointer string) func(m *wire.Message) bool {
	return func(m *wire.Message) bool { return m.Has("result") && wire.At(m.Result(), pointer) == nil }
}
