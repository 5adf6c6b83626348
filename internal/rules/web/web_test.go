package web_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

const (
	asks    = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	answers = `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`
	told    = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
)

// What has another reason, or may have one, is not counted as a failure.
func TestWhatCannotBeDecided(t *testing.T) {
	run(t, []scene{
		{name: "a DELETE that is not allowed", script: `
			= hello
			= delete 1
			= status 1 405 Method Not Allowed`},
		{name: "a GET before initialized", script: `
			= get 1
			= status 1 400 Bad Request
			= hello`},
		{name: "a GET without a session", script: `
			= hello
			= get 1
			- Mcp-Session-Id
			= status 1 400 Bad Request`},
		{name: "a GET of a session that may be over", script: `
			= hello
			= get 1
			= status 1 404 Not Found`},
		{name: "a GET that resumes what nobody knows", script: `
			= hello
			= get 1
			+ Last-Event-ID: x
			= status 1 400 Bad Request`},
		{name: "statuses of gateways and guards", script: `
			= hello
			= get 1
			= status 1 401 Unauthorized
			= get 2
			= status 2 503 Service Unavailable
			= post 3 ` + asks + `
			= status 3 429 Too Many Requests
			= post 4 ` + told + `
			= status 4 307 Temporary Redirect
			= post 5 {"jsonrpc"
			= status 5 502 Bad Gateway
			= delete 6
			= status 6 403 Forbidden`},
		{name: "where a stream stood overtakes the event that it stood at", script: `
			= hello
			= get 1
			= sse 1
			= get 2
			= sse 2
			2<~ id: 0-1
			    data:
			1<~ id: 0-1
			    data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
			1! complete`},
		{name: "a preflight from another host", script: `
			= hello
			1> OPTIONS /mcp HTTP/1.1
			   Host: localhost:3000
			   Origin: http://evil.example
			= status 1 204 No Content`},
		{name: "another port of this machine", script: `
			= hello
			= post 1 ` + asks + `
			+ Origin: http://localhost:6274
			= json 1 ` + answers},
		{name: "another host, refused for who knows what", script: `
			= hello
			= delete 1
			+ Origin: http://evil.example
			= status 1 404 Not Found`},
		{name: "another host at a public server", script: `
			= post 1 ` + asks + `
			- Host
			+ Host: mcp.example
			+ Origin: http://evil.example
			= json 1 ` + answers, want: []string{"streamable-http.origin-validated note"}},
		{name: "a stream that DELETE ends", script: `
			= hello
			= post 1 ` + asks + `
			= sse 1
			1<~ id: a
			    data:
			= delete 2
			= status 2 200 OK
			1! complete`},
		{name: "requests that pass a DELETE", script: `
			= hello
			= delete 1
			= post 2 ` + asks + `
			= json 2 ` + answers + `
			= status 1 200 OK`},
		{name: "an ended session without a version", script: `
			= hello
			= delete 1
			= status 1 200 OK
			= post 2 ` + asks + `
			- MCP-Protocol-Version
			= status 2 400 Bad Request`},
		{name: "a session id where there are none", script: `
			= init 1
			= json 1 {"jsonrpc":"2.0","id":"i1","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
			= post 2 {"jsonrpc":"2.0","method":"notifications/initialized"}
			= status 2 202 Accepted
			= post 3 ` + asks + `
			= json 3 ` + answers},
		{name: "versions that a server may know", script: `
			= hello
			= post 1 ` + asks + `
			- MCP-Protocol-Version
			+ MCP-Protocol-Version: 2027-01-01
			= json 1 ` + answers + `
			= post 2 {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			- MCP-Protocol-Version
			+ MCP-Protocol-Version: DRAFT-2026-v1
			= json 2 {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`},
		{name: "a server without sessions that wants the version", script: `
			= init 1
			= json 1 {"jsonrpc":"2.0","id":"i1","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
			= post 2 {"jsonrpc":"2.0","method":"notifications/initialized"}
			- Mcp-Session-Id
			= status 2 202 Accepted
			= post 3 ` + asks + `
			- Mcp-Session-Id
			- MCP-Protocol-Version
			= status 3 400 Bad Request`},
		{name: "an illegal batch, whatever comes of it", script: `
			= hello
			= post 1 [` + asks + `]
			= status 1 200 OK
			= post 2 [` + told + `]
			= status 2 200 OK`},
		{name: "progress that two requests may have", script: `
			= hello
			= post 1 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}
			= post 2 {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}
			= sse 1
			1<~ id: a
			    data:
			1<~ data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			1<~ data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
			1! complete
			= json 2 {"jsonrpc":"2.0","id":2,"result":{"content":[]}}`},
		{name: "progress of a task on the stream of a GET", script: `
			= hello
			= get 9
			= sse 9
			= post 1 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","task":{},"_meta":{"progressToken":1}}}
			9<~ data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			= json 1 {"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"t","status":"working","createdAt":"2025-11-25T00:00:00Z","lastUpdatedAt":"2025-11-25T00:00:00Z","ttl":null}}}`},
		{name: "an initialize that the protocol refuses", script: `
			= init 1
			1< HTTP/1.1 400 Bad Request
			   Content-Type: application/json
			1<< {"jsonrpc":"2.0","id":"i1","error":{"code":-32602,"message":"Unsupported protocol version"}}
			1! complete`},
		{name: "a list that changed, told to two streams", script: `
			= hello
			= get 1
			= sse 1
			= get 2
			= sse 2
			1<~ data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
			2<~ data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`},
		{name: "requests of a server without sessions, which counts anew for each of ours", script: `
			= init 1
			= json 1 {"jsonrpc":"2.0","id":"i1","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
			= post 2 {"jsonrpc":"2.0","method":"notifications/initialized"}
			- Mcp-Session-Id
			= status 2 202 Accepted
			= post 3 ` + asks + `
			- Mcp-Session-Id
			= post 4 {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			- Mcp-Session-Id
			= sse 3
			= sse 4
			3<~ id: a
			    data:
			4<~ id: b
			    data:
			3<~ data: {"jsonrpc":"2.0","id":0,"method":"ping"}
			4<~ data: {"jsonrpc":"2.0","id":0,"method":"ping"}
			3<~ data: ` + answers + `
			3! complete
			4<~ data: {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
			4! complete`},
		{name: "a cancelled request that ends without a body", script: `
			= hello
			= post 1 ` + asks + `
			= post 2 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
			= status 2 202 Accepted
			= status 1 204 No Content
			= post 3 {"jsonrpc":"2.0","id":3,"method":"tools/list"}
			= delete 4
			= status 4 200 OK
			= status 3 200 OK`},
		{name: "a body that fits no header", revision: spec.V20260728, script: `
			= post 1 {"jsonrpc":
			- Mcp-Session-Id
			1< HTTP/1.1 400 Bad Request
			   Content-Type: application/json
			1<< {"jsonrpc":"2.0","error":{"code":-32020,"message":"Header mismatch"}}
			1! complete`},
		{name: "a GET that comes again at once", script: `
			= hello
			= get 1
			= sse 1
			1! dropped
			= get 2
			= status 2 409 Conflict`},
		{name: "the stream of a GET, opened again where it stood", script: `
			= hello
			= get 1
			= sse 1
			1<~ id: g-1
			    data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
			1! broken
			= get 2
			= sse 2
			2<~ id: g-1
			    data:`},
		{name: "a stream without a version", script: `
			= hello
			= post 1 ` + asks + `
			- MCP-Protocol-Version
			= sse 1
			1<~ data: ` + answers + `
			1! complete`},
		{name: "events of other types", script: `
			= hello
			= post 1 ` + asks + `
			= sse 1
			1<~ id: a
			    data:
			1<~ event: ping
			    data: {}
			1<~ event: ping
			    data: now
			1<~ data: ` + answers + `
			1! complete`},
		{name: "nothing but an answer", script: "= status 1 404 Not Found"},
	})
}

