package faults

import (
	"maps"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// completeRecipientFaults returns the faults that send notifications/elicitation/complete
// to the wrong client.
func completeRecipientFaults() []*Fault {
	const web = spec.StreamableHTTP
	return []*Fault{
		newFaultWithState("elicitation.complete.only-to-initiator-2025-11-25/everybody", "elicitation/complete is sent to all clients", func() *refserver.Seams {
			return sendToAllSessions(func(o *refserver.Out) bool {
				return o.Kind == refserver.OutNotification && o.Method == spec.MethodElicitDone
			})
		}).overTransports(web),
	}
}

// sendToAllSessions sends the matching messages also to all other open sessions to which the
// server has sent a message before.
func sendToAllSessions(when MessageFilter) *refserver.Seams {
	var mu sync.Mutex
	sessions := map[*refserver.Session]bool{}
	return EditOutgoing(AnyMessage, func(o *refserver.Out) {
		mu.Lock()
		sessions[o.Session] = true
		all := slices.Collect(maps.Keys(sessions))
		mu.Unlock()
		if !when(o) {
			return
		}
		for _, s := range all {
			if s != o.Session && s.Context().Err() == nil {
				s.SendRaw(o.Frames[0])
			}
		}
	})
}
