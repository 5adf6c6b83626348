package base_test

import (
	"bytes"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

type handler = func(*refserver.Call) (any, *refserver.Error)

func handle(f func(*refserver.Call, handler) (any, *refserver.Error)) func() refserver.Seams {
	return func() refserver.Seams { return refserver.Seams{Handle: f} }
}

func incoming(f func([]byte) refserver.FrameAction) func() refserver.Seams {
	return func() refserver.Seams {
		return refserver.Seams{Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction { return f(raw) }}
	}
}

// rewrite replaces one text by another in incoming frames.
func rewrite(from, to string) func() refserver.Seams {
	return incoming(func(raw []byte) refserver.FrameAction {
		return refserver.Pass(bytes.Replace(raw, []byte(from), []byte(to), 1))
	})
}

func die([]byte) refserver.FrameAction { return refserver.ExitWith(1) }

func dieOf(text string) func() refserver.Seams {
	return incoming(func(raw []byte) refserver.FrameAction {
		if bytes.Contains(raw, []byte(text)) {
			return refserver.ExitWith(1)
		}
		return refserver.Pass(raw)
	})
}
