package faults

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// acceptAnyOrigin makes the server accept the Origin of the matching cross-origin requests.
func acceptAnyOrigin(when func(v *exchange) bool) *refserver.Seams {
	return onExchange(func(v *exchange) bool { return isCrossOrigin(v) && when(v) }, func(v *exchange) {
		v.r.Header.Del("Origin")
		v.serve()
	})
}

// acceptAnyHost makes the server accept an Origin that equals the Host header,
// whatever the host is.
func acceptAnyHost() *refserver.Seams {
	return onExchange(func(v *exchange) bool { return v.r.Header.Get("Origin") == "http://"+v.r.Host }, func(v *exchange) {
		v.r.Header.Del("Origin")
		v.r.Host = "localhost"
		v.serve()
	})
}

// originFaults returns the faults in access control: Origin, Host and network
// interfaces.
func originFaults() []*Fault {
	const validated, invalid = "streamable-http.origin-validated/", "streamable-http.origin-invalid-403/"
	refusing := func(do func(v *exchange)) *refserver.Seams { return onExchange(isCrossOrigin, do) }
	// hasOrigin returns a condition on the Origin header of a request.
	hasOrigin := func(form func(origin string) bool) func(v *exchange) bool {
		return func(v *exchange) bool { return form(v.r.Header.Get("Origin")) }
	}
	isNull := hasOrigin(func(origin string) bool { return origin == "null" })
	begins := func(with string) func(v *exchange) bool {
		return hasOrigin(func(origin string) bool { return strings.HasPrefix(origin, with) })
	}
	noURL := hasOrigin(func(origin string) bool { return origin != "" && origin != "null" && !strings.Contains(origin, "://") })
	return []*Fault{
		newFault(validated+"served", "the server accepts any Origin", acceptAnyOrigin(anyExchange)),
		newFault(validated+"get-served", "the server accepts any Origin for a GET", acceptAnyOrigin(func(v *exchange) bool { return v.r.Method == http.MethodGet })),
		newFault(validated+"post-served", "the server accepts any Origin for a POST", acceptAnyOrigin(isPost)),
		newFault(validated+"null", "the server accepts the Origin null", acceptAnyOrigin(isNull)),
		newFault(validated+"prefix", "the server accepts an Origin that starts with its own", acceptAnyOrigin(begins("http://127.0.0.1."))),
		newFault(validated+"prefix-localhost", "the server accepts an Origin that begins with http://localhost", acceptAnyOrigin(begins("http://localhost"))),
		newFault(validated+"malformed", "the server accepts a malformed Origin", acceptAnyOrigin(noURL)),
		newFault(validated+"rebound", "the server checks only that Origin equals Host", acceptAnyHost()),
		newFault(invalid+"null-400", "the Origin null gets 400", onExchange(isNull, respondText(http.StatusBadRequest))),
		newFault(invalid+"malformed-400", "a malformed Origin gets 400", onExchange(noURL, respondText(http.StatusBadRequest))),
		newFault(validated+"delete-served", "the server accepts any Origin for a DELETE", acceptAnyOrigin(isDelete)),
		newFault(invalid+"400", "a foreign Origin gets 400", refusing(respondText(http.StatusBadRequest))),
		newFault(invalid+"404", "a foreign Origin gets 404", refusing(respondText(http.StatusNotFound))),
		newFault(invalid+"500", "a foreign Origin gets 500", refusing(respondText(http.StatusInternalServerError))),
		newFault("streamable-http.origin-403-body/id", "the error in the body of a 403 has an id", onExchange(func(v *exchange) bool { return isCrossOrigin(v) && isPost(v) },
			respond(http.StatusForbidden, jsonType, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Forbidden"}}`))),
		newAllInterfacesFault("streamable-http.bind-localhost"),
	}
}

func postFaults() []*Fault {
	const told, replied, refused = "streamable-http.accepted-202/", "streamable-http.accepted-202-response/", "streamable-http.rejected-status/"
	const typed, single, both = "streamable-http.request-content-type/", "streamable-http.json-single-object/", "streamable-http.accept-both/"
	lists := hasRequestOf(spec.MethodToolsList)
	acked := func(status int) func(*exchange, *responseEditor) {
		return func(_ *exchange, r *responseEditor) {
			r.editHead = func(old int, h http.Header, _ []byte) int { return replaceStatus(http.StatusAccepted, status)(old) }
		}
	}
	adding := func(body string) func(v *exchange) {
		return func(v *exchange) {
			r := &responseEditor{ResponseWriter: v.w}
			v.next.ServeHTTP(r, v.r)
			if r.status == http.StatusAccepted {
				r.Header().Set("Content-Type", jsonType)
				r.writeRaw([]byte(body))
			}
			r.finish()
		}
	}
	return []*Fault{
		newFault(told+"200", "notifications get 200", editResponses(hasOnlyNotifications, acked(http.StatusOK))),
		newFault(told+"204", "notifications get 204", editResponses(hasOnlyNotifications, acked(http.StatusNoContent))),
		newFault(told+"body", "the 202 for a notification has a body", onExchange(hasOnlyNotifications, adding(`{"ok":true}`))),
		newFault(told+"null", "the 202 for a notification has the body null", onExchange(hasOnlyNotifications, adding("null"))),
		newFault(replied+"200", "responses get 200", editResponses(hasOnlyResponses, acked(http.StatusOK))),
		newFault(replied+"204", "responses get 204", editResponses(hasOnlyResponses, acked(http.StatusNoContent))),
		newFault(replied+"body", "the 202 for a response has a body", onExchange(hasOnlyResponses, adding(`{"ok":true}`))),
		newFault(refused+"200", "a refused notification gets 200 and an error", editStatus(hasOnlyNotifications, func(status int) int {
			if status >= 400 {
				return http.StatusOK
			}
			return status
		})),
		newFault(refused+"202", "a refused notification gets 202 and an error", editStatus(hasOnlyNotifications, func(status int) int {
			if status >= 400 {
				return http.StatusAccepted
			}
			return status
		})),
		newFault("streamable-http.rejected-body/id", "a refused notification gets an error with an id", editBodies(hasOnlyNotifications, func(b []byte) []byte {
			_, m := wire.Members(b)
			m["id"] = []byte("1")
			return wire.JSON(m)
		})),

		newFault(typed+"text", "responses have the content type text/plain", setContentType(hasRequestOf(), jsonType, "text/plain")),
		newFault(typed+"html", "responses have the content type text/html", setContentType(hasRequestOf(), jsonType, "text/html; charset=utf-8")),
		newFault(typed+"json-rpc", "responses have the content type application/json-rpc", setContentType(hasRequestOf(), jsonType, "application/json-rpc")),
		newFault(typed+"other-stream", "streams have the content type application/x-ndjson", setContentType(hasRequestOf(), streamType, "application/x-ndjson")),
		newFault(typed+"202", "tools/list gets 202 and no response", onExchange(lists, func(v *exchange) { v.serveDiscarding(v.r); v.w.WriteHeader(http.StatusAccepted) })),
		newFault(typed+"201", "requests get 201", editStatus(hasRequestOf(), replaceStatus(http.StatusOK, http.StatusCreated))),
		newFault(typed+"202-response", "requests get 202 and the response in the body", editStatus(hasRequestOf(), replaceStatus(http.StatusOK, http.StatusAccepted))),
		newFault(typed+"206", "requests get 206", editStatus(hasRequestOf(), replaceStatus(http.StatusOK, http.StatusPartialContent))),
		newFault(typed+"204", "tools/list gets 204", onExchange(lists, func(v *exchange) { v.w.WriteHeader(http.StatusNoContent) })),
		newFault(single+"empty", "tools/list gets an empty JSON body", onExchange(lists, respond(http.StatusOK, jsonType, ""))),
		newFault(single+"array", "responses are arrays with one element", editBodies(hasRequestOf(), func(b []byte) []byte {
			return bytes.Join([][]byte{[]byte("["), b, []byte("]")}, nil)
		})).inRevisions(spec.V20250326),
		newFault(single+"log-first", "a log message precedes the response in one JSON body", editBodies(lists, func(b []byte) []byte {
			return append([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`+"\n"), b...)
		})),
		newFault(single+"twice", "one JSON body contains the response twice", editBodies(lists, func(b []byte) []byte { return append(b, b...) })),
		newFault(single+"notification", "tools/list gets a notification instead of a response", onExchange(lists,
			respond(http.StatusOK, jsonType, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`))),
		newFault(single+"text", "tools/list gets plain text as application/json", onExchange(lists, respond(http.StatusOK, jsonType, "ok"))),
		newFault(both+"exact", "the server requires the usual Accept header exactly", onExchange(func(v *exchange) bool {
			return isPost(v) && v.r.Header.Get("Accept") != jsonType+", "+streamType
		}, respondText(http.StatusNotAcceptable))),
		newFault(both+"stream-refused", "tools/list gets 406 although Accept permits streams", onExchange(lists, respondText(http.StatusNotAcceptable))),
	}
}

// newAllInterfacesFault returns the fault of a server that listens on all network
// interfaces.
func newAllInterfacesFault(requirement string) *Fault {
	f := newFault(requirement+"/everywhere", "the server listens on all network interfaces", &refserver.Seams{})
	f.AllInterfaces = true
	return f
}
