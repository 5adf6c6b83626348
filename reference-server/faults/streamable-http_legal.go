package faults

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalEitherHTTP are what servers over HTTP may do, whichever transport they use.
func legalEitherHTTP() []Fault {
	return overAll([]spec.Transport{spec.StreamableHTTP, spec.SSE}, slices.Concat(legalWire(), legalBodies()))
}

// reheaded changes the headers of responses.
func reheaded(when func(v *visit) bool, change func(h http.Header)) refserver.Seams {
	return alters(when, func(_ *visit, r *reply) {
		r.head = func(status int, h http.Header, _ []byte) int {
			change(h)
			return status
		}
	})
}

// legalWire are those that HTTP and event streams allow, whatever they carry.
func legalWire() []Fault {
	always := func(edit func(b []byte) []byte) refserver.Seams { return events(anyVisit, edit) }
	ended := func(end string) refserver.Seams {
		return always(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte(end)) })
	}
	opening := func(text string) func() refserver.Seams {
		return func() refserver.Seams {
			return alters(anyVisit, func(_ *visit, r *reply) {
				begun := false
				r.edit = func(b []byte) []byte {
					if begun || !r.streams() {
						return b
					}
					begun = true
					return append([]byte(text), b...)
				}
			})
		}
	}
	return []Fault{
		legal("http-charset", "content types name a charset", reheaded(anyVisit, func(h http.Header) {
			if media := h.Get("Content-Type"); media == jsonType || media == streamType {
				h.Set("Content-Type", media+";charset=utf-8")
			}
		})),
		legal("http-capitals", "content types are written in capitals", reheaded(anyVisit, func(h http.Header) {
			if media := h.Get("Content-Type"); media == jsonType || media == streamType {
				h.Set("Content-Type", strings.ToUpper(media)+" ; Charset=\"UTF-8\"")
			}
		})),
		legal("http-headers", "responses have many other headers", reheaded(anyVisit, func(h http.Header) {
			for name, value := range map[string]string{
				"Server": "example/1", "X-Powered-By": "Tea", "Set-Cookie": "sid=1; HttpOnly", "Access-Control-Allow-Origin": "*", "Vary": "Accept", "X-Accel-Buffering": "no",
				"Access-Control-Expose-Headers": sessionHeader, "Strict-Transport-Security": "max-age=1", "Keep-Alive": "timeout=5", "Link": "</docs>; rel=help", "X-Request-Id": "1",
			} {
				h.Set(name, value)
			}
		})),
		legal("http-connection-close", "connections are closed behind each response", reheaded(anyVisit, func(h http.Header) { h.Set("Connection", "close") })),
		legal("http-until-closed", "bodies go to the end of the connection, without length or chunks", reheaded(anyVisit, func(h http.Header) { h.Set("Transfer-Encoding", "identity") })),
		legal("http-early-hints", "an interim response comes ahead of each", visits(anyVisit, func(v *visit) {
			v.w.Header().Set("Link", "</style.css>; rel=preload")
			v.w.WriteHeader(http.StatusEarlyHints)
			v.serve()
		})),
		legal("http-slow", "every response takes 20 ms", visits(anyVisit, func(v *visit) {
			if pause(v.r.Context(), briefly) {
				v.serve()
			}
		})),
		legal("events-crlf", "the lines of events end in CR LF", ended("\r\n")),
		legal("events-cr", "the lines of events end in CR", ended("\r")),
		legalAfresh("events-bom", "streams begin with a byte order mark", opening("\ufeff")),
		legalAfresh("events-comments-first", "streams begin with comments and blank lines", opening(": welcome\n\n:\n\n\n")),
		legal("events-comments", "comments stand in and between the events", always(func(b []byte) []byte {
			return append([]byte(": here comes one\n:data: x\n"), append(b, ": keep-alive\n\n"...)...)
		})),
		legal("events-lines", "the data of events come in many lines", always(func(b []byte) []byte {
			message := data(b)
			if message == nil || message[0] != '{' {
				return b
			}
			return bytes.Replace(b, message, bytes.ReplaceAll(spaced(message), []byte("\n"), []byte("\ndata: ")), 1)
		})),
		legal("events-no-space", "no space follows the colons", always(func(b []byte) []byte {
			for _, name := range []string{"id", "data", "event"} {
				b = bytes.ReplaceAll(b, []byte("\n"+name+": "), []byte("\n"+name+":"))
			}
			return b
		})),
		legal("events-untyped", "events have no type", always(func(b []byte) []byte { return bytes.Replace(b, []byte("event: message\n"), nil, 1) })),
		legal("events-other-fields", "events have fields that mean nothing", always(func(b []byte) []byte {
			return append([]byte("time: now\ncolour\nretry: soon\n"), b...)
		})),
		legal("events-other-types", "events of other types that hold no message stand between", always(func(b []byte) []byte {
			if isEndpoint(b) || data(b) == nil {
				return b
			}
			return append([]byte("event: heartbeat\ndata: 1\n\n"), b...)
		})),
		legal("events-in-pieces", "events come in pieces", alters(anyVisit, func(_ *visit, r *reply) {
			r.edit = func(b []byte) []byte {
				if !r.streams() || len(b) > 4000 {
					return b
				}
				for len(b) > 7 {
					_, _ = r.ResponseWriter.Write(b[:7])
					_ = http.NewResponseController(r.ResponseWriter).Flush()
					b = b[7:]
				}
				return b
			}
		})),
	}
}

