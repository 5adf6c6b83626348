package faults

import (
	"sync"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// connectionFaults returns the fault of cursors that depend on the connection.
func connectionFaults() []*Fault {
	var issued sync.Map // the session of each cursor
	return []*Fault{
		newFault("pagination.cursor.works-on-other-connection-2026-07-28/process", "a cursor works only in the process that issued it", WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if cursor, ok := wire.Text(wire.At(c.Params, "/cursor")); ok {
				if of, known := issued.Load(callKey{c.Session, cursor}); !known || of != c.Session {
					return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "This cursor was never given out"}
				}
			}
			result, err := next(c)
			if err == nil {
				if cursor, ok := wire.Text(wire.At(wire.JSON(result), "/nextCursor")); ok {
					issued.Store(callKey{c.Session, cursor}, c.Session)
				}
			}
			return result, err
		})),
	}
}

// shortenPagesOfEverySecondServer makes every second server leave out, in a list, the first entry
// of each page that has several entries.
func shortenPagesOfEverySecondServer(method string) func() *refserver.Seams {
	var servers atomic.Int64
	return func() *refserver.Seams {
		if servers.Add(1)%2 == 0 {
			return &refserver.Seams{}
		}
		return EditResult(method, dropFirst(method))
	}
}

// forgetAfter leaves out, in a list, the first entry of each page that has several entries, once
// the client has sent a request of the given method. list is the method of the list.
func forgetAfter(method, list string) func() *refserver.Seams {
	return func() *refserver.Seams {
		var asked atomic.Bool
		return combineSeams(
			WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				asked.Store(true)
				return next(c)
			}),
			EditResult(list, func(r map[string]any) {
				if asked.Load() {
					dropFirst(list)(r)
				}
			}),
		)
	}
}

// dropFirst returns an edit that removes the first entry of a page that has several entries.
func dropFirst(method string) edit {
	return func(r map[string]any) {
		if items, _ := r[listMembers[method]].([]any); len(items) > 1 {
			r[listMembers[method]] = items[1:]
		}
	}
}
