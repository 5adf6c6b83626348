package faults

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// keepsLock runs one call of the slow tool at a time, and never lets the next
// one begin when one was cancelled.
func keepsLock() refserver.Seams {
	return slowInTurn(func(c *refserver.Call) bool { return c.Context().Err() == nil })
}

// clearUp is how long a server is busy with a call that was cancelled.
const clearUp = 100 * time.Millisecond

// endsCancelled runs one call of the slow tool at a time, and is busy with one
// that was cancelled for a while before it begins the next.
func endsCancelled() refserver.Seams {
	return slowInTurn(func(c *refserver.Call) bool {
		if c.Context().Err() != nil {
			pause(c.Session.Context(), clearUp)
		}
		return true
	})
}

// slowInTurn runs calls of the slow tool one after the other; leaves tells, when a
// call has ended, whether the next may begin.
func slowInTurn(leaves func(c *refserver.Call) bool) refserver.Seams {
	turn := make(chan struct{}, 1)
	return slowOnly(func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !takes(c.Context(), turn) {
			return nil, refserver.NoResponse
		}
		result, err := next(c)
		if leaves(c) {
			<-turn
		}
		return result, err
	})
}

// slowOnly handles the calls of the slow tool.
func slowOnly(f func(c *refserver.Call, next Handler) (any, *refserver.Error)) refserver.Seams {
	return Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if name, _ := wire.Text(wire.At(c.Params, "/name")); name != "slow" {
			return next(c)
		}
		return f(c, next)
	})
}

// takes waits for the turn, and reports whether it came before ctx ended.
func takes(ctx context.Context, turn chan<- struct{}) bool {
	select {
	case turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}