// legalStreamable are those of Streamable HTTP as such.
func legalStreamable() []Fault {
	older := []spec.Revision{spec.V20250326, spec.V20250618}
	jsonOnly := func(f Fault) Fault {
		f.JSONOnly = true
		return f
	}
	no405 := visits(func(v *visit) bool { return v.r.Method == http.MethodGet }, func(v *visit) {
		v.w.Header().Set("Allow", "POST, DELETE")
		v.w.WriteHeader(http.StatusMethodNotAllowed)
	})
	// Where all answers are JSON there is no place for progress.
	quiet := mute(func(o *refserver.Out) bool { return o.Method == spec.MethodProgress })
	return []Fault{
		jsonOnly(legal("http-json-only", "requests are answered by JSON alone, and no progress is told", quiet)),
		jsonOnly(legal("http-get-405", "requests are answered by JSON alone, and there is no stream to listen on", together(no405, quiet, undeclared("logging"), refuse(spec.MethodSetLevel, always, spec.CodeMethodNotFound, "Method not found")))),
		legal("http-get-405-streams", "there is no stream to listen on, and events have no ids", together(no405, events(posts, withoutID))).in(older...),
		legal("http-get-405-primed", "there is no stream to listen on, and none can be resumed, though event ids prime those of calls", no405).in(spec.V20251125),
		legal("http-get-late", "a GET opens its stream after a while", visits(listens, func(v *visit) {
			if pause(v.r.Context(), time.Second) {
				v.serve()
			}
		})),
		legal("http-streams", "every request is answered by a stream", streamed()),
		legalAfresh("http-no-sessions", "there are no session ids", sessionless).alone(),
		legalAfresh("http-session-marks", "session ids have all visible characters", func() refserver.Seams {
			return renamedSessions(func(_ int, id string) string { return "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" + id })
		}),
		legalAfresh("http-session-times", "session ids begin with the time, and end at random, as UUIDs of version 7", func() refserver.Seams {
			return renamedSessions(func(_ int, id string) string {
				now := fmt.Sprintf("%012x", time.Now().UnixMilli())
				random := fmt.Sprintf("%x", sha256.Sum256([]byte(id)))
				return now[:8] + "-" + now[8:] + "-7" + random[:3] + "-8" + random[3:6] + "-" + random[6:18]
			})
		}),
		legalAfresh("http-session-signed", "session ids count up behind a long beginning, and are signed", func() refserver.Seams {
			return renamedSessions(func(n int, id string) string {
				return fmt.Sprintf("session-number-0000000000-%d.%x", n, sha256.Sum256([]byte(id)))
			})
		}),
		legalAfresh("http-session-long", "session ids have a thousand characters", func() refserver.Seams {
			return renamedSessions(func(_ int, id string) string { return strings.Repeat(id, 40) })
		}),
		legal("http-session-lower-case", "the name of the session header is written small", reheaded(anyVisit, func(h http.Header) {
			if id := h.Get(sessionHeader); id != "" {
				h.Del(sessionHeader)
				h["mcp-session-id"] = []string{id}
			}
		})),
		legal("http-session-everywhere", "all responses have the session id", alters(func(v *visit) bool { return !initializes(v) && !deletes(v) }, func(v *visit, r *reply) {
			r.head = func(status int, h http.Header, _ []byte) int {
				if id := v.r.Header.Get(sessionHeader); id != "" && status < 300 {
					h.Set(sessionHeader, id)
				}
				return status
			}
		})),
		legal("http-delete-200", "DELETE gets 200 and JSON", visits(deletes, func(v *visit) {
			r := &reply{ResponseWriter: v.w, head: func(status int, h http.Header, _ []byte) int {
				if status == http.StatusNoContent {
					h.Set("Content-Type", jsonType)
				}
				return instead(http.StatusNoContent, http.StatusOK)(status)
			}}
			v.next.ServeHTTP(r, v.r)
			if r.status == http.StatusNoContent {
				r.put([]byte(`{"ended":true}`))
			}
			r.finish()
		})),
		legal("http-delete-202", "DELETE gets 202", restatus(deletes, instead(http.StatusNoContent, http.StatusAccepted))),
		legalAfresh("http-delete-again", "DELETE of a session that is over gets 204 again", func() refserver.Seams {
			var mu sync.Mutex
			gone := map[string]bool{}
			return visits(func(v *visit) bool {
				mu.Lock()
				defer mu.Unlock()
				id := v.r.Header.Get(sessionHeader)
				was := gone[id]
				gone[id] = was || deletes(v) && id != ""
				return was && deletes(v)
			}, answers(http.StatusNoContent, "", ""))
		}),
		legal("http-delete-405", "DELETE gets 405", visits(deletes, answers(http.StatusMethodNotAllowed, "", ""))),
		legal("http-202-length", "the 202 has the Content-Length 0", alters(posts, func(_ *visit, r *reply) {
			r.head = func(status int, h http.Header, _ []byte) int {
				if status == http.StatusAccepted {
					h.Set("Content-Length", "0")
				}
				return status
			}
		})),
		legal("http-202-typed", "the 202 has a content type and no body", alters(posts, func(_ *visit, r *reply) {
			r.head = func(status int, h http.Header, _ []byte) int {
				if status == http.StatusAccepted {
					h.Set("Content-Type", jsonType)
				}
				return status
			}
		})),
		legal("http-stray-refused", "responses to requests that were never made get 400", visits(func(v *visit) bool {
			return v.frame != nil && len(v.frame.Messages) == 1 && strayResponse(v.frame.Messages[0].IsError())(nil, v.frame)
		}, says(http.StatusBadRequest))),
		legal("http-head", "HEAD is answered like GET, without the stream", visits(byMethod(http.MethodHead), answers(http.StatusOK, streamType, ""))),
		legal("http-preflight", "OPTIONS lists what is allowed", visits(byMethod(http.MethodOptions), func(v *visit) {
			v.w.Header().Set("Allow", "GET, POST, DELETE, OPTIONS")
			v.w.WriteHeader(http.StatusNoContent)
		})),
		legal("http-other-methods-400", "methods that MCP does not use get 400", visits(func(v *visit) bool { return !posts(v) && v.r.Method != http.MethodGet && !deletes(v) }, says(http.StatusBadRequest))),
		legal("http-203", "a proxy changes responses, and says so by 203", restatus(asking(), instead(http.StatusOK, http.StatusNonAuthoritativeInfo))),
		legal("http-error-status", "errors have the status 400", errorStatus(http.StatusBadRequest)),
		legal("http-refusals-in-html", "what is refused gets a page", refusedWith("text/html", "<h1>No</h1>")),
		legal("http-refusals-bare", "what is refused gets no body", refusedWith("", "")),
		legal("http-body-spaced", "bodies are written in many lines, with blanks around", bodies(asking(), func(b []byte) []byte {
			return append(append([]byte("\n "), spaced(b)...), "\n\n"...)
		})),
		legal("http-redirect-307", "the endpoint has moved for now", redirects(http.StatusTemporaryRedirect)),
		legal("http-redirect-308", "the endpoint has moved for good", redirects(http.StatusPermanentRedirect)),
		legal("http-lengths", "JSON bodies have their length", alters(posts, func(_ *visit, r *reply) {
			r.head = func(status int, h http.Header, first []byte) int {
				if h.Get("Content-Type") == jsonType {
					h.Set("Content-Length", itoa(len(first)))
				}
				return status
			}
		})),
		legal("http-chunked", "JSON bodies come in chunks", alters(posts, func(_ *visit, r *reply) {
			r.edit = func(b []byte) []byte {
				if !r.streams() && len(b) > 10 {
					_, _ = r.ResponseWriter.Write(b[:10])
					_ = http.NewResponseController(r.ResponseWriter).Flush()
					return b[10:]
				}
				return b
			}
		})),
	}
}

