package faults

import (
	"bytes"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legacyCrossingFaults are the same over HTTP with SSE.
func legacyCrossingFaults() []Fault {
	// The revision knows no hint by which a tool could say that it only reads.
	with := func(tool string, seams func() refserver.Seams) func() refserver.Seams {
		return func() refserver.Seams { return together(harmless(tool), seams()) }
	}
	return []Fault{
		breaksAfresh("sse.multiple-clients/crossed", "an answer goes to the client that last made a call with its id", with("slow", crossedLegacy)),
		breaksAfresh("sse.response-on-own-stream/cancels", "a cancellation cancels the requests with its id in all sessions", with("slow", func() refserver.Seams {
			return forAll(isCancelling)
		})),
		breaksAfresh("sse.response-on-own-stream/replies-crossed", "what one client answers goes to another session that waits", with("ask-sampling", repliesCrossed)),
	}
}

// crossedLegacy does the same with the streams of the older transport.
func crossedLegacy() refserver.Seams {
	var mu sync.Mutex
	streams, newest := map[string]*reply{}, map[string]string{}
	return together(alters(listens, func(_ *visit, r *reply) {
		r.edit = func(b []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			if isEndpoint(b) {
				_, id, _ := strings.Cut(string(data(b)), legacySession+"=")
				streams[id] = r
			}
			to := streams[newest[answerTo(b)]]
			if to == nil || to == r {
				return b
			}
			go to.put(bytes.Clone(b)) // it may be writing to this stream just now
			return nil
		}
	}), visits(asking(spec.MethodToolsCall), func(v *visit) {
		mu.Lock()
		for _, id := range v.calls() {
			newest[id] = v.session()
		}
		mu.Unlock()
		v.serve()
	}))
}

// legacyLeakFaults are the same over HTTP with SSE.
func legacyLeakFaults() []Fault {
	return []Fault{
		breaksAfresh("sse.response-on-own-stream/log-level", "the log level that one client sets counts for all", func() refserver.Seams {
			return together(harmless("log"), forAll(asking(spec.MethodSetLevel)))
		}),
		breaksAfresh("sse.response-on-own-stream/logs", "log messages go to all streams", func() refserver.Seams {
			return together(harmless("log"), toAllStreams(wire.Notification, spec.MethodMessage))
		}),
	}
}

// toAllStreams puts messages on the streams of all clients.
func toAllStreams(kind wire.Kind, methods ...string) refserver.Seams {
	return copiedTo(func(streams []*reply) []*reply { return streams }, kind, methods...)
}
