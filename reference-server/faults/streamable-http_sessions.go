package faults

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func sessionFaults() []*Fault {
	const charset, unique, required = "streamable-http.session-id-charset/", "streamable-http.session-id-unique-secure/", "streamable-http.session-required-400/"
	const over, several = "streamable-http.session-terminated-404/", "streamable-http.multiple-clients/"
	named := func(name func(n int, id string) string) func() *refserver.Seams {
		return func() *refserver.Seams { return mapSessionIDs(name) }
	}
	nameless := func(v *exchange) bool { return v.r.Header.Get(sessionHeader) == "" && !isInitialize(v) }
	// ended calls the function do to respond to requests with the id of an ended session.
	ended := func(do func(v *exchange)) func() *refserver.Seams {
		return func() *refserver.Seams {
			var mu sync.Mutex
			gone := map[string]bool{}
			return onExchange(func(v *exchange) bool {
				mu.Lock()
				defer mu.Unlock()
				id := v.r.Header.Get(sessionHeader)
				was := gone[id]
				gone[id] = was || isDelete(v) && id != ""
				return was
			}, do)
		}
	}
	return []*Fault{
		newFaultWithState(charset+"space", "session ids contain a space", named(func(_ int, id string) string { return id[:10] + " " + id[10:] })),
		newFaultWithState(charset+"latin-1", "session ids contain non-ASCII characters", named(func(_ int, id string) string { return "s\xe9ance-" + id })),
		newFaultWithState(charset+"utf-8", "session ids contain non-ASCII characters in UTF-8", named(func(_ int, id string) string { return "séance-" + id })),
		newFaultWithState(unique+"counter", "session ids are consecutive numbers", named(func(n int, _ string) string { return strconv.Itoa(n) })),
		newFaultWithState(unique+"long-counter", "session ids are long and end in consecutive numbers", named(func(n int, _ string) string { return "session-number-0000000000-" + strconv.Itoa(n) })),
		newFaultWithState(unique+"uuid-counter", "session ids are consecutive UUIDs", named(func(n int, _ string) string {
			return "0f8fad5b-d9cb-469f-a165-" + fmt.Sprintf("%012x", 0x0708677289f0+n)
		})),
		newFaultWithState(unique+"short", "session ids have four letters", named(func(_ int, id string) string { return id[:4] })),
		newFaultWithState(unique+"same", "all sessions have the same id", named(func(int, string) string { return "7d9f0a52-41d8-4b60-9e0c-5d2f8a1b6c34" })),
		newFaultWithState(unique+"again", "a new session gets the id of an ended one", reuseSessionIDs),
		newFault(required+"404", "requests without a session id get 404", onExchange(nameless, respondText(http.StatusNotFound))),
		newFault(required+"get", "a GET without a session id opens a stream", openStreamWithoutSession("")),
		newFault(required+"500", "requests without a session id get 500", onExchange(nameless, respondText(http.StatusInternalServerError))),
		newFault(over+"served", "DELETE succeeds, but the session continues", onExchange(isDelete, respond(http.StatusNoContent, "", ""))),
		newFaultWithState(over+"400", "requests with the id of an ended session get 400", ended(respondText(http.StatusBadRequest))),
		newFaultWithState(over+"accepted", "messages with the id of an ended session get 202", ended(respond(http.StatusAccepted, "", ""))),
		newFaultWithState("streamable-http.session-unknown-404/served", "the server accepts an unknown session id", func() *refserver.Seams {
			m := &sessionList{}
			return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
				if id := v.r.Header.Get(sessionHeader); id != "" && !m.has(id) && m.latest() != "" {
					v.r.Header.Set(sessionHeader, m.latest())
				}
				m.track(v, r)
			})
		}),
		newFault("streamable-http.session-delete/500", "DELETE gets 500", onExchange(isDelete, respondText(http.StatusInternalServerError))),
		newFault("streamable-http.session-delete/404", "DELETE gets 404, but the session continues", onExchange(isDelete, respondText(http.StatusNotFound))),
		newFaultWithState("streamable-http.session-isolation/misdirected", "messages of one session are also sent to another", misdirectEvents),
		newFault("streamable-http.initialize-without-session/400", "initialize requires a session id", onExchange(func(v *exchange) bool {
			return isInitialize(v) && v.r.Header.Get(sessionHeader) == ""
		}, respondText(http.StatusBadRequest))).unreachable(),
		newFaultWithState(several+"refused", "the server refuses a third concurrent client", func() *refserver.Seams {
			m := &sessionList{}
			return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
				m.track(v, r)
				if isInitialize(v) && m.count() > 1 {
					v.next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
				}
			})
		}),
		newFaultWithState(several+"mixed-up", "clients whose requests have the same id get the same response", shareResponses),
	}
}

