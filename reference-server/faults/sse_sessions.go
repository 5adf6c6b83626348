package faults

import (
	"bytes"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// sseCrossingFaults is like crossingFaults, but for HTTP with SSE.
func sseCrossingFaults() []*Fault {
	// 2024-11-05, the only revision that defines this transport, does not define readOnlyHint, so
	// the tools lack it by default.
	with := func(tool string, seams func() *refserver.Seams) func() *refserver.Seams {
		return func() *refserver.Seams { return combineSeams(markReadOnly(tool), seams()) }
	}
	return []*Fault{
		newFaultWithState("sse.multiple-clients/crossed", "a response is sent to the client that last used its id", with("slow", routeByCallIDOverSSE)),
		newFaultWithState("sse.response-on-own-stream/cancels", "a cancellation cancels requests with its id in all sessions", with("slow", func() *refserver.Seams {
			return applyToAllSessions(isCancelling)
		})),
		newFaultWithState("sse.response-on-own-stream/replies-crossed", "one client's response is delivered to another session", with("ask-sampling", swapClientResponses)),
	}
}

// routeByCallIDOverSSE is like routeByCallID, but for HTTP with SSE.
func routeByCallIDOverSSE() *refserver.Seams {
	var mu sync.Mutex
	streams, newest := map[string]*responseEditor{}, map[string]string{}
	return combineSeams(editResponses(opensListeningStream, func(_ *exchange, r *responseEditor) {
		r.editBody = func(b []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			if isEndpoint(b) {
				_, id, _ := strings.Cut(string(eventData(b)), legacySession+"=")
				streams[id] = r
			}
			to := streams[newest[responseID(b)]]
			if to == nil || to == r {
				return b
			}
			go to.writeRaw(bytes.Clone(b)) // in a goroutine: the other stream may be writing now
			return nil
		}
	}), onExchange(hasRequestOf(spec.MethodToolsCall), func(v *exchange) {
		mu.Lock()
		for _, id := range v.callIDs() {
			newest[id] = v.session()
		}
		mu.Unlock()
		v.serve()
	}))
}

// sseLeakFaults is like leakFaults, but for HTTP with SSE.
func sseLeakFaults() []*Fault {
	return []*Fault{
		newFaultWithState("sse.response-on-own-stream/log-level", "one client's log level applies to all sessions", func() *refserver.Seams {
			return combineSeams(markReadOnly("log"), applyToAllSessions(hasRequestOf(spec.MethodSetLevel)))
		}),
		newFaultWithState("sse.response-on-own-stream/logs", "log messages are sent on all streams", func() *refserver.Seams {
			return combineSeams(markReadOnly("log"), sendToAllStreams(wire.Notification, spec.MethodMessage))
		}),
	}
}

// sendToAllStreams also sends the messages of the given kind on the streams of all other clients.
// If methods are given, it does so only for messages of these methods.
func sendToAllStreams(kind wire.Kind, methods ...string) *refserver.Seams {
	return copyToListeningStreams(func(streams []*responseEditor) []*responseEditor { return streams }, kind, methods...)
}
