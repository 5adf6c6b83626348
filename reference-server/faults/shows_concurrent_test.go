package faults_test

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// crowdedConversations returns conversations in which the client sends messages
// without waiting for responses. The cancelled requests already have a response or are
// slow calls, so that the messages of the server without faults are reproducible.
func crowdedConversations(r spec.Revision) []conversation {
	open := initialize(string(r), "{}") + initialized
	cancel := func(id string) string {
		return line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
	}
	read := func(id string) string { return request(id, "resources/read", `{"uri":"demo://text/hello"}`) }
	slow := func(id, token, duration string) string {
		return request(id, "tools/call", fmt.Sprintf(`{"name":"slow","arguments":{"durationMs":%s,"steps":2},"_meta":{"progressToken":%q}}`, duration, token))
	}
	ping := func(id string) string { return request(id, "ping", "") }
	crowd, refused := "", ""
	for n := range 40 {
		refused += request(fmt.Sprint(n+2), "com.example/none", "")
	}
	for n := range 100 {
		crowd += read(fmt.Sprint(n + 1))
	}
	return []conversation{
		// many requests, and concurrent calls
		{answers: 101, chunks: []string{open, crowd}},
		{answers: 3, chunks: []string{open, slow("1", "first", "40"), slow("2", "second", "40")}},
		// cancellations of requests that get their response at once
		{answers: 4, chunks: []string{open, ping("1"), cancel("1"), ping("2"), ping("3") + cancel("77") + cancel("78")}},
		// cancellation of initialize
		{answers: 2, chunks: []string{initialize(string(r), "{}") + cancel(`"init"`) + initialized + ping("1")}},
		// a signal
		{answers: 2, signal: "TERM", chunks: []string{open, ping("1")}},
		// text after a message
		{answers: 3, chunks: []string{open, `{"jsonrpc":"2.0","id":1,"method":"ping"},` + "\n", ping("2")}},
		{answers: 3, chunks: []string{open, `{"jsonrpc":"2.0","id":1,"method":"ping"} garbage` + "\n", ping("2")}},
		// line separators in a message, white space after it, undefined members
		{answers: 3, chunks: []string{open, ping("\"\u2028 \u2029 \u0085\""), `{"jsonrpc":"2.0","id":1,"method":"ping"}` + " \t \n"}},
		{answers: 4, chunks: []string{open, ping(`"before\u0000after"`), `{"jsonrpc":"2.0","id":1,"method":"ping","extra":1}` + "\n", ping("2")}},
		// errors of unusual requests, many errors, and invalid cursors
		{answers: 3, chunks: []string{open, request("1", "constructor", ""), request("2", "resources/read", `{"uri":"demo://items/%E0%A4%A"}`)}},
		{answers: 42, chunks: []string{open, refused, ping("1")}},
		{answers: 3, chunks: []string{open, request("1", "tools/list", `{"cursor":{}}`), request("2", "tools/list", `{"cursor":""}`)}},
	}
}