// The base rules know what HTTP does to messages.
func TestMessagesOverHTTP(t *testing.T) {
	run(t, []scene{
		{name: "an id used in two requests at once", script: `
			= hello
			= post 1 ` + asks + `
			= post 2 ` + asks + `
			= json 2 ` + answers + `
			= json 1 ` + answers},
		{name: "an answer given twice", script: `
			= hello
			= post 1 ` + asks + `
			= sse 1
			1<~ id: a
			    data:
			1<~ data: ` + answers + `
			1<~ data: ` + answers + `
			1! complete`, want: []string{"base.response-once broken"}},
		{name: "silence", script: `
			= hello
			= post 1 ` + asks + `
			1! dropped
			! gave-up 1`, want: []string{"base.request-answered broken"}},
		{name: "silence after an end", script: `
			= hello
			= post 1 ` + asks + `
			= status 1 202 Accepted
			! gave-up 1`, want: []string{"streamable-http.request-content-type broken"}},
		{name: "silence after DELETE", script: `
			= hello
			= post 1 ` + asks + `
			= delete 2
			= status 2 200 OK
			! gave-up 1`},
		{name: "an answer of another stream on time", script: `
			= hello
			= post 1 ` + asks + `
			= post 2 {"jsonrpc":"2.0","id":2,"method":"ping"}
			= sse 2
			2<~ id: a
			    data:
			2<~ id: b
			    data: ` + answers + `
			2<~ id: c
			    data: {"jsonrpc":"2.0","id":2,"result":{}}
			2! complete
			1! dropped
			! gave-up 1`},
		{name: "another id", script: `
			= hello
			= post 1 ` + asks + `
			= json 1 {"jsonrpc":"2.0","id":"1","result":{"tools":[]}}`, want: []string{"base.response-id-echo broken"}},
		{name: "another id on a stream", script: `
			= hello
			= post 1 ` + asks + `
			= sse 1
			1<~ id: a
			    data:
			1<~ data: {"jsonrpc":"2.0","id":"1","result":{"tools":[]}}
			1! complete`, want: []string{"base.response-id-echo broken"}},
		{name: "an array where batches do not exist", script: `
			= hello
			= post 1 ` + asks + `
			= json 1 [` + answers + `]`, want: []string{"base.batch-not-emitted broken"}},
		{name: "a notification answered with its own kind of error", script: `
			= hello
			= post 1 ` + told + `
			= json 1 {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`, want: []string{"streamable-http.rejected-status broken"}},
		{name: "a response to nothing answered with an error", script: `
			= hello
			= post 1 {"jsonrpc":"2.0","id":77,"result":{}}
			= json 1 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`, want: []string{"streamable-http.rejected-status warning"}},
		{name: "a request refused by status, with another id, and none", script: `
			= hello
			= post 1 ` + asks + `
			1< HTTP/1.1 400 Bad Request
			   Content-Type: application/json
			1<< {"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}
			1! complete
			= post 2 {"jsonrpc":"2.0","id":2,"method":"ping"}
			2< HTTP/1.1 500 Internal Server Error
			   Content-Type: text/html
			2<< <html>
			2! complete
			! gave-up 1
			! gave-up 2`, want: []string{"base.http-legal-request-served note", "base.http-legal-request-served warning"}},
		{name: "an initialize while another client has the only session", script: `
			= init 1
			1< HTTP/1.1 400 Bad Request
			   Content-Type: application/json
			1<< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: Server already initialized"}}
			1! complete`, want: []string{"streamable-http.initialize-without-session warning"}},
		{name: "an initialize where nobody says that MCP is spoken", script: `
			= init 1
			1< HTTP/1.1 500 Internal Server Error
			   Content-Type: application/json
			1<< {"message":"no database"}
			1! complete`, want: []string{"base.http-legal-request-served note"}},
		{name: "a ping refused as malformed, another served", script: `
			= hello
			= post 1 {"jsonrpc":"2.0","id":1,"method":"ping"}
			= json 1 {"jsonrpc":"2.0","id":1,"result":{}}
			= post 2 {"jsonrpc":"2.0","id":2,"method":"ping"}
			2< HTTP/1.1 400 Bad Request
			   Content-Type: application/json
			2<< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"busy"}}
			2! complete`, want: []string{"base.http-legal-request-served note"}},
		{name: "a DELETE on which the server fails", script: `
			= hello
			= delete 1
			= status 1 500 Internal Server Error`, want: []string{"base.http-legal-request-served warning", "streamable-http.session-delete note"}},
		{name: "every ping refused for another reason than its form", script: `
			= hello
			= post 1 {"jsonrpc":"2.0","id":1,"method":"ping"}
			1< HTTP/1.1 400 Bad Request
			   Content-Type: application/json
			1<< {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}
			1! complete`, want: []string{"base.http-legal-request-served note", "ping.responds warning"}},
		{name: "a stream for initialize that ends", script: `
			= init 1
			= sse 1
			1<~ : soon
			1! complete`, want: []string{"lifecycle.initialize-response broken", "streamable-http.sse-response-delivered warning"}},
		{name: "a stream for initialize that ends and may be taken up again", script: `
			= init 1
			= sse 1
			1<~ id: a
			    data:
			1! complete`, want: []string{"streamable-http.sse-retry-before-close warning"}},
		{name: "no connection", script: `
			= hello
			= post 1 ` + asks + `
			1! unreachable connection refused
			! gave-up 1`},
		{name: "a flooded stream is the matter of its exchange", script: `
			= hello
			= post 1 ` + asks + `
			= sse 1
			! flooded xxx
			! exchange 1
			1! dropped
			= post 2 {"jsonrpc":"2.0","id":2,"method":"ping"}
			2! dropped
			! gave-up 2`, want: []string{"ping.responds broken"}},
		{name: "requests of the server with ids used before", script: `
			= hello
			= post 1 ` + asks + `
			= sse 1
			1<~ id: a
			    data:
			1<~ data: {"jsonrpc":"2.0","id":1,"method":"ping"}
			= post 2 {"jsonrpc":"2.0","id":1,"result":{}}
			= status 2 202 Accepted
			1<~ data: {"jsonrpc":"2.0","id":1,"method":"ping","params":{}}
			1<~ data: ` + answers + `
			1! complete`, want: []string{"base.request-id-unique-per-session broken"}},
		{name: "requests of the server with one id on streams one after the other", script: `
			= hello
			= post 1 ` + asks + `
			= sse 1
			1<~ id: a
			    data:
			1<~ data: {"jsonrpc":"2.0","id":0,"method":"ping"}
			1<~ data: ` + answers + `
			1! complete
			= post 2 {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			= sse 2
			2<~ id: b
			    data:
			2<~ data: {"jsonrpc":"2.0","id":0,"method":"ping"}
			2<~ data: {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
			2! complete`, want: []string{"base.request-id-unique-per-session broken"}},
		{name: "stdio is elsewhere", script: `
			= hello
			= post 1 ` + asks + `
			1< HTTP/1.1 200 OK
			   Content-Type: application/json
			1<<q "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {\"tools\": []}\n}\n"
			1! complete
			= get 2
			2< HTTP/1.1 405 Method Not Allowed
			   Content-Type: text/plain
			2<< Method Not Allowed
			2! complete`},
	})
}
