package faults

import (
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// statelessStdioFaults returns the faults of stdio in the stateless era.
func statelessStdioFaults() []*Fault {
	const exits, related = "stdio.exit-on-stdin-close-2026-07-28/", "stdio.only-related-notifications/"
	return []*Fault{
		newFault(exits+"stays", "the server does not exit when stdin is closed, only after SIGTERM", onEnd(func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
			return 0, why != refserver.InputClosed
		})),
		newFaultWithState(exits+"subscribed", "after subscriptions/listen the server does not exit when stdin is closed", func() *refserver.Seams {
			var subscribed atomic.Bool
			return combineSeams(WrapHandler(spec.MethodListen, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				subscribed.Store(true)
				return next(c)
			}), onEnd(func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
				return 0, why != refserver.InputClosed || !subscribed.Load()
			}))
		}),
		newFault(related+"own", "after each tools/list the server sends a notification of its own", appendLines(statelessResults(spec.MethodToolsList),
			`{"jsonrpc":"2.0","method":"notifications/com.example.note"}`)),
	}
}

// statelessResults is like Results, but matches only results of the stateless era.
func statelessResults(methods ...string) MessageFilter {
	return func(o *refserver.Out) bool { return o.Revision.Era() == spec.Stateless && Results(methods...)(o) }
}
