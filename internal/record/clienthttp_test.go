package record_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/record"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestMistakesOverHTTP checks the mistakes of a client over HTTP. A case is a script. After
// HTTP/1.1, A stands for an Accept header with both media types, S for this header and a session id,
// and V for these two and a protocol version.
func TestMistakesOverHTTP(t *testing.T) {
	const (
		accept    = "\n   Accept: application/json, text/event-stream"
		session   = accept + "\n   Mcp-Session-Id: s"
		versioned = session + "\n   MCP-Protocol-Version: 2025-11-25"

		noAccept  = "The client sends a POST whose Accept header does not list both application/json and text/event-stream."
		noVersion = "The client sends requests without MCP-Protocol-Version after initialize."
		again     = "The client uses the id of an earlier request again."

		opening   = "1> POST /mcp HTTP/1.1A\n1>> {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}\n1< HTTP/1.1 200 OK\n   Content-Type: application/json\n   Mcp-Session-Id: s\n"
		begun     = opening + "1<< {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n1! complete\n"
		old       = opening + "1<< {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-03-26\"}}\n1! complete\n"
		ready     = "2> POST /mcp HTTP/1.1V\n2>> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n2< HTTP/1.1 202 Accepted\n2! complete\n"
		handshake = begun + ready

		list      = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		stateless = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a b","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
		ping      = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	)
	post := func(n, head, body string) string {
		return n + "> POST /mcp HTTP/1.1" + head + "\n" + n + ">> " + body + "\n"
	}
	// ended is a complete response with these bodies, if any.
	ended := func(n, status string, body ...string) string {
		out := n + "< HTTP/1.1 " + status + "\n   Content-Type: application/json\n"
		for _, b := range body {
			out += n + "<< " + b + "\n"
		}
		return out + n + "! complete\n"
	}
	for _, c := range []struct {
		name, script string
		want         []string
	}{
		{"a session that began before", post("1", "S", list), nil},
		{"its responses", post("1", "S", `{"jsonrpc":"2.0","id":1,"result":{}}`), nil},
		{"no session id", post("1", "A", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`), nil},
		{"garbage", post("1", "S", "oops"), []string{"The client sends a body that is not a JSON-RPC message: not-json."}},

		{"Accept lists one type", post("1", "\n   Accept: application/json", list), []string{noAccept}},
		{"no Accept", post("1", "", list), []string{noAccept}},
		{"Accept with ranges and parameters", post("1", "\n   Accept: text/*;q=0.5, Application/JSON; charset=utf-8", list), nil},
		{"Accept with everything", post("1", "\n   Accept: */*", list), nil},
		{"Accept in two lines", post("1", "\n   Accept: application/json\n   Accept: text/event-stream", list), nil},
		{"Accept of a GET", begun + "2> GET /mcp HTTP/1.1\n   Mcp-Session-Id: s\n   MCP-Protocol-Version: 2025-11-25\n   Accept: application/json\n", []string{"The client sends a GET whose Accept header does not list text/event-stream."}},
		{"a browser", "1> GET /mcp HTTP/1.1\n   Accept: text/html\n", nil},

		{"a version header", handshake, nil},
		{"none", begun + post("2", "S", ping), []string{noVersion}},
		{"none on DELETE", handshake + "3> DELETE /mcp HTTP/1.1\n   Mcp-Session-Id: s\n", []string{noVersion}},
		{"none before there was one", old + post("2", "S", ping), nil},
		{"another version", begun + post("2", "S\n   MCP-Protocol-Version: 2025-06-18", ping), nil},

		{"several messages", handshake + post("3", "V", "["+ping+"]"), []string{"The client sends several messages in one body."}},
		{"several messages where they may be", old + post("2", "S", "["+ping+"]"), nil},

		{"a session that has ended", handshake + post("3", "V", list) + ended("3", "404 Not Found") + post("4", "V", `{"jsonrpc":"2.0","id":9,"method":"initialize"}`),
			[]string{"The client sends initialize twice.", "The client sends initialize with the id of a session that the server has ended."}},
		{"a session that has not", post("1", "S", `{"jsonrpc":"2.0","id":9,"method":"initialize"}`), nil},
		{"initialize after a refusal", strings.Split(opening, "1<")[0] + ended("1", "401 Unauthorized") + strings.ReplaceAll(strings.ReplaceAll(begun, "1>", "2>"), "1<", "2<"), nil},
		{"a request after it", handshake + post("3", "V", list) + ended("3", "404 Not Found") + post("4", "V", ping), nil},

		{"an id again", handshake + post("3", "V", list) + ended("3", "200 OK", `{"jsonrpc":"2.0","id":1,"result":{}}`) + post("4", "V", list), []string{again}},
		{"an id again after a refusal", handshake + post("3", "V", list) + ended("3", "401 Unauthorized") + post("4", "V", list), nil},
		{"an id again after no response", handshake + post("3", "V", list) + "3! broken\n" + post("4", "V", list), nil},

		{"initialized overtaken", begun + post("2", "V", list) + ended("2", "200 OK", `{"jsonrpc":"2.0","id":1,"result":{}}`) + strings.ReplaceAll(ready, "2>", "3>"), nil},
		{"no initialized", begun + post("2", "V", list) + ended("2", "200 OK", `{"jsonrpc":"2.0","id":1,"result":{}}`) + post("3", "V", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`),
			[]string{"The client sends a request before notifications/initialized."}},

		{"headers of 2026-07-28", post("1", "A\n   MCP-Protocol-Version: 2026-07-28\n   Mcp-Method: tools/call\n   mcp-name: a b", stateless), nil},
		{"a name in Base64", post("1", "A\n   MCP-Protocol-Version: 2026-07-28\n   Mcp-Method: tools/call\n   Mcp-Name: =?base64?YSBi?=", stateless), nil},
		{"none of 2026-07-28", post("1", "A", stateless), []string{"The client sends a request without MCP-Protocol-Version.", "The client sends a request without Mcp-Method.", "The client sends a request without Mcp-Name."}},
		{"others", post("1", "A\n   MCP-Protocol-Version: 2025-11-25\n   Mcp-Method: tools/list\n   Mcp-Name: a", stateless), []string{
			"The client's MCP-Protocol-Version differs from the protocol version of the message.", "The client's Mcp-Method differs from the method of the message.", "The client's Mcp-Name differs from the name or URI of the message.",
		}},
		{"a response in 2026-07-28", post("1", "A\n   MCP-Protocol-Version: 2026-07-28", `{"jsonrpc":"2.0","id":1,"result":{}}`), []string{"The client sends a response over HTTP, which 2026-07-28 does not permit."}},
	} {
		heads := strings.NewReplacer("HTTP/1.1A", "HTTP/1.1"+accept, "HTTP/1.1S", "HTTP/1.1"+session, "HTTP/1.1V", "HTTP/1.1"+versioned)
		recordings, err := transcript.ReadRecordings("case", strings.NewReader("transport: streamable-http\n\n"+heads.Replace(c.script)))
		if err != nil || len(recordings) != 1 {
			t.Errorf("%s: %d recordings: %v", c.name, len(recordings), err)
			continue
		}
		var got []string
		for _, m := range record.ClientMistakes(recordings[0].Events, spec.StreamableHTTP) {
			got = append(got, m.Summary)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
