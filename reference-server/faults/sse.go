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

// announcing changes the endpoint event.
func announcing(change func(event []byte) []byte) refserver.Seams {
	return events(listens, func(b []byte) []byte {
		if isEndpoint(b) {
			return change(b)
		}
		return b
	})
}

// endpoint has the endpoint event say something else.
func endpoint(f func(uri string) string) refserver.Seams {
	return announcing(func(b []byte) []byte {
		return []byte("event: endpoint\ndata: " + f(string(data(b))) + "\n\n")
	})
}

// legacyFaults are those of HTTP with SSE.
func legacyFaults() []Fault {
	const origin, two, takes, named = "sse.origin-validated/", "sse.two-endpoints/", "sse.accepts-post/", "sse.endpoint-event/"
	const asEvents, text, media, gone = "sse.messages-as-events/", "sse.utf8/", "sse.content-type/", "sse.unknown-session-refused/"
	lists := asking(spec.MethodToolsList)
	typed := func(name string) refserver.Seams {
		return events(listens, func(b []byte) []byte {
			return bytes.Replace(b, []byte("event: message"), []byte("event: "+name), 1)
		})
	}
	answering := func(edit func(b []byte) []byte) refserver.Seams {
		return events(listens, func(b []byte) []byte {
			if bringsResponse(b) && !bytes.Contains(b, []byte("protocolVersion")) {
				return edit(b)
			}
			return b
		})
	}
	return []Fault{
		breaks(origin+"served", "pages of any host are served", anyOrigin(anyVisit)),
		breaks(origin+"get-served", "pages of any host may open a stream", anyOrigin(listens)),
		breaks(origin+"post-served", "pages of any host may post", anyOrigin(posts)),
		breaks(origin+"rebound", "Origin and Host are compared with each other alone", rebound()),
		breaks(two+"405", "the endpoint takes no POST of tools/list", visits(lists, says(http.StatusMethodNotAllowed))),
		breaks(two+"404", "the endpoint is not found after the first messages", visits(lists, says(http.StatusNotFound))),
		breaks(takes+"400", "tools/list is refused at the endpoint", visits(lists, says(http.StatusBadRequest))),
		breaks(takes+"500", "initialized is refused at the endpoint", visits(telling, says(http.StatusInternalServerError))),
		breaks(named+"missing", "no endpoint is announced", announcing(func([]byte) []byte { return nil })).unreachable(),
		breaks(named+"as-message", "the endpoint is announced by a message event", announcing(func(b []byte) []byte {
			return bytes.Replace(b, []byte("event: endpoint\n"), nil, 1)
		})).unreachable(),
		breaks(named+"empty", "the endpoint is empty", endpoint(func(string) string { return "" })),
		breaks(named+"json", "the endpoint is announced as JSON", endpoint(func(uri string) string { return `{"uri":"` + uri + `"}` })),
		breaks(named+"quoted", "the endpoint is announced as a JSON string", endpoint(func(uri string) string { return `"` + uri + `"` })),
		breaks("sse.endpoint-event-first/late", "a log message comes ahead of the endpoint", announcing(func(b []byte) []byte {
			return append([]byte("event: message\n"+logEvent), b...)
		})),
		breaks("sse.endpoint-same-origin/foreign", "the endpoint lies on another host", endpoint(func(uri string) string { return "http://mcp.example.com" + uri })).unreachable(),
		breaks("sse.endpoint-same-origin/port", "the endpoint lies on another port", endpoint(func(uri string) string { return "http://127.0.0.1:1" + uri })).unreachable(),
		breaks(asEvents+"response", "messages are events of the type response", typed("response")),
		breaks(asEvents+"data", "messages are events of the type data", typed("data")),
		breaksAfresh(asEvents+"in-body", "responses come in the body of the POST", inBody),
		breaks(media+"plain", "the stream has the type text/plain", retyped(listens, streamType, "text/plain; charset=utf-8")).unreachable(),
		breaks(media+"json", "the stream has the type application/json", retyped(listens, streamType, jsonType)).unreachable(),
		breaks(text+"latin-1", "texts are sent in another encoding", answering(func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"result":{`), []byte("\"result\":{\"_meta\":{\"com.example/x\":\"d\xe9j\xe0\"},"), 1)
		})),
		breaks(text+"no-json", "an event behind each response holds no JSON", answering(func(b []byte) []byte { return append(b, "event: message\ndata: ok\n\n"...) })),
		breaks(text+"two", "events hold two messages", answering(func(b []byte) []byte {
			return append(bytes.TrimSuffix(b, []byte("\n")), "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n"...)
		})),
		breaks(gone+"accepted", "messages for a stream that is closed are accepted", restatus(posts, instead(http.StatusNotFound, http.StatusAccepted))),
		breaksAfresh("sse.response-on-own-stream/newest", "responses come on the newest stream", newestStream).alone(),
		breaksAfresh("sse.multiple-clients/mixed-up", "clients whose requests have the same id get the same answer", sameAnswers),
		breaksAfresh("sse.multiple-clients/refused", "a third client is refused while two are there", func() refserver.Seams {
			var mu sync.Mutex
			open := 0
			return visits(listens, func(v *visit) {
				mu.Lock()
				served := open < 2
				open++
				mu.Unlock()
				if served {
					v.serve()
				} else {
					says(http.StatusConflict)(v)
				}
				mu.Lock()
				open--
				mu.Unlock()
			})
		}),
		everywhere("sse.bind-localhost"),
	}
}

// goneEndpoint does something with the POSTs that the server refuses as there is
// no such stream.
func goneEndpoint(do func(v *visit)) refserver.Seams {
	return visits(posts, func(v *visit) {
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

// inBody answers requests after the handshake in the body of their POST.
func inBody() refserver.Seams {
	var mu sync.Mutex
	waiting := map[string]chan []byte{}
	place := func(v *visit) chan []byte {
		mu.Lock()
		defer mu.Unlock()
		id := v.r.URL.Query().Get("sessionId")
		if waiting[id] == nil {
			waiting[id] = make(chan []byte, 10)
		}
		return waiting[id]
	}
	return together(alters(listens, func(_ *visit, r *reply) {
		id := ""
		r.edit = func(b []byte) []byte {
			if isEndpoint(b) {
				_, id, _ = strings.Cut(string(data(b)), "sessionId=")
			}
			if !bringsResponse(b) || bytes.Contains(b, []byte("protocolVersion")) {
				return b
			}
			mu.Lock()
			to := waiting[id]
			mu.Unlock()
			select {
			case to <- data(b):
			default:
			}
			return nil
		}
	}), visits(asking(), func(v *visit) {
		answer := place(v)
		v.unheard(v.r)
		select {
		case b := <-answer:
			answers(http.StatusOK, jsonType, string(b))(v)
		case <-v.r.Context().Done():
		}
	}))
}

// newestStream sends responses on the stream that was opened last.
func newestStream() refserver.Seams {
	var mu sync.Mutex
	var newest *reply
	return alters(listens, func(_ *visit, r *reply) {
		mu.Lock()
		newest = r
		mu.Unlock()
		r.edit = func(b []byte) []byte {
			mu.Lock()
			to := newest
			mu.Unlock()
			if to == r || !bringsResponse(b) {
				return b
			}
			to.put(b)
			return nil
		}
	})
}
