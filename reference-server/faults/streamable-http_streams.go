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
	// briefly is how long a connection lives that a fault closes early.
	briefly = 20 * time.Millisecond
)

func isPriming(event []byte) bool {
	return bytes.HasPrefix(event, []byte("id:")) && data(event) == nil
}

func streamFaults() []Fault {
	const delivered, early, primed = "streamable-http.sse-response-delivered/", "streamable-http.sse-no-early-close/", "streamable-http.sse-priming-event/"
	const retried, ends, relates = "streamable-http.sse-retry-before-close/", "streamable-http.sse-close-after-response-2025-03-26/", "streamable-http.sse-interim-related-2025-03-26/"
	older := []spec.Revision{spec.V20250326, spec.V20250618}
	return []Fault{
		breaks(delivered+"never", "streams end without the response", events(posts, inOrder(without(bringsResponse), withoutID))).in(spec.V20251125),
		breaks(delivered+"cut", "the last event lacks the blank line that ends it", events(posts, func(b []byte) []byte {
			if bringsResponse(b) {
				return bytes.TrimSuffix(b, []byte("\n"))
			}
			return b
		})),
		breaksAfresh(delivered+"other-stream", "responses come on the stream of another request", func() refserver.Seams {
			return together(swapped(bringsResponse), events(posts, withoutID))
		}),
		breaks(early+"resumed", "streams end before the response, which a resumed stream brings", events(callsSlow, without(bringsResponse))).in(older...),
		breaks(early+"lost", "streams end before the response, which never comes", events(callsSlow, inOrder(without(bringsResponse), withoutID))).in(older...),

		breaks(primed+"missing", "streams begin without an event id", events(posts, without(isPriming))),
		breaks(primed+"with-data", "the first event of a stream has data", events(posts, func(b []byte) []byte {
			if isPriming(b) {
				return bytes.Replace(b, []byte("data:\n\n"), []byte(logEvent), 1)
			}
			return b
		})),
		breaks(primed+"no-id", "the first event of a stream has no id", events(posts, func(b []byte) []byte {
			if isPriming(b) {
				return []byte("data:\n\n")
			}
			return b
		})),
		breaks(retried+"closed", "the connection is closed before the response, without a retry field", events(callsSlow, without(bringsResponse))),
		breaks(ends+"more", "messages follow the response", events(posts, func(b []byte) []byte {
			if bringsResponse(b) {
				return append(b, logEvent...)
			}
			return b
		})),
		breaks(ends+"open", "streams stay open behind the response", visits(asking(spec.MethodToolsCall), func(v *visit) {
			v.serve()
			if http.NewResponseController(v.w).Flush() == nil {
				<-v.r.Context().Done()
			}
		})),
		breaksAfresh(relates+"progress", "progress comes on the stream of another request", func() refserver.Seams { return swapped(bringsProgress) }),
	}
}

// unflushed sends nothing before there is something to say.
type unflushed struct {
	http.ResponseWriter

	said bool
}

// Write implements http.ResponseWriter.
func (u *unflushed) Write(b []byte) (int, error) {
	u.said = u.said || len(b) > 0
	return u.ResponseWriter.Write(b)
}

// FlushError is what http.ResponseController calls.
func (u *unflushed) FlushError() error {
	if !u.said {
		return nil
	}
	return http.NewResponseController(u.ResponseWriter).Flush()
}

