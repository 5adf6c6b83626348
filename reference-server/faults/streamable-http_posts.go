package faults

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// anyOrigin lets the server believe that the Origin of some requests is its own.
func anyOrigin(when func(v *visit) bool) refserver.Seams {
	return visits(func(v *visit) bool { return abroad(v) && when(v) }, func(v *visit) {
		v.r.Header.Del("Origin")
		v.serve()
	})
}

// rebound has the server take any name of its own that a page claims.
func rebound() refserver.Seams {
	return visits(func(v *visit) bool { return v.r.Header.Get("Origin") == "http://"+v.r.Host }, func(v *visit) {
		v.r.Header.Del("Origin")
		v.r.Host = "localhost"
		v.serve()
	})
}

// originFaults are about who may reach the server.
func originFaults() []Fault {
	const validated, invalid = "streamable-http.origin-validated/", "streamable-http.origin-invalid-403/"
	refusing := func(do func(v *visit)) refserver.Seams { return visits(abroad, do) }
	// of picks the requests with an Origin of some form.
	of := func(form func(origin string) bool) func(v *visit) bool {
		return func(v *visit) bool { return form(v.r.Header.Get("Origin")) }
	}
	isNull := of(func(origin string) bool { return origin == "null" })
	begins := func(with string) func(v *visit) bool {
		return of(func(origin string) bool { return strings.HasPrefix(origin, with) })
	}
	noURL := of(func(origin string) bool { return origin != "" && origin != "null" && !strings.Contains(origin, "://") })
	return []Fault{
		breaks(validated+"served", "pages of any host are served", anyOrigin(anyVisit)),
		breaks(validated+"get-served", "pages of any host may listen", anyOrigin(func(v *visit) bool { return v.r.Method == http.MethodGet })),
		breaks(validated+"post-served", "pages of any host may post", anyOrigin(posts)),
		breaks(validated+"null", "the Origin null is served", anyOrigin(isNull)),
		breaks(validated+"prefix", "an Origin that begins like that of the server is served", anyOrigin(begins("http://127.0.0.1."))),
		breaks(validated+"prefix-localhost", "an Origin that begins with http://localhost is served", anyOrigin(begins("http://localhost"))),
		breaks(validated+"malformed", "an Origin that is none is served", anyOrigin(noURL)),
		breaks(validated+"rebound", "Origin and Host are compared with each other alone", rebound()),
		breaks(invalid+"null-400", "the Origin null is refused with 400", visits(isNull, says(http.StatusBadRequest))),
		breaks(invalid+"malformed-400", "an Origin that is none is refused with 400", visits(noURL, says(http.StatusBadRequest))),
		breaks(validated+"delete-served", "pages of any host may end sessions", anyOrigin(deletes)),
		breaks(invalid+"400", "pages of other hosts are refused with 400", refusing(says(http.StatusBadRequest))),
		breaks(invalid+"404", "pages of other hosts are refused with 404", refusing(says(http.StatusNotFound))),
		breaks(invalid+"500", "pages of other hosts are refused with 500", refusing(says(http.StatusInternalServerError))),
		breaks("streamable-http.origin-403-body/id", "the error in the body of a 403 has an id", visits(func(v *visit) bool { return abroad(v) && posts(v) },
			answers(http.StatusForbidden, jsonType, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Forbidden"}}`))),
		everywhere("streamable-http.bind-localhost"),
	}
}

func postFaults() []Fault {
	const told, replied, refused = "streamable-http.accepted-202/", "streamable-http.accepted-202-response/", "streamable-http.rejected-status/"
	const typed, single, both = "streamable-http.request-content-type/", "streamable-http.json-single-object/", "streamable-http.accept-both/"
	lists := asking(spec.MethodToolsList)
	acked := func(status int) func(*visit, *reply) {
		return func(_ *visit, r *reply) {
			r.head = func(old int, h http.Header, _ []byte) int { return instead(http.StatusAccepted, status)(old) }
		}
	}
	adding := func(body string) func(v *visit) {
		return func(v *visit) {
			r := &reply{ResponseWriter: v.w}
			v.next.ServeHTTP(r, v.r)
			if r.status == http.StatusAccepted {
				r.Header().Set("Content-Type", jsonType)
				r.put([]byte(body))
			}
			r.finish()
		}
	}
	return []Fault{
		breaks(told+"200", "notifications are acknowledged by 200", alters(telling, acked(http.StatusOK))),
		breaks(told+"204", "notifications are acknowledged by 204", alters(telling, acked(http.StatusNoContent))),
		breaks(told+"body", "the 202 for a notification has a body", visits(telling, adding(`{"ok":true}`))),
		breaks(told+"null", "the 202 for a notification has the body null", visits(telling, adding("null"))),
		breaks(replied+"200", "responses are acknowledged by 200", alters(replying, acked(http.StatusOK))),
		breaks(replied+"204", "responses are acknowledged by 204", alters(replying, acked(http.StatusNoContent))),
		breaks(replied+"body", "the 202 for a response has a body", visits(replying, adding(`{"ok":true}`))),
		breaks(refused+"200", "a notification is refused with 200 and an error", restatus(telling, func(status int) int {
			if status >= 400 {
				return http.StatusOK
			}
			return status
		})),
		breaks(refused+"202", "a notification is refused with 202 and an error", restatus(telling, func(status int) int {
			if status >= 400 {
				return http.StatusAccepted
			}
			return status
		})),
		breaks("streamable-http.rejected-body/id", "a notification is refused with an error that has an id", bodies(telling, func(b []byte) []byte {
			_, m := wire.Members(b)
			m["id"] = []byte("1")
			return wire.JSON(m)
		})),

		breaks(typed+"text", "requests are answered as text/plain", retyped(asking(), jsonType, "text/plain")),
		breaks(typed+"html", "requests are answered as text/html", retyped(asking(), jsonType, "text/html; charset=utf-8")),
		breaks(typed+"json-rpc", "requests are answered as application/json-rpc", retyped(asking(), jsonType, "application/json-rpc")),
		breaks(typed+"other-stream", "streams have the type application/x-ndjson", retyped(asking(), streamType, "application/x-ndjson")),
		breaks(typed+"202", "tools/list gets a 202 alone", visits(lists, func(v *visit) { v.unheard(v.r); v.w.WriteHeader(http.StatusAccepted) })),
		breaks(typed+"201", "requests are answered with 201", restatus(asking(), instead(http.StatusOK, http.StatusCreated))),
		breaks(typed+"202-response", "requests are answered with 202, and the response in the body", restatus(asking(), instead(http.StatusOK, http.StatusAccepted))),
		breaks(typed+"206", "requests are answered with 206", restatus(asking(), instead(http.StatusOK, http.StatusPartialContent))),
		breaks(typed+"204", "tools/list gets a 204", visits(lists, func(v *visit) { v.w.WriteHeader(http.StatusNoContent) })),
		breaks(single+"empty", "tools/list gets an empty body of JSON", visits(lists, answers(http.StatusOK, jsonType, ""))),
		breaks(single+"array", "answers are arrays with the response", bodies(asking(), func(b []byte) []byte {
			return bytes.Join([][]byte{[]byte("["), b, []byte("]")}, nil)
		})).in(spec.V20250326),
		breaks(single+"log-first", "a log message stands ahead of the response", bodies(lists, func(b []byte) []byte {
			return append([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`+"\n"), b...)
		})),
		breaks(single+"twice", "the response comes twice in one body", bodies(lists, func(b []byte) []byte { return append(b, b...) })),
		breaks(single+"notification", "tools/list gets a notification", visits(lists,
			answers(http.StatusOK, jsonType, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`))),
		breaks(single+"text", "tools/list gets text that is called JSON", visits(lists, answers(http.StatusOK, jsonType, "ok"))),
		breaks(both+"exact", "Accept must be exactly what most clients send", visits(func(v *visit) bool {
			return posts(v) && v.r.Header.Get("Accept") != jsonType+", "+streamType
		}, says(http.StatusNotAcceptable))),
		breaks(both+"stream-refused", "tools/list gets 406 where a stream would do, too", visits(lists, says(http.StatusNotAcceptable))),
	}
}

// everywhere makes the row of a server that listens on all addresses.
func everywhere(requirement string) Fault {
	f := breaks(requirement+"/everywhere", "the server listens on all addresses of the machine", refserver.Seams{})
	f.Everywhere = true
	return f
}
