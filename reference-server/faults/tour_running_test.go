package faults_test

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// dawdling is a visitor that sets log levels, waits for progress, cancels requests, and
// responds too late to the server's requests.
var dawdling = visitor{capabilities: all, pages: 100, reply: func(*wire.Message) []byte { return nil }, more: dawdle()}

func dawdle() []string {
	var lines []string
	id := 300
	ask := func(method, params string) {
		lines = append(lines, request(fmt.Sprint(id), method, params))
		id++
	}
	tell := func(method, params string) {
		if params != "" {
			params = `,"params":` + params
		}
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q%s}`, method, params))
	}
	for _, level := range []string{`"emergency"`, `"alert"`, `"critical"`, `"error"`, `"warning"`, `"notice"`, `"info"`, `"debug"`, `"INFO"`, "3", "null", `"warning"`, `"INFO"`} {
		ask("logging/setLevel", `{"level":`+level+`}`)
		ask("tools/call", `{"name":"log"}`)
	}
	for _, token := range []string{`"aB"`, "41", `"42"`, "0", `""`, "9007199254740991"} {
		meta := `"_meta":{"progressToken":` + token + `}`
		ask("tools/call", `{"name":"slow","arguments":{"durationMs":20,"steps":3},`+meta+`}`)
		ask("tools/call", `{"name":"none",`+meta+`}`)
		ask("ping", `{`+meta+`}`)
	}
	// cancellations of a running call, of completed and unknown requests, and invalid
	// ones
	running := fmt.Sprint(id)
	ask("tools/call", `{"name":"slow","arguments":{"durationMs":1100,"steps":100},"_meta":{"progressToken":"running"}}`)
	for _, requestID := range []string{`"` + running + `"`, running, running, "300", "4000000007", `"none"`, "true", "null", "{}"} {
		tell("notifications/cancelled", `{"requestId":`+requestID+`}`)
	}
	tell("notifications/cancelled", "")
	tell("notifications/cancelled", "{}")
	tell("notifications/progress", `{"progressToken":4000000007,"progress":1}`)
	ask("ping", "")
	// by now none of the server's requests is pending
	for n := range 30 {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n+1))
	}
	ask("ping", "")
	return lines
}
