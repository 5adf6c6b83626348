package faults

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// crossingFaults returns the faults that mix up messages of concurrent sessions.
func crossingFaults() []*Fault {
	const several, isolated = "streamable-http.multiple-clients/", "streamable-http.session-isolation/"
	return []*Fault{
		newFaultWithState(several+"crossed", "a response is sent to the client that last used its id", routeByCallID),
		newFaultWithState(several+"cancelled-by-id", "when a client closes the stream of a call, the newest call with its id is cancelled", func() *refserver.Seams {
			return onForeignDisconnect(func(*refserver.Call) *refserver.Error {
				return &refserver.Error{Code: spec.CodeInternal, Message: "The call was cancelled"}
			})
		}).inRevisions(spec.StatelessRevisions()...).overTransports(spec.StreamableHTTP),
		newFaultWithState(isolated+"cancels", "a cancellation cancels requests with its id in all sessions", func() *refserver.Seams { return applyToAllSessions(isCancelling) }),
		newFaultWithState(isolated+"replies-crossed", "one client's response is delivered to another session", swapClientResponses),
	}
}

func isCancelling(v *exchange) bool { return v.has(wire.Notification, spec.MethodCancelled) }

const legacySession = "sessionId"

// session returns the session id of the request, over either HTTP transport.
func (v *exchange) session() string {
	if id := v.r.Header.Get(sessionHeader); id != "" {
		return id
	}
	return v.r.URL.Query().Get(legacySession)
}

// setSession changes the session id of the request.
func (v *exchange) setSession(session string) {
	q := v.r.URL.Query()
	if q.Get(legacySession) == "" {
		v.r.Header.Set(sessionHeader, session)
		return
	}
	q.Set(legacySession, session)
	v.r.URL.RawQuery = q.Encode()
}

// applyToAllSessions applies the matching requests of one session to all sessions.
func applyToAllSessions(when func(v *exchange) bool) *refserver.Seams {
	var mu sync.Mutex
	var known []string
	return onExchange(isPost, func(v *exchange) {
		own := v.session()
		mu.Lock()
		if !slices.Contains(known, own) && own != "" {
			known = append(known, own)
		}
		others := slices.Clone(known)
		mu.Unlock()
		if when(v) {
			body, _ := io.ReadAll(v.r.Body)
			v.r.Body = io.NopCloser(bytes.NewReader(body))
			for _, other := range others {
				if other != own {
					copied := &exchange{r: v.r.Clone(v.r.Context())}
					copied.r.Body = io.NopCloser(bytes.NewReader(body))
					copied.setSession(other)
					v.serveDiscarding(copied.r)
				}
			}
		}
		v.serve()
	})
}

// callIDs returns the ids of the tools/call requests in the body.
func (v *exchange) callIDs() []string {
	var out []string
	for i := range v.frame.Messages {
		if m := &v.frame.Messages[i]; m.Kind == wire.Request && m.Method == spec.MethodToolsCall {
			out = append(out, m.ID.Key())
		}
	}
	return out
}

// responseID returns the id of the response in an event, or "" if the event contains no response.
func responseID(event []byte) string {
	if !eventHasResponse(event) {
		return ""
	}
	return wire.Parse(eventData(event)).Messages[0].ID.Key()
}

// routeByCallID sends the response to a call to the client that last used the call's id,
// in any session.
func routeByCallID() *refserver.Seams {
	var mu sync.Mutex
	newest := map[string]*responseEditor{}
	return editResponses(hasRequestOf(spec.MethodToolsCall), func(v *exchange, r *responseEditor) {
		mu.Lock()
		for _, id := range v.callIDs() {
			newest[id] = r
		}
		mu.Unlock()
		r.editBody = func(b []byte) []byte {
			mu.Lock()
			to := newest[responseID(b)]
			mu.Unlock()
			if to == nil || to == r || !r.isStream() {
				return b
			}
			to.writeRaw(removeEventID(b))
			return nil
		}
	})
}

// A waitingResponse is a client's response that waits to be swapped with one of
// another session.
type waitingResponse struct {
	session string
	other   chan string
}

// swapClientResponses swaps the responses of two clients that arrive at about the same
// time.
func swapClientResponses() *refserver.Seams {
	var mu sync.Mutex
	var waiting *waitingResponse
	return onExchange(hasOnlyResponses, func(v *exchange) {
		own := &waitingResponse{session: v.session(), other: make(chan string, 1)}
		mu.Lock()
		if first := waiting; first != nil && first.session != own.session {
			waiting = nil
			first.other <- own.session
			own.other <- first.session
		} else {
			waiting = own
		}
		mu.Unlock()
		select {
		case session := <-own.other:
			v.setSession(session)
		case <-time.After(10 * briefly):
			mu.Lock()
			if waiting == own {
				waiting = nil
			}
			mu.Unlock()
		}
		v.serve()
	})
}

// onForeignDisconnect calls f when a call of a tool ends, if another call with the same id lost its
// client meanwhile, and this call was the newest one with the id. An error that f returns is the
// response.
func onForeignDisconnect(f func(*refserver.Call) *refserver.Error) *refserver.Seams {
	type running struct{ overtaken bool }
	var mu sync.Mutex
	newest := map[string]*running{} // by id
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		key, own := c.ID.Key(), &running{}
		mu.Lock()
		newest[key] = own
		mu.Unlock()
		result, err := next(c) // returns at once if the client disconnects
		mu.Lock()
		if other := newest[key]; c.Context().Err() != nil && other != nil {
			other.overtaken = true
		}
		overtaken := own.overtaken
		if newest[key] == own {
			delete(newest, key)
		}
		mu.Unlock()
		if overtaken {
			if failure := f(c); failure != nil {
				return nil, failure
			}
		}
		return result, err
	})
}

// legalCrossing returns the legal variations in what concurrent sessions share.
func legalCrossing() []*Fault {
	return []*Fault{
		newVariationWithState("http-changes-for-all", "list_changed is also sent to another session", func() *refserver.Seams {
			e := newListeningStreams()
			return combineSeams(markReadOnly("trigger-list-changed"), editResponses(anyExchange, func(v *exchange, r *responseEditor) {
				session := v.r.Header.Get(sessionHeader)
				if opensListeningStream(v) {
					remove := e.add(session, r)
					go func() { <-v.r.Context().Done(); remove() }()
					return
				}
				r.editBody = func(b []byte) []byte {
					if other := e.otherSession(session); r.isStream() && other != "" && eventCarries(b, wire.Notification, spec.MethodToolsChanged, spec.MethodPromptsChanged, spec.MethodResourcesChanged) {
						e.write(other, removeEventID(b))
					}
					return b
				}
			}))
		}),
		newVariationWithState("http-slower-after-disconnect", "when a client closes the stream of a call, the newest call with its id takes longer", func() *refserver.Seams {
			return onForeignDisconnect(func(c *refserver.Call) *refserver.Error {
				sleep(c.Context(), 10*briefly)
				return nil
			})
		}).inRevisions(spec.StatelessRevisions()...).overTransports(spec.StreamableHTTP),
		newVariationWithState("http-one-at-a-time", "lists and pings of all sessions run one at a time", func() *refserver.Seams {
			var mu sync.Mutex
			return onExchange(hasRequestOf(spec.MethodToolsList, spec.MethodPing, spec.MethodPromptsList, spec.MethodResourcesList), func(v *exchange) {
				mu.Lock()
				defer mu.Unlock()
				v.serve()
			})
		}),
	}
}