func listenFaults() []Fault {
	const endpoint, opens, response = "streamable-http.single-endpoint/", "streamable-http.get-stream-or-405/", "streamable-http.get-no-response/"
	const unrelated, once = "streamable-http.get-unrelated/", "streamable-http.no-broadcast/"
	is := func(kind wire.Kind) func([]byte) bool {
		return func(event []byte) bool { return carries(event, kind) }
	}
	return []Fault{
		breaks(endpoint+"404", "GET gets 404", visits(listens, says(http.StatusNotFound))),
		breaks(endpoint+"501", "GET gets 501", visits(listens, says(http.StatusNotImplemented))),
		breaks(opens+"400", "GET gets 400", visits(listens, says(http.StatusBadRequest))),
		breaks(opens+"500", "GET gets 500", visits(listens, says(http.StatusInternalServerError))),
		breaks(opens+"html", "GET gets a page", visits(listens, answers(http.StatusOK, "text/html", "<p>Hello"))),
		breaks(opens+"json", "GET gets JSON", visits(listens, answers(http.StatusOK, jsonType, `{"status":"ok"}`))),
		breaks(opens+"204", "GET gets 204", visits(listens, answers(http.StatusNoContent, "", ""))),
		breaks(opens+"not-flushed", "the head of the response to GET comes with the first message", visits(listens, func(v *visit) {
			v.w = &unflushed{ResponseWriter: v.w}
			v.serve()
			<-v.r.Context().Done() // the end of the response would bring its head
		})).in(spec.V20250326, spec.V20250618),
		breaks(opens+"202", "GET opens a stream with the status 202", restatus(listens, instead(http.StatusOK, http.StatusAccepted))),
		breaksAfresh(response+"moved", "responses come on the stream of the GET", func() refserver.Seams { return diverted(bringsResponse, false) }),
		breaksAfresh(response+"all", "all answers come on the stream of the GET, and the POST gets none", func() refserver.Seams {
			return diverted(func(event []byte) bool { return data(event) != nil }, false)
		}),
		breaksAfresh(unrelated+"progress", "progress comes on the stream of the GET", func() refserver.Seams { return diverted(bringsProgress, false) }),
		breaksAfresh(once+"responses", "responses come on the stream of the GET, too", func() refserver.Seams { return diverted(bringsResponse, true) }),
		breaksAfresh(once+"progress", "progress comes on the stream of the GET, too", func() refserver.Seams { return diverted(bringsProgress, true) }),
		breaksAfresh(once+"requests", "requests of the server come on the stream of the GET, too", func() refserver.Seams { return diverted(is(wire.Request), true) }),
		breaksAfresh(once+"changes", "notifications of changes come on all streams that a session listens on", func() refserver.Seams { return broadcast(onEach) }),
		breaksAfresh("streamable-http.concurrent-streams/409", "a second stream is refused", func() refserver.Seams {
			var mu sync.Mutex
			open := map[string]bool{}
			return visits(listens, func(v *visit) {
				id := v.r.Header.Get(sessionHeader)
				mu.Lock()
				taken := open[id]
				open[id] = true
				mu.Unlock()
				if taken {
					says(http.StatusConflict)(v)
					return
				}
				v.serve()
				mu.Lock()
				delete(open, id)
				mu.Unlock()
			})
		}),
		breaks("streamable-http.get-retry-before-close/closed", "slow calls are polled, and no connection has a retry field, also of those by GET", together(
			visits(callsSlow, func(v *visit) {
				ctx, cancel := context.WithTimeout(v.r.Context(), briefly)
				defer cancel()
				v.r = v.r.WithContext(ctx)
				v.serve()
			}), alters(resumesCall, closesBehindFirst))),
	}
}

var eventIDs = regexp.MustCompile(`(?m)^id: \d+-`)

func resumeFaults() []Fault {
	const unique, viaGet = "streamable-http.event-id-unique/", "streamable-http.resume-via-get/"
	unfinished := events(callsSlow, without(bringsResponse))
	return []Fault{
		breaks(unique+"each-stream", "event ids count the events of each stream", events(anyVisit, func(b []byte) []byte {
			return eventIDs.ReplaceAll(b, []byte("id: "))
		})),
		breaks(unique+"constant", "all events have the same id", events(anyVisit, func(b []byte) []byte {
			return regexp.MustCompile(`(?m)^id: .*$`).ReplaceAll(b, []byte("id: 1"))
		})),
		breaksAfresh("streamable-http.no-cross-stream-replay/all", "a stream that is resumed brings the events of all streams", func() refserver.Seams {
			return together(replays(), unfinished)
		}),
		breaksAfresh("streamable-http.no-cross-stream-replay/any-session", "a stream can be resumed from every session", resumedAnywhere),
		breaks("streamable-http.last-event-id-replay/from-start", "a stream that is resumed begins from the start", together(unfinished, visits(resumes, func(v *visit) {
			stream, _, _ := strings.Cut(v.r.Header.Get(eventHeader), "-")
			v.r.Header.Set(eventHeader, stream+"-0")
			v.serve()
		}))),
		breaks(viaGet+"405", "streams have event ids, and a GET gets 405", together(unfinished, visits(resumes, says(http.StatusMethodNotAllowed)))),
		breaks(viaGet+"400", "streams have event ids, and can't be resumed", together(unfinished, visits(resumes, says(http.StatusBadRequest)))),
		breaksAfresh("streamable-http.disconnect-not-cancel/fails", "a request fails when its connection breaks", failsWhenLeft),
	}
}
