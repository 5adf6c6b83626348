package web_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

const (
	openStream = `
		1> GET /sse HTTP/1.1
		   Host: localhost:3000
		   Accept: text/event-stream
		1< HTTP/1.1 200 OK
		   Content-Type: text/event-stream
		1<~ event: endpoint
		    data: /messages?id=7
		2> POST /messages?id=7 HTTP/1.1
		   Host: localhost:3000
		   Content-Type: application/json
		2>> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
		2< HTTP/1.1 202 Accepted
		2! complete
		1<~ data: {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
		3> POST /messages?id=7 HTTP/1.1
		   Host: localhost:3000
		   Content-Type: application/json
		3>> {"jsonrpc":"2.0","method":"notifications/initialized"}
		3< HTTP/1.1 202 Accepted
		3! complete
		4> POST /messages?id=7 HTTP/1.1
		   Host: localhost:3000
		   Content-Type: application/json
		4>> `
	secondStream = `
		8> GET /sse HTTP/1.1
		   Host: localhost:3000
		   Accept: text/event-stream
		8< HTTP/1.1 200 OK
		   Content-Type: text/event-stream
		8<~ event: endpoint
		    data: `
)

// Over the older transport, too, nothing is said of what can't be decided.
func TestTheOlderTransport(t *testing.T) {
	for _, s := range []scene{
		{name: "an answer on the stream", script: openStream + asks + `
			4< HTTP/1.1 200 OK
			   Content-Type: text/plain
			4<< ok
			4! complete
			1<~ data: ` + answers},
		{name: "silence", script: openStream + asks + `
			4< HTTP/1.1 202 Accepted
			4! complete
			! gave-up 1`, want: []string{"base.request-answered broken"}},
		{name: "a method that no server need know", script: openStream + `{"jsonrpc":"2.0","id":1,"method":"no/such"}
			4< HTTP/1.1 400 Bad Request
			4! complete
			! gave-up 1`, want: []string{"base.http-legal-request-served note"}},
		{name: "a body that is no message", script: openStream + `{"jsonrpc"
			4< HTTP/1.1 400 Bad Request
			4! complete`},
		{name: "an id that not every server can hold", script: openStream + `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}
			4< HTTP/1.1 400 Bad Request
			4! complete`, want: []string{"base.http-legal-request-served note"}},
		{name: "a response to nothing", script: openStream + `{"jsonrpc":"2.0","id":77,"result":{}}
			4< HTTP/1.1 400 Bad Request
			4! complete`},
		{name: "guards and gateways", script: openStream + asks + `
			4< HTTP/1.1 401 Unauthorized
			4! complete`},
		{name: "one endpoint for all streams", script: strings.ReplaceAll(openStream, "?id=7", "") + asks + `
			4< HTTP/1.1 202 Accepted
			4! complete` + secondStream + `/messages
			8<~ data: ` + answers + `
			1! complete
			5> POST /messages HTTP/1.1
			   Host: localhost:3000
			   Content-Type: application/json
			5>> {"jsonrpc":"2.0","id":5,"method":"tools/list"}
			5< HTTP/1.1 202 Accepted
			5! complete
			8<~ data: {"jsonrpc":"2.0","id":5,"result":{"tools":[]}}`},
		{name: "a stream that we closed a moment ago", script: openStream + asks + `
			1! dropped
			4< HTTP/1.1 202 Accepted
			4! complete
			5> POST /messages?id=7 HTTP/1.1
			   Host: localhost:3000
			   Content-Type: application/json
			5>> {"jsonrpc":"2.0","id":5,"method":"tools/list"}
			5< HTTP/1.1 202 Accepted
			5! complete`},
		{name: "a stream that we closed before it said anything", script: `
			1> GET /sse HTTP/1.1
			   Host: localhost:3000
			   Accept: text/event-stream
			1< HTTP/1.1 200 OK
			   Content-Type: text/event-stream
			1! dropped`},
		{name: "the same host in other words", script: secondStream + `http://LOCALHOST:3000/messages?id=8`},
		{name: "the port that a scheme has by itself", script: strings.ReplaceAll(secondStream, "localhost:3000", "mcp.example:80") + `http://mcp.example/messages`},
		{name: "another port", script: secondStream + `http://localhost:3001/messages?id=8`, want: []string{"sse.endpoint-same-origin warning"}},
		{name: "an endpoint twice", script: secondStream + `/messages?id=8
			8<~ event: endpoint
			    data: /messages?id=8`},
		{name: "the endpoint in quotes", script: secondStream + `"/messages?id=8"`, want: []string{"sse.endpoint-event broken"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			results, _ := judge(t, spec.V20241105, spec.SSE, expand(spec.V20241105, s.script))
			if diff := cmp.Diff(s.want, said(results)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
