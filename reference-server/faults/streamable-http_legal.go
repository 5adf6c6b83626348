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

// legalEitherHTTP returns the legal variations that apply to both HTTP transports.
func legalEitherHTTP() []*Fault {
	return restrictTransports([]spec.Transport{spec.StreamableHTTP, spec.SSE}, slices.Concat(legalHTTPResponses(), legalBodies()))
}

// editHeaders edits the headers of the responses to the matching requests.
func editHeaders(when func(v *exchange) bool, change func(h http.Header)) *refserver.Seams {
	return editResponses(when, func(_ *exchange, r *responseEditor) {
		r.editHead = func(status int, h http.Header, _ []byte) int {
			change(h)
			return status
		}
	})
}

// legalHTTPResponses returns the legal variations in HTTP responses and event streams that do not
// depend on the messages in them.
func legalHTTPResponses() []*Fault {
	always := func(edit func(b []byte) []byte) *refserver.Seams { return editEvents(anyExchange, edit) }
	ended := func(end string) *refserver.Seams {
		return always(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte(end)) })
	}
	opening := func(text string) func() *refserver.Seams {
		return func() *refserver.Seams {
			return editResponses(anyExchange, func(_ *exchange, r *responseEditor) {
				begun := false
				r.editBody = func(b []byte) []byte {
					if begun || !r.isStream() {
						return b
					}
					begun = true
					return append([]byte(text), b...)
				}
			})
		}
	}
	return []*Fault{
		newVariation("http-charset", "content types have a charset", editHeaders(anyExchange, func(h http.Header) {
			if media := h.Get("Content-Type"); media == jsonType || media == streamType {
				h.Set("Content-Type", media+";charset=utf-8")
			}
		})),
		newVariation("http-capitals", "content types are in upper case", editHeaders(anyExchange, func(h http.Header) {
			if media := h.Get("Content-Type"); media == jsonType || media == streamType {
				h.Set("Content-Type", strings.ToUpper(media)+" ; Charset=\"UTF-8\"")
			}
		})),
		newVariation("http-headers", "responses have many additional headers", editHeaders(anyExchange, func(h http.Header) {
			for name, value := range map[string]string{
				"Server": "example/1", "X-Powered-By": "Tea", "Set-Cookie": "sid=1; HttpOnly", "Access-Control-Allow-Origin": "*", "Vary": "Accept", "X-Accel-Buffering": "no",
				"Access-Control-Expose-Headers": sessionHeader, "Strict-Transport-Security": "max-age=1", "Keep-Alive": "timeout=5", "Link": "</docs>; rel=help", "X-Request-Id": "1",
			} {
				h.Set(name, value)
			}
		})),
		newVariation("http-connection-close", "the server closes the connection after each response", editHeaders(anyExchange, func(h http.Header) { h.Set("Connection", "close") })),
		newVariation("http-until-closed", "bodies have neither a length nor chunks, and end with the connection", editHeaders(anyExchange, func(h http.Header) { h.Set("Transfer-Encoding", "identity") })),
		newVariation("http-early-hints", "an interim response precedes each response", onExchange(anyExchange, func(v *exchange) {
			v.w.Header().Set("Link", "</style.css>; rel=preload")
			v.w.WriteHeader(http.StatusEarlyHints)
			v.serve()
		})),
		newVariation("http-slow", "every response takes 20 ms", onExchange(anyExchange, func(v *exchange) {
			if sleep(v.r.Context(), briefly) {
				v.serve()
			}
		})),
		newVariation("events-crlf", "the lines of events end in CR LF", ended("\r\n")),
		newVariation("events-cr", "the lines of events end in CR", ended("\r")),
		newVariationWithState("events-bom", "streams begin with a byte order mark", opening("\ufeff")),
		newVariationWithState("events-comments-first", "streams begin with comments and blank lines", opening(": welcome\n\n:\n\n\n")),
		newVariation("events-comments", "streams contain comments in and between events", always(func(b []byte) []byte {
			return append([]byte(": here comes one\n:data: x\n"), append(b, ": keep-alive\n\n"...)...)
		})),
		newVariation("events-lines", "the data of events is split over many lines", always(func(b []byte) []byte {
			message := eventData(b)
			if message == nil || message[0] != '{' {
				return b
			}
			return bytes.Replace(b, message, bytes.ReplaceAll(reorderAndSpace(message), []byte("\n"), []byte("\ndata: ")), 1)
		})),
		newVariation("events-no-space", "no space follows the colon of fields", always(func(b []byte) []byte {
			for _, name := range []string{"id", "data", "event"} {
				b = bytes.ReplaceAll(b, []byte("\n"+name+": "), []byte("\n"+name+":"))
			}
			return b
		})),
		newVariation("events-untyped", "events have no type", always(func(b []byte) []byte { return bytes.Replace(b, []byte("event: message\n"), nil, 1) })),
		newVariation("events-other-fields", "events have unknown fields", always(func(b []byte) []byte {
			return append([]byte("time: now\ncolour\nretry: soon\n"), b...)
		})),
		newVariation("events-other-types", "events of unknown types are between the others", always(func(b []byte) []byte {
			if isEndpoint(b) || eventData(b) == nil {
				return b
			}
			return append([]byte("event: heartbeat\ndata: 1\n\n"), b...)
		})),
		newVariation("events-in-pieces", "events are sent in several chunks", editResponses(anyExchange, func(_ *exchange, r *responseEditor) {
			r.editBody = func(b []byte) []byte {
				if !r.isStream() || len(b) > 4000 {
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

// legalStreamable returns the legal variations in Streamable HTTP, except in its
// streams.
func legalStreamable() []*Fault {
	older := []spec.Revision{spec.V20250326, spec.V20250618}
	jsonOnly := func(f *Fault) *Fault {
		f.JSONOnly = true
		return f
	}
	no405 := onExchange(func(v *exchange) bool { return v.r.Method == http.MethodGet }, func(v *exchange) {
		v.w.Header().Set("Allow", "POST, DELETE")
		v.w.WriteHeader(http.StatusMethodNotAllowed)
	})
	// A JSON response can't carry progress notifications.
	quiet := dropMessages(func(o *refserver.Out) bool { return o.Method == spec.MethodProgress })
	return []*Fault{
		jsonOnly(newVariation("http-json-only", "requests get JSON responses only, and no progress", quiet)),
		jsonOnly(newVariation("http-get-405", "requests get JSON responses only, and GET gets 405", combineSeams(no405, quiet, withholdCapabilities("logging"), refuseCalls(spec.MethodSetLevel, always, spec.CodeMethodNotFound, "Method not found")))),
		newVariation("http-get-405-streams", "GET gets 405, and events have no ids", combineSeams(no405, editEvents(isPost, removeEventID))).inRevisions(older...),
		newVariation("http-get-405-primed", "GET gets 405, and event ids can't be used to resume", no405).inRevisions(spec.V20251125),
		newVariation("http-get-late", "GET gets its response after some time", onExchange(opensListeningStream, func(v *exchange) {
			if sleep(v.r.Context(), time.Second) {
				v.serve()
			}
		})),
		newVariation("http-streams", "the most common requests get streams", respondWithStreams()),
		newVariationWithState("http-no-sessions", "the server uses no session ids", withoutSessionIDs).withOwnServer(),
		newVariationWithState("http-session-marks", "session ids contain every visible character", func() *refserver.Seams {
			return mapSessionIDs(func(_ int, id string) string { return "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" + id })
		}),
		newVariationWithState("http-session-times", "session ids are UUIDs of version 7", func() *refserver.Seams {
			return mapSessionIDs(func(_ int, id string) string {
				now := fmt.Sprintf("%012x", time.Now().UnixMilli())
				random := fmt.Sprintf("%x", sha256.Sum256([]byte(id)))
				return now[:8] + "-" + now[8:] + "-7" + random[:3] + "-8" + random[3:6] + "-" + random[6:18]
			})
		}),
		newVariationWithState("http-session-signed", "session ids have a long common prefix, a counter and a signature", func() *refserver.Seams {
			return mapSessionIDs(func(n int, id string) string {
				return fmt.Sprintf("session-number-0000000000-%d.%x", n, sha256.Sum256([]byte(id)))
			})
		}),
		newVariationWithState("http-session-long", "session ids have 1,040 characters", func() *refserver.Seams {
			return mapSessionIDs(func(_ int, id string) string { return strings.Repeat(id, 40) })
		}),
		newVariation("http-session-lower-case", "the session header is in lower case", editHeaders(anyExchange, func(h http.Header) {
			if id := h.Get(sessionHeader); id != "" {
				h.Del(sessionHeader)
				h["mcp-session-id"] = []string{id}
			}
		})),
		newVariation("http-session-everywhere", "all responses have the session header", editResponses(func(v *exchange) bool { return !isInitialize(v) && !isDelete(v) }, func(v *exchange, r *responseEditor) {
			r.editHead = func(status int, h http.Header, _ []byte) int {
				if id := v.r.Header.Get(sessionHeader); id != "" && status < 300 {
					h.Set(sessionHeader, id)
				}
				return status
			}
		})),
		newVariation("http-delete-200", "DELETE gets 200 and JSON", onExchange(isDelete, func(v *exchange) {
			r := &responseEditor{ResponseWriter: v.w, editHead: func(status int, h http.Header, _ []byte) int {
				if status == http.StatusNoContent {
					h.Set("Content-Type", jsonType)
				}
				return replaceStatus(http.StatusNoContent, http.StatusOK)(status)
			}}
			v.next.ServeHTTP(r, v.r)
			if r.status == http.StatusNoContent {
				r.writeRaw([]byte(`{"ended":true}`))
			}
			r.finish()
		})),
		newVariation("http-delete-202", "DELETE gets 202", editStatus(isDelete, replaceStatus(http.StatusNoContent, http.StatusAccepted))),
		newVariationWithState("http-delete-again", "DELETE of an ended session gets 204", func() *refserver.Seams {
			var mu sync.Mutex
			gone := map[string]bool{}
			return onExchange(func(v *exchange) bool {
				mu.Lock()
				defer mu.Unlock()
				id := v.r.Header.Get(sessionHeader)
				was := gone[id]
				gone[id] = was || isDelete(v) && id != ""
				return was && isDelete(v)
			}, respond(http.StatusNoContent, "", ""))
		}),
		newVariation("http-delete-405", "DELETE gets 405", onExchange(isDelete, respond(http.StatusMethodNotAllowed, "", ""))),
		newVariation("http-202-length", "the 202 has Content-Length 0", editResponses(isPost, func(_ *exchange, r *responseEditor) {
			r.editHead = func(status int, h http.Header, _ []byte) int {
				if status == http.StatusAccepted {
					h.Set("Content-Length", "0")
				}
				return status
			}
		})),
		newVariation("http-202-typed", "the 202 has a content type and no body", editResponses(isPost, func(_ *exchange, r *responseEditor) {
			r.editHead = func(status int, h http.Header, _ []byte) int {
				if status == http.StatusAccepted {
					h.Set("Content-Type", jsonType)
				}
				return status
			}
		})),
		newVariation("http-stray-refused", "responses to unknown requests get 400", onExchange(func(v *exchange) bool {
			return v.frame != nil && len(v.frame.Messages) == 1 && isUnsolicitedResponse(v.frame.Messages[0].IsError())(nil, v.frame)
		}, respondText(http.StatusBadRequest))),
		newVariation("http-head", "HEAD gets the header of GET", onExchange(hasHTTPMethod(http.MethodHead), respond(http.StatusOK, streamType, ""))),
		newVariation("http-preflight", "OPTIONS lists the permitted methods", onExchange(hasHTTPMethod(http.MethodOptions), func(v *exchange) {
			v.w.Header().Set("Allow", "GET, POST, DELETE, OPTIONS")
			v.w.WriteHeader(http.StatusNoContent)
		})),
		newVariation("http-other-methods-400", "methods that MCP does not use get 400", onExchange(func(v *exchange) bool { return !isPost(v) && v.r.Method != http.MethodGet && !isDelete(v) }, respondText(http.StatusBadRequest))),
		newVariation("http-203", "a proxy changes responses and sets the status 203", editStatus(hasRequestOf(), replaceStatus(http.StatusOK, http.StatusNonAuthoritativeInfo))),
		newVariation("http-error-status", "errors have the status 400", errorStatus(http.StatusBadRequest)),
		newVariation("http-refusals-in-html", "refused requests get an HTML page", setRefusalBody("text/html", "<h1>No</h1>")),
		newVariation("http-refusals-bare", "refused requests get no body", setRefusalBody("", "")),
		newVariation("http-body-spaced", "JSON bodies are indented", editBodies(hasRequestOf(), func(b []byte) []byte {
			return append(append([]byte("\n "), reorderAndSpace(b)...), "\n\n"...)
		})),
		newVariation("http-redirect-307", "the endpoint redirects temporarily", redirectEndpoint(http.StatusTemporaryRedirect)),
		newVariation("http-redirect-308", "the endpoint redirects permanently", redirectEndpoint(http.StatusPermanentRedirect)),
		newVariation("http-lengths", "JSON bodies have a Content-Length", editResponses(isPost, func(_ *exchange, r *responseEditor) {
			r.editHead = func(status int, h http.Header, first []byte) int {
				if h.Get("Content-Type") == jsonType {
					h.Set("Content-Length", itoa(len(first)))
				}
				return status
			}
		})),
		newVariation("http-chunked", "JSON bodies are chunked", editResponses(isPost, func(_ *exchange, r *responseEditor) {
			r.editBody = func(b []byte) []byte {
				if !r.isStream() && len(b) > 10 {
					_, _ = r.ResponseWriter.Write(b[:10])
					_ = http.NewResponseController(r.ResponseWriter).Flush()
					return b[10:]
				}
				return b
			}
		})),
	}
}

// legalStreams returns the legal variations in the streams of Streamable HTTP.
func legalStreams() []*Fault {
	const now = spec.V20250618
	closing := func(retry string) func() *refserver.Seams {
		return func() *refserver.Seams {
			return editResponses(opensListeningStream, func(v *exchange, r *responseEditor) {
				ctx, cancel := context.WithTimeout(v.r.Context(), 150*time.Millisecond)
				context.AfterFunc(ctx, cancel)
				v.r = v.r.WithContext(ctx)
				r.editBody = func(b []byte) []byte {
					if isPriming(b) {
						return append([]byte(retry), b...)
					}
					return b
				}
			})
		}
	}
	return []*Fault{
		newVariation("stream-logs-on-get", "log messages go to the stream of a GET", moveToListeningStream(isLog)).inRevisions(revisionsWithReadOnlyHint()...),
		newVariation("stream-some-ids", "some events have no id", editEvents(anyExchange, func(b []byte) []byte {
			if eventCarries(b, wire.Notification) {
				return removeEventID(b)
			}
			return b
		})),
		newVariation("stream-no-ids", "events have no ids", editEvents(anyExchange, removeEventID)).inRevisions(spec.V20250326, now),
		newVariation("stream-retry", "streams begin with a retry field", editEvents(anyExchange, func(b []byte) []byte {
			if isPriming(b) {
				return append([]byte("retry: 100\n"), b...)
			}
			return b
		})),
		newVariation("stream-retry-apart", "a retry field is in an event of its own", editEvents(anyExchange, func(b []byte) []byte {
			if isPriming(b) {
				return append(b, "retry: 250\n\n"...)
			}
			return b
		})),
		newVariation("stream-polling", "slow calls are polled: the server closes connections before the response", combineSeams(editEvents(anyExchange, func(b []byte) []byte {
			if isPriming(b) {
				return append([]byte("retry: 20\n"), b...)
			}
			return b
		}), onExchange(callsSlowTool, func(v *exchange) {
			ctx, cancel := context.WithTimeout(v.r.Context(), 30*time.Millisecond)
			defer cancel()
			v.r = v.r.WithContext(ctx)
			v.serve()
		}))).inRevisions(spec.V20251125),
		newVariationWithState("stream-listening-closed", "the server often closes the listening stream, which can be resumed", closing("retry: 30\n")).inRevisions(spec.V20251125),
		newVariationWithState("stream-listening-ends", "the server often ends the listening stream, and each GET opens a new one", endListeningStreams),
		newVariationWithState("stream-several", "of several listening streams the newest gets the notifications", func() *refserver.Seams { return broadcast(notifyNewest) }),
		newVariationWithState("stream-in-turn", "a call makes three changes, and each listening stream gets one", func() *refserver.Seams { return broadcast(notifyInTurn()) }),
		newVariation("stream-newest", "a new listening stream replaces the old one, and resources may change", markReadOnly("update-resource")),
		newVariationWithState("stream-strange-ids", "the server ignores an unknown event id", ignoreUnknownEventIDs),
		newVariation("stream-ids-opaque", "event ids contain unusual characters", prefixEventIDs()),
	}
}