// legalStreams are those of the streams of Streamable HTTP.
func legalStreams() []Fault {
	const now = spec.V20250618
	closing := func(retry string) func() refserver.Seams {
		return func() refserver.Seams {
			return alters(listens, func(v *visit, r *reply) {
				ctx, cancel := context.WithTimeout(v.r.Context(), 150*time.Millisecond)
				context.AfterFunc(ctx, cancel)
				v.r = v.r.WithContext(ctx)
				r.edit = func(b []byte) []byte {
					if isPriming(b) {
						return append([]byte(retry), b...)
					}
					return b
				}
			})
		}
	}
	return []Fault{
		legal("stream-some-ids", "some events have no id", events(anyVisit, func(b []byte) []byte {
			if carries(b, wire.Notification) {
				return withoutID(b)
			}
			return b
		})),
		legal("stream-no-ids", "events have no ids", events(anyVisit, withoutID)).in(spec.V20250326, now),
		legal("stream-retry", "streams begin with a retry field", events(anyVisit, func(b []byte) []byte {
			if isPriming(b) {
				return append([]byte("retry: 100\n"), b...)
			}
			return b
		})),
		legal("stream-retry-apart", "a retry field stands in an event of its own", events(anyVisit, func(b []byte) []byte {
			if isPriming(b) {
				return append(b, "retry: 250\n\n"...)
			}
			return b
		})),
		legal("stream-polling", "slow calls are polled: connections are closed before the answer, and streams go on", together(events(anyVisit, func(b []byte) []byte {
			if isPriming(b) {
				return append([]byte("retry: 20\n"), b...)
			}
			return b
		}), visits(callsSlow, func(v *visit) {
			ctx, cancel := context.WithTimeout(v.r.Context(), 30*time.Millisecond)
			defer cancel()
			v.r = v.r.WithContext(ctx)
			v.serve()
		}))).in(spec.V20251125),
		legalAfresh("stream-listening-closed", "the stream of a GET is closed again and again, and may be resumed", closing("retry: 30\n")).in(spec.V20251125),
		legalAfresh("stream-listening-ends", "the stream of a GET ends again and again, and each is one of its own", listeningEnds),
		legalAfresh("stream-several", "of several open streams that a session listens on the newest brings what changes", func() refserver.Seams { return broadcast(onNewest) }),
		legalAfresh("stream-in-turn", "a call makes three changes, and of several open streams that a session listens on each brings one", func() refserver.Seams { return broadcast(onEachInTurn()) }),
		legal("stream-newest", "a new stream that a session listens on takes over, and a resource may be changed", harmless("update-resource")),
		legalAfresh("stream-strange-ids", "an event id that the session does not know is taken for none", strangeIDsListen),
		legal("stream-ids-opaque", "event ids are of strange characters", renamedEvents()),
	}
}
