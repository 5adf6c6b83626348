package rules_test

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// What is legal, however odd, is passed over in silence.
func TestLegal(t *testing.T) { run(t, legal()) }

func legal() []scene {
	return []scene{
		{name: "nothing at all", script: ``},
		{name: "a clean conversation", script: `
			= hello
			= fence 1
			> {"jsonrpc":"2.0","id":2,"method":"no/such"}
			< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}
			x close-input
			! exit 0`},
		{name: "answers out of order", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
			> {"jsonrpc":"2.0","id":"1","method":"ping"}
			< {"jsonrpc":"2.0","id":"1","result":{}}
			< {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`},
		{name: "notifications before the first response", script: `
			> ` + hello(spec.V20251125) + `
			< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}
			< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
			< ` + welcome(spec.V20251125)},
		{name: "a parse error without an id", script: `
			= hello
			> {"jsonrpc":
			< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}
			> nonsense
			< {"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}
			= fence 1`},
		{name: "an id that is no UTF-8 comes back as what was read", script: "= hello\n" +
			"> {\"jsonrpc\":\"2.0\",\"id\":\"\x82\",\"method\":\"ping\"}\n" +
			"< {\"jsonrpc\":\"2.0\",\"id\":\"\ufffd\",\"result\":{}}\n= fence 1"},
		{name: "a refused empty batch", revision: spec.V20250326, script: `
			= hello
			> []
			< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`},
		{name: "a refused batch where there are none", revision: spec.V20250618, script: `
			= hello
			> [{"jsonrpc":"2.0","id":5,"method":"ping"}]
			< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}
			= fence 1`},
		{name: "a refused initialize in a batch", revision: spec.V20250326, script: `
			> [` + hello(spec.V20250326) + `]
			< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}
			? gave-up "hello"
			> {"jsonrpc":"2.0","id":"again","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
			< {"jsonrpc":"2.0","id":"again","result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`},
		{name: "a refused invalid member", revision: spec.V20250326, script: `
			= hello
			> [1,{"jsonrpc":"2.0","id":5,"method":"ping"}]
			< [{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}},{"jsonrpc":"2.0","id":5,"result":{}}]`},
		{name: "a request with id null refused", script: `
			= hello
			> {"jsonrpc":"2.0","id":null,"method":"ping"}
			< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}
			= fence 1`},
		{name: "ids of illegal types given back, or refused, or passed over", script: `
			= hello
			> {"jsonrpc":"2.0","id":1.5,"method":"ping"}
			< {"jsonrpc":"2.0","id":1.5,"result":{}}
			> {"jsonrpc":"2.0","id":2.5,"method":"ping"}
			< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}
			> {"jsonrpc":"2.0","id":{"a":1,"b":2},"method":"ping"}
			< {"jsonrpc":"2.0","id":{"b":2, "a":1},"result":{}}
			> {"jsonrpc":"2.0","id":null,"method":"ping"}
			< {"jsonrpc":"2.0","id":null,"result":{}}
			> {"jsonrpc":"2.0","id":true,"method":"ping"}
			> {"jsonrpc":"2.0","id":3.5,"method":"ping"}
			? gave-up 3.5
			= fence 1`},
		{name: "an id taken from a garbled line", script: `
			= hello
			> {"jsonrpc":"2.0","id":7,"method":"ping"
			< {"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"Parse error"}}
			> {"jsonrpc":"2.0","id":8,"method":"ping"} {"jsonrpc":"2.0","id":9,"method":"ping"}
			< {"jsonrpc":"2.0","id":8,"result":{}}
			< {"jsonrpc":"2.0","id":9,"result":{}}`},
		{name: "a cancelled request without an answer", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
			? gave-up 1
			= fence 2`},
		{name: "a cancelled request with an answer", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
			< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
			= fence 2`},
		{name: "a late answer", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
			? gave-up 1
			= fence 2
			< {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`},
		{name: "a request before the handshake passed over", script: `
			> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
			? gave-up 1
			= hello`},
		{name: "a request between initialize and initialized passed over", script: `
			> ` + hello(spec.V20251125) + `
			< ` + welcome(spec.V20251125) + `
			> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
			? gave-up 1
			> {"jsonrpc":"2.0","method":"notifications/initialized"}
			= fence 2`},
		{name: "a ping before initialize passed over", script: `
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			? gave-up 1
			= hello`},
		{name: "answers lost at shutdown", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
			x close-input
			? gave-up 1
			! exit 0`},
		{name: "silence after a second initialize", script: `
			= hello
			> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
			> {"jsonrpc":"2.0","id":3,"method":"tools/list"}
			? gave-up 3`},
		{name: "silence to a request that is not well formed", script: `
			= hello
			> {"id":3,"method":"tools/list"}
			? gave-up 3
			> {"jsonrpc":"2.0","id":4,"method":"tools/list","params":"x"}
			? gave-up 4`},
		{name: "an end by our signal", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
			x signal TERM
			<| {"jsonrpc":"2.0","id":1,"res
			! exit 143`},
		{name: "an end before an indented message", script: `
			= hello
			= fence 1
			x close-input
			<|   
			! exit 0`},
		{name: "the server ends by itself, with nothing open", script: `
			= hello
			= fence 1
			! exit 0`},
		{name: "a death by a malformed line", script: `
			= hello
			> {"jsonrpc":
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			! exit 1`},
		{name: "a batch refused with id null", revision: spec.V20250326, script: `
			= hello
			> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			= fence 1
			> [{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]
			< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}
			= fence 4`},
		{name: "a batch refused without an id", revision: spec.V20250326, script: `
			= hello
			> [{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}
			= fence 4`},
		{name: "deep values", script: "= hello\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}\n" +
			"< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[],\"structuredContent\":" + nested(1200) + "}}\n" +
			"> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}\n" +
			"< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[],\"structuredContent\":" + nested(wire.MaxDepth-2) + "}}\n" +
			"> {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}\n" +
			"< {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[],\"structuredContent\":" + nested(wire.MaxDepth+1) + "}}\n" +
			"? gave-up 3"},
		{name: "batches where they exist", revision: spec.V20250326, script: `
			= hello
			> [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]
			< [{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":1,"result":{}}]
			< [{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}]`},
		{name: "extra members, unknown capabilities, odd error data", script: `
			> ` + hello(spec.V20251125) + `
			< {"jsonrpc":"2.0","id":"hello","x":1,"result":{"protocolVersion":"2025-11-25","adapter":{},"capabilities":{"streaming":true,"experimental":{"a":{}}},"serverInfo":{"name":"s","version":"1","vendor":7}}}
			> {"jsonrpc":"2.0","method":"notifications/initialized"}
			> {"jsonrpc":"2.0","id":1,"method":"no/such"}
			< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found","data":null,"hint":[1]}}
			> {"jsonrpc":"2.0","id":2,"method":"no/such"}
			< {"jsonrpc":"2.0","id":2,"error":{"code":0,"message":"","data":{"error":{"error":1}}}}`},
		{name: "an older revision with members of a newer one", revision: spec.V20241105, script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
			< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"a","annotations":{}}],"structuredContent":{"_meta":{"$$":1}}}}
			> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			< {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a","title":"A","outputSchema":{},"execution":{"taskSupport":"forbidden"}}]}}`},
		{name: "requests of the server with ids of the client's", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
			< {"jsonrpc":"2.0","id":1,"method":"roots/list"}
			> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
			< {"jsonrpc":"2.0","id":"1","method":"ping"}
			> {"jsonrpc":"2.0","id":"1","result":{}}
			< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`},
		{name: "pings before initialized", script: `
			> ` + hello(spec.V20251125) + `
			< ` + welcome(spec.V20251125) + `
			< {"jsonrpc":"2.0","id":1,"method":"ping"}
			> {"jsonrpc":"2.0","id":1,"result":{}}`},
		{name: "pings before initialize, and before initialized", script: `
			= fence 1
			> ` + hello(spec.V20251125) + `
			< ` + welcome(spec.V20251125) + `
			= fence 2
			> {"jsonrpc":"2.0","method":"notifications/initialized"}`},
		{name: "the server pings now and then, or often during a call", script: `
			= hello
			@ 10s
			< {"jsonrpc":"2.0","id":1,"method":"ping"}
			@ 20s
			< {"jsonrpc":"2.0","id":2,"method":"ping"}
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
			< {"jsonrpc":"2.0","id":3,"method":"ping"}
			< {"jsonrpc":"2.0","id":4,"method":"ping"}
			< {"jsonrpc":"2.0","id":5,"method":"ping"}
			< {"jsonrpc":"2.0","id":6,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`},
		{name: "an error with its id in an older revision", revision: spec.V20250326, script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"no/such"}
			< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`},
		{name: "metadata of the older wording", revision: spec.V20250618, script: `
			= hello
			< {"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{"io.modelcontextprotocol/x":1,"com.example.mcp/a":1}}}`},
		{name: "well-formed metadata", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1,"com.example/b":{"_meta":{"!":1}},"x-1.y2/":0,"io.modelcontextprotocol/related-task":{},"com.example.mcp/z.y_x-w":1,"progressToken":1}}}`},
		{name: "a message that is longer than what is kept", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"resources/read"}
			! cut {"jsonrpc":"2.0","id":1,"result":{"contents":[{"text":"aaaaaa
			? gave-up 1
			! flood {"jsonrpc":"2.0","id":2,"result"`},
		{name: "the greatest integers and the smallest strings as ids", script: `
			= hello
			= fence 9007199254740991
			= fence -1
			= fence 0
			= fence ""
			= fence "0"
			> {"jsonrpc":"2.0","id":"\u00e9","method":"ping"}
			< {"jsonrpc":"2.0","id":"é","result":{}}`},
		{name: "an unpublished version that the client asked for", script: `
			> {"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"1900-01-01","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
			< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"1900-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`},
		{name: "a revision that is refused", script: `
			> ` + hello(spec.V20251125) + `
			< {"jsonrpc":"2.0","id":"hello","error":{"code":-32000,"message":"Unsupported protocol version"}}`},
		{name: "a handshake that is unknown", script: `
			> ` + hello(spec.V20251125) + `
			< {"jsonrpc":"2.0","id":"hello","error":{"code":-32601,"message":"Method not found"}}`},
		{name: "an initialize that is refused, then one that is not", script: `
			> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}
			< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no version"}}
			= hello
			= fence 2`},
		{name: "the stateless era", revision: spec.V20260728, script: `
			> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{}}}
			< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"]}}
			> {"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"_meta":{}}}
			? gave-up 2`},
	}
}

// What is remarkable and no fault is noted.
func TestNotes(t *testing.T) { run(t, notable()) }

func notable() []scene {
	return []scene{
		{name: "an integer beyond 2^53-1 comes back changed", script: `
			= hello
			> {"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}
			< {"jsonrpc":"2.0","id":9007199254740992,"result":{}}
			? gave-up 9007199254740993
			= fence 1`, want: []string{"base.response-id-echo note"}},
		{name: "an integer in another spelling", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1.0,"result":{}}`, want: []string{"base.response-id-echo note"}},
		{name: "carriage returns", script: "= hello\n" +
			"> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n" +
			"< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r", want: []string{"stdio.no-embedded-newlines note"}},
		{name: "a long error message", script: `
			= hello
			> {"jsonrpc":"2.0","id":1,"method":"x"}
			< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"a\nb"}}`, want: []string{"base.error-message-concise note"}},
		{name: "half a surrogate pair", script: `
			= hello
			< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\ud800"}}`,
			want: []string{"base.message-utf8 note"}},
	}
}

// nested returns objects within each other, that many levels deep.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels)
}
