package rules_test

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Each scene has one root cause, and so one finding, of all rules together.
func TestOneCauseOneFinding(t *testing.T) { run(t, deviant()) }

func deviant() []scene {
	return []scene{
		// Lines.
		{name: "a banner", script: `
			< Server listening on stdio
			= hello`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "a banner in Latin-1", script: "< d\xe9marr\xe9\n= hello", want: []string{"stdio.stdout-only-messages broken"}},
		{name: "a JSON log record", script: `
			= hello
			< {"level":30,"time":1,"method":"GET","error":"none","msg":"served"}`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "a JSON log record of a request", script: `
			= hello
			< {"level":"info","msg":"called","method":"roots/list","params":{}}
			< {"level":"info","msg":"sent","method":"notifications/message"}
			= fence 1`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "a JSON log record over several lines", script: "= hello\n< {\n<   \"level\": 30,\n<   \"tags\": [\n<     \"a\"\n<   ]\n< }\n= fence 1",
			want: []string{"stdio.stdout-only-messages broken"}},
		{name: "a scalar", script: `
			= hello
			< 42
			= fence 1`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "an array of no messages", script: `
			= hello
			< ["a","b"]`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "a text that looks like the beginning of a message", script: `
			< {"starting
			= hello
			= fence 1`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "a banner in front of an answer", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
			< working... {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
			? gave-up 1
			= fence 2`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "text within an answer", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
			< {"jsonrpc":"2.0","id":1,"resWARNINGult":{"tools":[}
			? gave-up 1
			= fence 2`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "text behind a message", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"result":{}} sent`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "a comma behind a message", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"result":{}},`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "NUL behind a message", script: "= hello\n< {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\x00", want: []string{"stdio.stdout-only-messages broken"}},
		{name: "a goodbye", script: `
			= hello
			x close-input
			< Goodbye
			! exit 0`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "blank lines", script: "= hello\n< \n= fence 1", want: []string{"stdio.stdout-only-messages warning"}},
		{name: "a flood", script: `
			= hello
			! flood aaaaaaaaa`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "brackets", script: "= hello\n< " + strings.Repeat("[", 1001) + "\n= fence 1\n< [[[[[ debug",
			want: []string{"stdio.stdout-only-messages broken"}},
		{name: "brackets without end", script: "= hello\n< " + strings.Repeat("[", wire.MaxDepth+1) + "\n= fence 1",
			want: []string{"stdio.stdout-only-messages broken"}},
		{name: "a message lost in brackets", script: "= hello\n< {\"jsonrpc\":\"2.0\",\"method\":" + strings.Repeat("[", wire.MaxDepth+1) + "\n= fence 1",
			want: []string{"stdio.stdout-only-messages broken"}},
		{name: "an end inside a message", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
			<| {"jsonrpc":"2.0","id":1,"resu
			! exit 1`, want: []string{"stdio.stdout-only-messages broken"}},
		{name: "pretty-printed messages", script: "= hello\n" +
			"> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n" +
			"< {\n<   \"jsonrpc\": \"2.0\",\n<   \"id\": 1,\n<   \"result\": {\n<     \"tools\": [\n<     ]\n<   }\n< }\n? gave-up 1\n= fence 2",
			want: []string{"stdio.no-embedded-newlines broken"}},
		{name: "a raw newline in a string", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"x"}
			< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"a
			< b"}}
			? gave-up 1`, want: []string{"base.error-message-concise note", "stdio.no-embedded-newlines broken"}},
		{name: "two messages on one line", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			< {"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
			? gave-up 2`, want: []string{"stdio.newline-delimited warning"}},
		{name: "headers", script: "= hello\n" +
			"> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n" +
			"< Content-Length: 36\r\n< \r\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}Content-Length: 47\r\n< \r\n" +
			"<| {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", want: []string{"stdio.stdout-only-messages broken"}},

		{name: "a notification answered with id null after a batch that was served", revision: spec.V20250326, script: `
			= hello
			> [{"jsonrpc":"2.0","id":2,"method":"ping"}]
			< [{"jsonrpc":"2.0","id":2,"result":{}}]
			> {"jsonrpc":"2.0","method":"notifications/x"}
			< {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}
			= fence 4`, want: []string{"base.notification-no-response broken"}},

		// Envelopes.
		{name: "no jsonrpc", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"id":1,"result":{}}`, want: []string{"base.jsonrpc-2-0 broken"}},
		{name: "jsonrpc 1.0", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"1.0","id":1,"result":{}}`, want: []string{"base.jsonrpc-2-0 broken"}},
		{name: "jsonrpc as a number", script: `
			= hello
			< {"jsonrpc":2.0,"method":"notifications/x"}`, want: []string{"base.jsonrpc-2-0 broken"}},
		{name: "none of the three shapes", script: `
			= hello
			< {"jsonrpc":"2.0"}`, want: []string{"base.jsonrpc-2-0 broken"}},
		{name: "a method that is no string", script: `
			= hello
			< {"jsonrpc":"2.0","method":5}`, want: []string{"base.jsonrpc-2-0 broken"}},
		{name: "params that are null", script: `
			= hello
			< {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":null}`, want: []string{"base.jsonrpc-2-0 broken"}},
		{name: "request and response at once", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"method":"ping","result":{}}
			? gave-up 1`, want: []string{"base.jsonrpc-2-0 warning"}},
		{name: "a member twice", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"result":{},"result":{}}`, want: []string{"base.jsonrpc-2-0 warning"}},
		{name: "an array where batches do not exist", revision: spec.V20250618, script: `
			= hello
			< [{"jsonrpc":"2.0","method":"notifications/x"}]`, want: []string{"base.batch-not-emitted broken"}},
		{name: "an array in 2024-11-05", revision: spec.V20241105, script: `
			= hello
			< [{"jsonrpc":"2.0","method":"notifications/x"}]`, want: []string{"base.batch-not-emitted note"}},
		{name: "a batch served where batches do not exist", script: `
			= hello
			> [{"jsonrpc":"2.0","id":1,"method":"ping"}]
			< [{"jsonrpc":"2.0","id":1,"result":{}}]`, want: []string{"base.batch-not-emitted warning"}},
		{name: "Latin-1 in a message", script: "= hello\n" +
			"> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n" +
			"< {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"inconnu: \xe9\"}}", want: []string{"base.message-utf8 broken"}},
		{name: "Latin-1 in 2024-11-05", revision: spec.V20241105, script: "= hello\n" +
			"< {\"jsonrpc\":\"2.0\",\"method\":\"notifications/\xe9\"}", want: []string{"base.jsonrpc-2-0 warning"}},
		{name: "a byte order mark", script: "= hello\n< \xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", want: []string{"base.message-utf8 broken"}},

		// The server's own requests and notifications.
		{name: "a request with id null", script: `
			= hello
			< {"jsonrpc":"2.0","id":null,"method":"roots/list"}`, want: []string{"base.request-id-not-null broken"}},
		{name: "a request with a fraction as id", script: `
			= hello
			< {"jsonrpc":"2.0","id":1.5,"method":"roots/list"}`, want: []string{"base.request-id-type broken"}},
		{name: "a request without an id", script: `
			= hello
			< {"jsonrpc":"2.0","method":"roots/list"}`, want: []string{"base.request-id-type broken"}},
		{name: "an id used twice", script: `
			= hello
			< {"jsonrpc":"2.0","id":1,"method":"roots/list"}
			> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
			< {"jsonrpc":"2.0","id":1,"method":"roots/list"}`, want: []string{"base.request-id-unique-per-session broken"}},
		{name: "a notification with an id", script: `
			= hello
			< {"jsonrpc":"2.0","id":1,"method":"notifications/message","params":{"level":"info","data":1}}`, want: []string{"base.notification-no-id broken"}},
		{name: "a notification with id null", script: `
			= hello
			< {"jsonrpc":"2.0","id":null,"method":"notifications/x"}`, want: []string{"base.notification-no-id broken"}},

		// Answers.
		{name: "a string id comes back as a number", script: `
			= hello
			> {"jsonrpc":"2.0","id":"7","method":"tools/list"}
			< {"jsonrpc":"2.0","id":7,"result":{"tools":[]}}
			? gave-up "7"
			= fence 1`, want: []string{"base.response-id-echo broken"}},
		{name: "a number comes back as a string", script: `
			= hello
			> {"jsonrpc":"2.0","id":7,"method":"no/such"}
			< {"jsonrpc":"2.0","id":"7","error":{"code":-32601,"message":"Method not found"}}
			? gave-up 7
			= fence 1`, want: []string{"base.response-id-echo broken"}},
		{name: "a fraction comes back as an integer", script: `
			= hello
			> {"jsonrpc":"2.0","id":1.5,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"result":{}}
			? gave-up 1.5
			= fence 7`, want: []string{"base.response-id-echo warning"}},
		{name: "an object comes back as another id", script: `
			= hello
			> {"jsonrpc":"2.0","id":{"a":1},"method":"ping"}
			< {"jsonrpc":"2.0","id":"[object Object]","result":{}}
			= fence 7`, want: []string{"base.response-id-echo warning"}},
		{name: "an id out of the blue for a pending request", script: `
			= hello
			> {"jsonrpc":"2.0","id":7,"method":"tools/list"}
			< {"jsonrpc":"2.0","id":1234,"result":{"tools":[]}}
			? gave-up 7
			= fence 1`, want: []string{"base.response-id-echo broken"}},
		{name: "initialize and what follows it answered with another id", script: `
			> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}
			< {"jsonrpc":"2.0","id":777,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"b","version":"1"}}}
			> {"jsonrpc":"2.0","id":2,"method":"ping"}
			< {"jsonrpc":"2.0","id":777,"result":{}}`, want: []string{"base.response-id-echo broken"}},
		{name: "an id cut to that of another request", script: `
			= hello
			> {"jsonrpc":"2.0","id":-1,"method":"ping"}
			> {"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}
			< {"jsonrpc":"2.0","id":-1,"result":{}}
			< {"jsonrpc":"2.0","id":-1,"result":{}}
			? gave-up 9007199254740991
			= fence 1`, want: []string{"base.response-id-echo broken"}},
		{name: "a result with id null for a pending request", script: `
			= hello
			> {"jsonrpc":"2.0","id":0,"method":"tools/list"}
			< {"jsonrpc":"2.0","id":null,"result":{"tools":[]}}
			? gave-up 0
			= fence 1`, want: []string{"base.response-id-echo broken"}},
		{name: "an error with id null for a request that could be read", script: `
			= hello
			> {"jsonrpc":"2.0","id":7,"method":"no/such"}
			< {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}
			? gave-up 7
			= fence 1`, want: []string{"base.error-response-id broken"}},
		{name: "an error without an id for a request that could be read", revision: spec.V20250326, script: `
			= hello
			> {"jsonrpc":"2.0","id":7,"method":"no/such"}
			< {"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}
			? gave-up 7
			= fence 1`, want: []string{"base.error-response-id-always broken"}},
		{name: "a response to nothing, while another is pending", script: `
			= hello
			> {"jsonrpc":"2.0","id":7,"method":"tools/list"}
			< {"jsonrpc":"2.0","id":1234,"result":{}}
			< {"jsonrpc":"2.0","id":7,"result":{"tools":[]}}
			= fence 1`, want: []string{"base.response-unsolicited broken"}},
		{name: "a response before anything was asked", script: `
			< {"jsonrpc":"2.0","id":1,"result":{}}
			= hello`, want: []string{"base.response-unsolicited broken"}},
		{name: "an answer given twice", script: `
			= hello
			= fence 1
			< {"jsonrpc":"2.0","id":1,"result":{}}`, want: []string{"base.response-once broken"}},
		{name: "a notification answered with id null", script: `
			= hello
			< {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}
			= fence 1`, want: []string{"base.notification-no-response broken"}},
		{name: "a notification answered without an id", revision: spec.V20241105, script: `
			= hello
			> {"jsonrpc":"2.0","method":"notifications/x"}
			< {"jsonrpc":"2.0","result":{}}
			= fence 1`, want: []string{"base.notification-no-response broken"}},
		{name: "a notification answered with a made-up id", script: `
			= hello
			> {"jsonrpc":"2.0","method":"notifications/x"}
			< {"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found"}}
			= fence 1`, want: []string{"base.notification-no-response broken"}},
		{name: "silence", script: `
			= hello
			> {"jsonrpc":"2.0","id":"a","method":"tools/list"}
			? gave-up "a"
			= fence 2`, want: []string{"base.request-answered broken"}},
		{name: "silence to initialize", script: `
			> ` + hello(spec.V20251125) + `
			? gave-up "hello"`, want: []string{"base.request-answered broken"}},
		{name: "silence to pings with string ids", script: `
			= hello
			= fence 1
			> {"jsonrpc":"2.0","id":"a","method":"ping"}
			? gave-up "a"
			= fence 2`, want: []string{"base.request-answered broken"}},
		{name: "a server that falls silent", script: `
			= hello
			= fence 1
			> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			? gave-up 2
			> {"jsonrpc":"2.0","id":3,"method":"ping"}
			? gave-up 3`, want: []string{"base.request-answered broken"}},
		{name: "an end with requests unanswered", script: `
			= hello
			> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			> {"jsonrpc":"2.0","id":3,"method":"ping"}
			! exit 1`, want: []string{"base.request-answered broken"}},

		// Responses and errors.
		{name: "neither result nor error", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1}
			? gave-up 1
			= fence 2`, want: []string{"base.response-result-or-error broken"}},
		{name: "neither, and id null", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":null}
			? gave-up 1
			= fence 2`, want: []string{"base.response-result-or-error broken"}},
		{name: "error null alone", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"error":null}`, want: []string{"base.response-result-or-error broken"}},
		{name: "result and error null", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"result":{},"error":null}`, want: []string{"base.response-not-both broken"}},
		{name: "result null and error", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32603,"message":"oh"}}`, want: []string{"base.response-not-both broken"}},
		{name: "result null", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"result":null}`, want: []string{"base.result-is-object broken"}},
		{name: "an initialize whose result is an array", script: `
			> ` + hello(spec.V20251125) + `
			< {"jsonrpc":"2.0","id":"hello","result":[]}`, want: []string{"base.result-is-object broken"}},
		{name: "an error that is a string", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"x"}
			< {"jsonrpc":"2.0","id":1,"error":"boom"}`, want: []string{"base.error-code-and-message broken"}},
		{name: "an error without a code", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"x"}
			< {"jsonrpc":"2.0","id":1,"error":{"message":"boom"}}`, want: []string{"base.error-code-and-message broken"}},
		{name: "an error code as a string", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"x"}
			< {"jsonrpc":"2.0","id":1,"error":{"code":"-32601","message":"boom"}}`, want: []string{"base.error-code-integer broken"}},
		{name: "an error code that is a fraction", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"x"}
			< {"jsonrpc":"2.0","id":1,"error":{"code":-32601.5,"message":"boom"}}`, want: []string{"base.error-code-integer broken"}},

		// Metadata.
		{name: "a malformed prefix", script: `
			= hello
			< {"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{"1com.example/a":1}}}`, want: []string{"base.meta-key-prefix broken"}},
		{name: "two slashes", script: `
			= hello
			< {"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{"com.example/a/b":1}}}`, want: []string{"base.meta-key-prefix broken"}},
		{name: "a malformed name", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
			< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"_meta":{"$":1}},"_meta":{"_internal":1}}]}}`, want: []string{"base.meta-key-name broken"}},
		{name: "a forward domain", script: `
			= hello
			< {"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{"example.com/a":1}}}`, want: []string{"base.meta-reverse-dns note"}},
		{name: "a reserved prefix", script: `
			= hello
			< {"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{"com.mcp.tools/a":1}}}`, want: []string{"base.meta-reserved-prefix-2025-11-25 warning"}},
		{name: "a reserved prefix by the older wording", revision: spec.V20250618, script: `
			= hello
			< {"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{"mcp.dev/a":1,"com.example.mcp/a":1}}}`, want: []string{"base.meta-reserved-prefix-2025-06-18 warning"}},

		// The lifecycle and versions.
		{name: "a request before initialize", script: `
			< {"jsonrpc":"2.0","id":1,"method":"roots/list"}
			= hello`, want: []string{"lifecycle.initialize-first broken"}},
		{name: "a log message before initialize", script: `
			< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}
			= hello`, want: []string{"lifecycle.initialize-first warning"}},
		{name: "a request before initialized", script: `
			> ` + hello(spec.V20251125) + `
			< ` + welcome(spec.V20251125) + `
			< {"jsonrpc":"2.0","id":1,"method":"roots/list"}
			> {"jsonrpc":"2.0","method":"notifications/initialized"}`, want: []string{"lifecycle.no-requests-before-initialized warning"}},
		{name: "initialize refused", script: `
			> ` + hello(spec.V20251125) + `
			< {"jsonrpc":"2.0","id":"hello","error":{"code":-32603,"message":"Internal error"}}`, want: []string{"lifecycle.initialize-response broken"}},
		{name: "no serverInfo", script: `
			> ` + hello(spec.V20251125) + `
			< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, want: []string{"lifecycle.initialize-response broken"}},
		{name: "no serverInfo.version", script: `
			> ` + hello(spec.V20251125) + `
			< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s"}}}`, want: []string{"lifecycle.initialize-response broken"}},
		{name: "a capability that is true", script: `
			> ` + hello(spec.V20251125) + `
			< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":true},"serverInfo":{"name":"s","version":"1"}}}`, want: []string{"lifecycle.initialize-result-schema broken"}},
		{name: "a flag that is a string", script: `
			> ` + hello(spec.V20251125) + `
			< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":"yes"}},"serverInfo":{"name":"s","version":"1"}}}`, want: []string{"lifecycle.initialize-result-schema broken"}},
		{name: "an experimental capability that is no object", script: `
			> ` + hello(spec.V20251125) + `
			< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"a":1}},"serverInfo":{"name":"s","version":"1"}}}`, want: []string{"lifecycle.initialize-result-schema broken"}},
		{name: "a version that is no revision", script: `
			> ` + hello(spec.V20251125) + `
			< ` + welcome("2025-07-01"), want: []string{"versioning.initialize-known-version warning"}},
		{name: "a revision without a handshake", script: `
			> ` + hello(spec.V20251125) + `
			< ` + welcome(spec.V20260728), want: []string{"versioning.initialize-known-version warning"}},
		{name: "elicitation in 2025-03-26", revision: spec.V20250326, script: `
			= hello
			< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}`,
			want: []string{"versioning.negotiated-version-respected-2024-11-05 warning"}},
		{name: "elicitation by URL in 2025-06-18", revision: spec.V20250618, script: `
			= hello
			< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"?","url":"a:b","elicitationId":"1"}}`,
			want: []string{"versioning.negotiated-version-respected-2025-06-18 broken"}},
		{name: "a task in 2025-06-18", revision: spec.V20250618, script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
			< {"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"1","status":"working"}}}`,
			want: []string{"versioning.negotiated-version-respected-2025-06-18 broken"}},
		{name: "a result that asks for input in 2025-11-25", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
			< {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{}}}`,
			want: []string{"versioning.negotiated-version-respected-2025-06-18 broken"}},

		// Pings.
		{name: "a ping refused", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`, want: []string{"ping.responds broken"}},
		{name: "a ping refused before initialized", script: `
			> ` + hello(spec.V20251125) + `
			< ` + welcome(spec.V20251125) + `
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Not initialized"}}`, want: []string{"ping.before-initialized warning"}},
		{name: "no ping answered", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			? gave-up 1
			> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			< {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`, want: []string{"ping.responds broken"}},
		{name: "a ping with a result", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"result":{"pong":true}}`, want: []string{"ping.empty-result broken"}},
		{name: "pings without end", script: `
			= hello
			@ 1s
			< {"jsonrpc":"2.0","id":1,"method":"ping"}
			> {"jsonrpc":"2.0","id":1,"result":{}}
			@ 1.5s
			< {"jsonrpc":"2.0","id":2,"method":"ping"}
			@ 2s
			< {"jsonrpc":"2.0","id":3,"method":"ping"}
			@ 2.5s
			< {"jsonrpc":"2.0","id":4,"method":"ping"}`, want: []string{"ping.not-excessive warning"}},
	}
}

// A fault in the framing has one finding, and keeps neither of the
// requirements that it offends.
func TestFramingKeepsNothing(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for _, c := range []struct{ name, lines, kept, found string }{
		{"headers", "< Content-Length: 36\r\n< \r\n< " + answer, "stdio.newline-delimited", "stdio.stdout-only-messages"},
		{"joined", "< " + answer + `{"jsonrpc":"2.0","method":"notifications/x"}`, "stdio.stdout-only-messages", "stdio.newline-delimited"},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := play(t, spec.V20251125, "= hello\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"+c.lines+"\n= fence 2")
			came := subjects(rules.Judge(rules.Base(), events, spec.V20251125, spec.Stdio))
			if came[c.kept] > 0 || came[c.found] == 0 {
				t.Errorf("%s came up %d times, %s %d times", c.kept, came[c.kept], c.found, came[c.found])
			}
		})
	}
}
