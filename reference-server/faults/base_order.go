package faults

import (
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// orderFaults returns the faults of a server that mixes up the responses to two pending
// sampling requests.
func orderFaults() []*Fault {
	const matched = "base.response-matched-by-id/"
	return []*Fault{
		newFaultWithState(matched+"oldest-first", "the server treats every response as that to its oldest pending request", func() *refserver.Seams {
			return reassignReplies(func(open []wire.ID, _ wire.ID) wire.ID { return open[0] })
		}),
		newFaultWithState(matched+"newest-first", "the server swaps the responses to its oldest and its newest pending request", func() *refserver.Seams {
			return reassignReplies(func(open []wire.ID, id wire.ID) wire.ID {
				if open[0].Same(id) || len(open) == 1 {
					return open[len(open)-1]
				}
				return open[0]
			})
		}),
	}
}

// reassignReplies replaces the id of each sampling response with the id that pick returns. The
// arguments of pick are the ids of the session's pending sampling requests, oldest first, and the
// id of the response. reassignReplies also sets readOnlyHint on the tool ask-sampling, so that the
// harness calls it.
func reassignReplies(pick func(open []wire.ID, id wire.ID) wire.ID) *refserver.Seams {
	var mu sync.Mutex
	open, asked := map[*refserver.Session][]wire.ID{}, map[*refserver.Session][]wire.ID{}
	return combineSeams(markReadOnly("ask-sampling"), &refserver.Seams{
		Outgoing: func(o *refserver.Out) {
			if IsServerRequest(o) && o.Method == spec.MethodSampling {
				mu.Lock()
				defer mu.Unlock()
				open[o.Session], asked[o.Session] = append(open[o.Session], o.ID), append(asked[o.Session], o.ID)
			}
		},
		Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
			f := wire.Parse(raw)
			if len(f.Messages) != 1 || f.Messages[0].Kind != wire.Response {
				return refserver.Pass(raw)
			}
			mu.Lock()
			defer mu.Unlock()
			id := f.Messages[0].ID
			if len(open[s]) == 0 || !slices.ContainsFunc(asked[s], id.Same) {
				return refserver.Pass(raw)
			}
			taken := pick(open[s], id)
			open[s] = slices.DeleteFunc(open[s], taken.Same)
			_, m := wire.Members(raw)
			m["id"] = []byte(taken.Raw())
			return refserver.Pass(wire.JSON(m))
		},
	})
}
