package faults

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// neverReleaseLock runs the calls of the tool slow one at a time. After a running call was
// cancelled, no other call starts.
func neverReleaseLock() *refserver.Seams {
	return serializeSlow(func(c *refserver.Call) bool { return c.Context().Err() == nil })
}

// clearUp is how long the server stays busy after a cancelled call.
const clearUp = 100 * time.Millisecond

// delayAfterCancelled runs the calls of the tool slow one at a time. After a running call was
// cancelled, the next call starts only after clearUp.
func delayAfterCancelled() *refserver.Seams {
	return serializeSlow(func(c *refserver.Call) bool {
		if c.Context().Err() != nil {
			sleep(c.Session.Context(), clearUp)
		}
		return true
	})
}

// serializeSlow runs the calls of the tool slow one at a time. After each call, releases reports
// whether the next call may start.
func serializeSlow(releases func(c *refserver.Call) bool) *refserver.Seams {
	turn := make(chan struct{}, 1)
	return wrapSlow(func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !acquire(c.Context(), turn) {
			return nil, refserver.NoResponse
		}
		result, err := next(c)
		if releases(c) {
			<-turn
		}
		return result, err
	})
}

// wrapSlow wraps the handler of calls of the tool slow.
func wrapSlow(f func(c *refserver.Call, next Handler) (any, *refserver.Error)) *refserver.Seams {
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if name, _ := wire.Text(wire.At(c.Params, "/name")); name != "slow" {
			return next(c)
		}
		return f(c, next)
	})
}

// acquire waits for the slot of the channel turn. It reports whether it acquired the slot before
// ctx ended.
func acquire(ctx context.Context, turn chan<- struct{}) bool {
	select {
	case turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}
