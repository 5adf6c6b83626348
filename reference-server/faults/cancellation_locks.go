package faults

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// neverReleaseLock runs one call of the slow tool at a time, and never lets the next
// one begin when one was cancelled.
func neverReleaseLock() refserver.Seams {
	return serializeSlow(func(c *refserver.Call) bool { return c.Context().Err() == nil })
}

// clearUp is how long a server is busy with a call that was cancelled.
const clearUp = 100 * time.Millisecond

// delayAfterCancelled runs one call of the slow tool at a time, and is busy with one
// that was cancelled for a while before it begins the next.
func delayAfterCancelled() refserver.Seams {
	return serializeSlow(func(c *refserver.Call) bool {
		if c.Context().Err() != nil {
			sleep(c.Session.Context(), clearUp)
		}
		return true
	})
}

// serializeSlow runs calls of the slow tool one after the other; leaves tells, when a
// call has ended, whether the next may begin.
func serializeSlow(leaves func(c *refserver.Call) bool) refserver.Seams {
	turn := make(chan struct{}, 1)
	return wrapSlow(func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !acquire(c.Context(), turn) {
			return nil, refserver.NoResponse
		}
		result, err := next(c)
		if leaves(c) {
			<-turn
		}
		return result, err
	})
}

// wrapSlow handles the calls of the slow tool.
func wrapSlow(f func(c *refserver.Call, next Handler) (any, *refserver.Error)) refserver.Seams {
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if name, _ := wire.Text(wire.At(c.Params, "/name")); name != "slow" {
			return next(c)
		}
		return f(c, next)
	})
}

// acquire waits for the turn, and reports whether it came before ctx ended.
func acquire(ctx context.Context, turn chan<- struct{}) bool {
	select {
	case turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}
