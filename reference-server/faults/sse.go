package faults

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func isEndpoint(event []byte) bool { return bytes.HasPrefix(event, []byte("event: endpoint")) }

// editEndpointEvent edits the endpoint event.
func editEndpointEvent(change func(event []byte) []byte) *refserver.Seams {
	return editEvents(opensListeningStream, func(b []byte) []byte {
		if isEndpoint(b) {
			return change(b)
		}
		return b
	})
}

// editEndpoint edits the URI in the endpoint event.
func editEndpoint(f func(uri string) string) *refserver.Seams {
	return editEndpointEvent(func(b []byte) []byte {
		return []byte("event: endpoint\ndata: " + f(string(eventData(b))) + "\n\n")
	})
}

// sseFaults returns the faults in HTTP with SSE.
func sseFaults() []*Fault {
	const origin, two, takes, named = "sse.origin-validated/", "sse.two-endpoints/", "sse.accepts-post/", "sse.endpoint-event/"
	const asEvents, text, media, gone = "sse.messages-as-events/", "sse.utf8/", "sse.content-type/", "sse.unknown-session-refused/"
	lists := hasRequestOf(spec.MethodToolsList)
	typed := func(name string) *refserver.Seams {
		return editEvents(opensListeningStream, func(b []byte) []byte {
			return bytes.Replace(b, []byte("event: message"), []byte("event: "+name), 1)
		})
	}
	answering := func(edit func(b []byte) []byte) *refserver.Seams {
		return editEvents(opensListeningStream, func(b []byte) []byte {
			if eventHasResponse(b) && !bytes.Contains(b, []byte("protocolVersion")) {
				return edit(b)
			}
			return b
		})
	}
	return []*Fault{
		newFault(origin+"served", "the server accepts any Origin", acceptAnyOrigin(anyExchange)),
		newFault(origin+"get-served", "the server accepts any Origin for a stream", acceptAnyOrigin(opensListeningStream)),
		newFault(origin+"post-served", "the server accepts any Origin for a POST", acceptAnyOrigin(isPost)),
		newFault(origin+"rebound", "the server checks only that Origin equals Host", acceptAnyHost()),
		newFault(two+"405", "the endpoint refuses a POST of tools/list", onExchange(lists, respondText(http.StatusMethodNotAllowed))),
		newFault(two+"404", "the endpoint responds to a POST of tools/list with 404", onExchange(lists, respondText(http.StatusNotFound))),
		newFault(takes+"400", "tools/list gets an HTTP error at the endpoint", onExchange(lists, respondText(http.StatusBadRequest))),
		newFault(takes+"500", "notifications get an HTTP error at the endpoint", onExchange(hasOnlyNotifications, respondText(http.StatusInternalServerError))),
		newFault(named+"missing", "the stream has no endpoint event", editEndpointEvent(func([]byte) []byte { return nil })).unreachable(),
		newFault(named+"as-message", "the endpoint is announced in an event of type message", editEndpointEvent(func(b []byte) []byte {
			return bytes.Replace(b, []byte("event: endpoint\n"), nil, 1)
		})).unreachable(),
		newFault(named+"empty", "the endpoint is empty", editEndpoint(func(string) string { return "" })),
		newFault(named+"json", "the endpoint is a JSON object", editEndpoint(func(uri string) string { return `{"uri":"` + uri + `"}` })),
		newFault(named+"quoted", "the endpoint is a JSON string", editEndpoint(func(uri string) string { return `"` + uri + `"` })),
		newFault("sse.endpoint-event-first/late", "a log message precedes the endpoint event", editEndpointEvent(func(b []byte) []byte {
			return append([]byte("event: message\n"+logEvent), b...)
		})),
		newFault("sse.endpoint-same-origin/foreign", "the endpoint is on another host", editEndpoint(func(uri string) string { return "http://mcp.example.com" + uri })).unreachable(),
		newFault("sse.endpoint-same-origin/port", "the endpoint is on another port", editEndpoint(func(uri string) string { return "http://127.0.0.1:1" + uri })).unreachable(),
		newFault(asEvents+"response", "messages are in events of type response", typed("response")),
		newFault(asEvents+"data", "messages are in events of type data", typed("data")),
		newFaultWithState(asEvents+"in-body", "responses are in the body of the POST", respondInBody),
		newFault(media+"plain", "the stream has the content type text/plain", setContentType(opensListeningStream, streamType, "text/plain; charset=utf-8")).unreachable(),
		newFault(media+"json", "the stream has the content type application/json", setContentType(opensListeningStream, streamType, jsonType)).unreachable(),
		newFault(text+"latin-1", "text is not encoded as UTF-8", answering(func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"result":{`), []byte("\"result\":{\"_meta\":{\"com.example/x\":\"d\xe9j\xe0\"},"), 1)
		})),
		newFault(text+"no-json", "an event that is not JSON follows each response", answering(func(b []byte) []byte { return append(b, "event: message\ndata: ok\n\n"...) })),
		newFault(text+"two", "events contain two messages", answering(func(b []byte) []byte {
			return append(bytes.TrimSuffix(b, []byte("\n")), "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n"...)
		})),
		newFault(gone+"accepted", "messages for a closed stream get 202", editStatus(isPost, replaceStatus(http.StatusNotFound, http.StatusAccepted))),
		newFaultWithState("sse.response-on-own-stream/newest", "responses are sent on the newest stream", useNewestStream).withOwnServer(),
		newFaultWithState("sse.multiple-clients/mixed-up", "clients whose requests have the same id get the same response", shareResponses),
		newFaultWithState("sse.multiple-clients/refused", "the server refuses a third concurrent client", func() *refserver.Seams {
			var mu sync.Mutex
			open := 0
			return onExchange(opensListeningStream, func(v *exchange) {
				mu.Lock()
				served := open < 2
				open++
				mu.Unlock()
				if served {
					v.serve()
				} else {
					respondText(http.StatusConflict)(v)
				}
				mu.Lock()
				open--
				mu.Unlock()
			})
		}),
		newAllInterfacesFault("sse.bind-localhost"),
	}
}

// onClosedStream calls the function do to respond to the POSTs that the server refuses with 404,
// because their stream does not exist.
func onClosedStream(do func(v *exchange)) *refserver.Seams {
	return onExchange(isPost, func(v *exchange) {
		r := httptest.NewRecorder()
		v.next.ServeHTTP(r, v.r)
		if r.Code == http.StatusNotFound {
			do(v)
			return
		}
		maps.Copy(v.w.Header(), r.Header())
		v.w.WriteHeader(r.Code)
		_, _ = v.w.Write(r.Body.Bytes())
	})
}

// respondInBody sends the JSON-RPC responses after the handshake in the body of the HTTP response
// to their POST, not on the stream.
func respondInBody() *refserver.Seams {
	var mu sync.Mutex
	waiting := map[string]chan []byte{}
	place := func(v *exchange) chan []byte {
		mu.Lock()
		defer mu.Unlock()
		id := v.r.URL.Query().Get("sessionId")
		if waiting[id] == nil {
			waiting[id] = make(chan []byte, 10)
		}
		return waiting[id]
	}
	return combineSeams(editResponses(opensListeningStream, func(_ *exchange, r *responseEditor) {
		id := ""
		r.editBody = func(b []byte) []byte {
			if isEndpoint(b) {
				_, id, _ = strings.Cut(string(eventData(b)), "sessionId=")
			}
			if !eventHasResponse(b) || bytes.Contains(b, []byte("protocolVersion")) {
				return b
			}
			mu.Lock()
			to := waiting[id]
			mu.Unlock()
			select {
			case to <- eventData(b):
			default:
			}
			return nil
		}
	}), onExchange(hasRequestOf(), func(v *exchange) {
		answer := place(v)
		v.serveDiscarding(v.r)
		select {
		case b := <-answer:
			respond(http.StatusOK, jsonType, string(b))(v)
		case <-v.r.Context().Done():
		}
	}))
}

// useNewestStream sends responses on the stream that was opened last.
func useNewestStream() *refserver.Seams {
	var mu sync.Mutex
	var newest *responseEditor
	return editResponses(opensListeningStream, func(_ *exchange, r *responseEditor) {
		mu.Lock()
		newest = r
		mu.Unlock()
		r.editBody = func(b []byte) []byte {
			mu.Lock()
			to := newest
			mu.Unlock()
			if to == r || !eventHasResponse(b) {
				return b
			}
			to.writeRaw(b)
			return nil
		}
	})
}
