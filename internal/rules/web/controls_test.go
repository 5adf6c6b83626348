package web_test

import "testing"

// A refusal is interpreted only where the same request in order is served.
func TestRefusalsAreComparedWithTheOrdinary(t *testing.T) {
	const (
		next     = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
		results  = `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`
		invalid  = "streamable-http.version-header-invalid-400 broken"
		over     = "streamable-http.session-terminated-404 broken"
		required = "streamable-http.session-required-400 warning"
		foreign  = "streamable-http.origin-invalid-403 broken"
	)
	oddVersion := func(n string) string {
		return "\n= post " + n + " " + asks + "\n- MCP-Protocol-Version\n+ MCP-Protocol-Version: nothing"
	}
	served := "\n= post 9 " + next + "\n= json 9 " + results
	run(t, []scene{
		{name: "a version refused with 409, others served", script: "= hello" + oddVersion("1") + "\n= status 1 409 Conflict" + served, want: []string{invalid}},
		{name: "a version refused with 500, others served", script: "= hello" + oddVersion("1") + "\n= status 1 500 No" + served, want: []string{"base.http-legal-request-served note", invalid}},
		{name: "a version refused with 409, nothing to compare it with", script: "= hello" + oddVersion("1") + "\n= status 1 409 Conflict"},
		{name: "a version in a second GET, which gets 409 whatever it says", script: `
			= hello
			= get 1
			= sse 1
			= get 2
			- MCP-Protocol-Version
			+ MCP-Protocol-Version: nothing
			= status 2 409 Conflict`},
		{name: "a version answered with an error and 200 is not served", script: "= hello" + oddVersion("1") +
			"\n= json 1 " + `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"version"}}` + served, want: []string{invalid}},
		{name: "DELETE again", script: `
			= hello
			= delete 1
			= status 1 200 OK
			= delete 2
			= status 2 200 OK`},
		{name: "an ended session refused with 400", script: "= hello" + served + `
			= delete 1
			= status 1 200 OK
			= post 2 ` + asks + `
			= status 2 400 Bad Request`, want: []string{over}},
		{name: "a GET without a session while another is open", script: `
			= hello
			= get 1
			= sse 1
			= get 2
			- Mcp-Session-Id
			= status 2 409 Conflict`},
		{name: "no session, refused with 404", script: "= hello" + served + `
			= post 2 ` + asks + `
			- Mcp-Session-Id
			= status 2 404 Not Found`, want: []string{required}},
		{name: "a page elsewhere, refused with 400", script: "= hello" + served + `
			= post 2 ` + asks + `
			+ Origin: http://evil.example
			= status 2 400 Bad Request`, want: []string{foreign}},
		{name: "a page elsewhere, refused with 400 with nothing to compare it with", script: `
			= hello
			= post 2 ` + asks + `
			+ Origin: http://evil.example
			= status 2 400 Bad Request`},
	})
}
