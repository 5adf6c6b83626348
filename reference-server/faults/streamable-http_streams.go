package faults

import (
	"bytes"
	"context"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const (
	logEvent = `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + "\n\n"
	// briefly is a short time: a delay, or the lifetime of a connection that a fault closes.
	briefly = 20 * time.Millisecond
)

func isPriming(event []byte) bool {
	return bytes.HasPrefix(event, []byte("id:")) && eventData(event) == nil
}

func streamFaults() []*Fault {
	const delivered, early, primed = "streamable-http.sse-response-delivered/", "streamable-http.sse-no-early-close/", "streamable-http.sse-priming-event/"
	const retried, ends, relates = "streamable-http.sse-retry-before-close/", "streamable-http.sse-close-after-response-2025-03-26/", "streamable-http.sse-interim-related-2025-03-26/"
	older := []spec.Revision{spec.V20250326, spec.V20250618}
	return []*Fault{
		newFault(delivered+"never", "streams end without the response", editEvents(isPost, chainEdits(dropEvents(eventHasResponse), removeEventID))).inRevisions(spec.V20251125),
		newFault(delivered+"cut", "the last event has no blank line after it", editEvents(isPost, func(b []byte) []byte {
			if eventHasResponse(b) {
				return bytes.TrimSuffix(b, []byte("\n"))
			}
			return b
		})),
		newFaultWithState(delivered+"other-stream", "responses are sent on the stream of another request", func() *refserver.Seams {
			return combineSeams(moveEventsToNextStream(eventHasResponse), editEvents(isPost, removeEventID))
		}),
		newFault(early+"resumed", "streams end before the response, which only a resumed stream has", editEvents(callsSlowTool, dropEvents(eventHasResponse))).inRevisions(older...),
		newFault(early+"lost", "streams end before the response, which is never sent", editEvents(callsSlowTool, chainEdits(dropEvents(eventHasResponse), removeEventID))).inRevisions(older...),

		newFault(primed+"missing", "streams begin without an event id", editEvents(isPost, dropEvents(isPriming))),
		newFault(primed+"with-data", "the first event of a stream has data", editEvents(isPost, func(b []byte) []byte {
			if isPriming(b) {
				return bytes.Replace(b, []byte("data:\n\n"), []byte(logEvent), 1)
			}
			return b
		})),
		newFault(primed+"no-id", "the first event of a stream has no id", editEvents(isPost, func(b []byte) []byte {
			if isPriming(b) {
				return []byte("data:\n\n")
			}
			return b
		})),
		newFault(retried+"closed", "the server closes the connection before the response, without a retry field", editEvents(callsSlowTool, dropEvents(eventHasResponse))),
		newFault(ends+"more", "messages follow the response", editEvents(isPost, func(b []byte) []byte {
			if eventHasResponse(b) {
				return append(b, logEvent...)
			}
			return b
		})),
		newFault(ends+"open", "streams stay open after the response", onExchange(hasRequestOf(spec.MethodToolsCall), func(v *exchange) {
			v.serve()
			if http.NewResponseController(v.w).Flush() == nil {
				<-v.r.Context().Done()
			}
		})),
		newFaultWithState(relates+"progress", "progress is sent on the stream of another request", func() *refserver.Seams { return moveEventsToNextStream(eventHasProgress) }),
	}
}

// An unflushedWriter ignores flushes before the first byte of the body.
type unflushedWriter struct {
	http.ResponseWriter

	wrote bool
}

// Write implements http.ResponseWriter.
func (u *unflushedWriter) Write(b []byte) (int, error) {
	u.wrote = u.wrote || len(b) > 0
	return u.ResponseWriter.Write(b)
}

// FlushError implements the interface that http.ResponseController uses.
func (u *unflushedWriter) FlushError() error {
	if !u.wrote {
		return nil
	}
	return http.NewResponseController(u.ResponseWriter).Flush()
}

func listenFaults() []*Fault {
	const endpoint, opens, response = "streamable-http.single-endpoint/", "streamable-http.get-stream-or-405/", "streamable-http.get-no-response/"
	const unrelated, once = "streamable-http.get-unrelated/", "streamable-http.no-broadcast/"
	is := func(kind wire.Kind) func([]byte) bool {
		return func(event []byte) bool { return eventCarries(event, kind) }
	}
	return []*Fault{
		newFault(endpoint+"404", "GET gets 404", onExchange(opensListeningStream, respondText(http.StatusNotFound))),
		newFault(endpoint+"501", "GET gets 501", onExchange(opensListeningStream, respondText(http.StatusNotImplemented))),
		newFault(opens+"400", "GET gets 400", onExchange(opensListeningStream, respondText(http.StatusBadRequest))),
		newFault(opens+"500", "GET gets 500", onExchange(opensListeningStream, respondText(http.StatusInternalServerError))),
		newFault(opens+"html", "GET gets an HTML page", onExchange(opensListeningStream, respond(http.StatusOK, "text/html", "<p>Hello"))),
		newFault(opens+"json", "GET gets JSON", onExchange(opensListeningStream, respond(http.StatusOK, jsonType, `{"status":"ok"}`))),
		newFault(opens+"204", "GET gets 204", onExchange(opensListeningStream, respond(http.StatusNoContent, "", ""))),
		newFault(opens+"not-flushed", "the header of the response to GET is sent with the first message", onExchange(opensListeningStream, func(v *exchange) {
			v.w = &unflushedWriter{ResponseWriter: v.w}
			v.serve()
			<-v.r.Context().Done() // a return would send the header
		})).inRevisions(spec.V20250326, spec.V20250618),
		newFault(opens+"202", "GET opens a stream with status 202", editStatus(opensListeningStream, replaceStatus(http.StatusOK, http.StatusAccepted))),
		newFaultWithState(response+"moved", "responses are sent on the listening stream", func() *refserver.Seams { return divertEvents(eventHasResponse, false) }),
		newFaultWithState(response+"all", "all messages are sent on the listening stream, and the stream of the POST gets none", func() *refserver.Seams {
			return divertEvents(func(event []byte) bool { return eventData(event) != nil }, false)
		}),
		newFaultWithState(unrelated+"progress", "progress is sent on the listening stream", func() *refserver.Seams { return divertEvents(eventHasProgress, false) }),
		newFaultWithState(once+"responses", "responses are also sent on the listening stream", func() *refserver.Seams { return divertEvents(eventHasResponse, true) }),
		newFaultWithState(once+"progress", "progress is also sent on the listening stream", func() *refserver.Seams { return divertEvents(eventHasProgress, true) }),
		newFaultWithState(once+"requests", "requests of the server are also sent on the listening stream", func() *refserver.Seams { return divertEvents(is(wire.Request), true) }),
		newFaultWithState(once+"changes", "notifications of changes are sent on all listening streams of a session", func() *refserver.Seams { return broadcast(notifyEach) }),
		newFaultWithState("streamable-http.concurrent-streams/409", "the server refuses a second listening stream", func() *refserver.Seams {
			var mu sync.Mutex
			open := map[string]bool{}
			return onExchange(opensListeningStream, func(v *exchange) {
				id := v.r.Header.Get(sessionHeader)
				mu.Lock()
				taken := open[id]
				open[id] = true
				mu.Unlock()
				if taken {
					respondText(http.StatusConflict)(v)
					return
				}
				v.serve()
				mu.Lock()
				delete(open, id)
				mu.Unlock()
			})
		}),
		newFault("streamable-http.get-retry-before-close/closed", "slow calls are polled, and no connection has a retry field", combineSeams(
			onExchange(callsSlowTool, func(v *exchange) {
				ctx, cancel := context.WithTimeout(v.r.Context(), briefly)
				defer cancel()
				v.r = v.r.WithContext(ctx)
				v.serve()
			}), editResponses(resumesCall, closeAfterFirstEvent))),
	}
}

var eventIDs = regexp.MustCompile(`(?m)^id: \d+-`)

func resumeFaults() []*Fault {
	const unique, viaGet = "streamable-http.event-id-unique/", "streamable-http.resume-via-get/"
	unfinished := editEvents(callsSlowTool, dropEvents(eventHasResponse))
	return []*Fault{
		newFault(unique+"each-stream", "event ids are unique only within a stream", editEvents(anyExchange, func(b []byte) []byte {
			return eventIDs.ReplaceAll(b, []byte("id: "))
		})),
		newFault(unique+"constant", "all events have the same id", editEvents(anyExchange, func(b []byte) []byte {
			return regexp.MustCompile(`(?m)^id: .*$`).ReplaceAll(b, []byte("id: 1"))
		})),
		newFaultWithState("streamable-http.no-cross-stream-replay/all", "a resumed stream replays events of all streams", func() *refserver.Seams {
			return combineSeams(replayForeignEvents(), unfinished)
		}),
		newFaultWithState("streamable-http.no-cross-stream-replay/any-session", "a stream can be resumed from every session", resumeFromAnySession),
		newFault("streamable-http.last-event-id-replay/from-start", "a resumed stream begins from the start", combineSeams(unfinished, onExchange(isResume, func(v *exchange) {
			stream, _, _ := strings.Cut(v.r.Header.Get(eventHeader), "-")
			v.r.Header.Set(eventHeader, stream+"-0")
			v.serve()
		}))),
		newFault(viaGet+"405", "streams have event ids, but GET gets 405", combineSeams(unfinished, onExchange(isResume, respondText(http.StatusMethodNotAllowed)))),
		newFault(viaGet+"404", "streams have event ids, but a GET that resumes gets 404", combineSeams(unfinished, onExchange(isResume, respondText(http.StatusNotFound)))),
		newFault(viaGet+"500", "streams have event ids, but the server fails to resume them", combineSeams(unfinished, onExchange(isResume, respondText(http.StatusInternalServerError)))),
		newFault(viaGet+"400", "streams have event ids, but can't be resumed", combineSeams(unfinished, onExchange(isResume, respondText(http.StatusBadRequest)))),
		newFaultWithState("streamable-http.disconnect-not-cancel/fails", "a request fails when its connection breaks", failAfterDisconnect),
	}
}