// openStreamWithoutSession responds to a GET without a session id with a stream that begins with
// the given event.
func openStreamWithoutSession(event string) *refserver.Seams {
	return onExchange(func(v *exchange) bool { return opensListeningStream(v) && v.r.Header.Get(sessionHeader) == "" }, func(v *exchange) {
		v.w.Header().Set("Content-Type", streamType)
		v.w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(v.w, event)
		_ = http.NewResponseController(v.w).Flush()
		<-v.r.Context().Done()
	})
}

func versionHeaderFaults() []*Fault {
	const invalid = "streamable-http.version-header-invalid-400/"
	illegal := func(v *exchange) bool {
		version := spec.Revision(v.r.Header.Get(versionHeader))
		return version != "" && !version.IsPublished() && !isInitialize(v)
	}
	return []*Fault{
		newFault("streamable-http.version-header-default/400", "requests without MCP-Protocol-Version get 400", onExchange(func(v *exchange) bool {
			return v.r.Header.Get(versionHeader) == "" && !isInitialize(v)
		}, respondText(http.StatusBadRequest))),
		newFault(invalid+"served", "the server accepts any MCP-Protocol-Version", onExchange(illegal, func(v *exchange) {
			v.r.Header.Del(versionHeader)
			v.serve()
		})),
		newFault(invalid+"406", "an invalid MCP-Protocol-Version gets 406", onExchange(illegal, respondText(http.StatusNotAcceptable))),
		newFault(invalid+"500", "an invalid MCP-Protocol-Version gets 500", onExchange(illegal, respondText(http.StatusInternalServerError))),
		newFault(invalid+"get", "GET accepts an invalid MCP-Protocol-Version", onExchange(func(v *exchange) bool { return illegal(v) && v.r.Method == http.MethodGet }, func(v *exchange) {
			v.r.Header.Del(versionHeader)
			v.serve()
		})),
	}
}

// closingFaults returns the faults that close the connection instead of responding
// with the required error status.
func closingFaults() []*Fault {
	endedOnes := func(do func(v *exchange)) func() *refserver.Seams {
		return func() *refserver.Seams {
			var mu sync.Mutex
			gone := map[string]bool{}
			return onExchange(func(v *exchange) bool {
				mu.Lock()
				defer mu.Unlock()
				id := v.r.Header.Get(sessionHeader)
				was := gone[id]
				gone[id] = was || isDelete(v) && id != ""
				return was && !isDelete(v)
			}, do)
		}
	}
	return []*Fault{
		newFaultWithState("streamable-http.session-terminated-404/closes", "a request with the id of an ended session gets no HTTP response", endedOnes(closeWithoutResponse)),
		newFault("streamable-http.version-header-invalid-400/closes", "a request with an unknown MCP-Protocol-Version gets no HTTP response", onExchange(func(v *exchange) bool {
			version := v.r.Header.Get(versionHeader)
			return version != "" && !spec.Revision(version).IsPublished()
		}, closeWithoutResponse)),
	}
}
