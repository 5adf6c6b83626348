package faults_test

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// withMeta returns a request of the stateless era. The members are those of its params
// and of _meta, in addition to what every request has.
func withMeta(id, method, params, meta string) string {
	if params != "" {
		params += ","
	}
	if meta != "" {
		meta = "," + meta
	}
	return request(id, method, fmt.Sprintf(
		`{%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}%s}}`,
		params, spec.V20260728, meta))
}

// statelessConversations returns conversations in the stateless era.
func statelessConversations() []conversation {
	ask := func(id, method, params string) string { return withMeta(id, method, params, "") }
	call := func(id, tool, arguments string) string {
		return ask(id, "tools/call", fmt.Sprintf(`"name":%q,"arguments":{%s}`, tool, arguments))
	}
	page := func(id, method string, from int) string {
		return ask(id, method, fmt.Sprintf(`"cursor":%q`, base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s@%d", method, from))))
	}
	logs := func(id, level string) string {
		return withMeta(id, "tools/call", `"name":"log","arguments":{}`, fmt.Sprintf(`"io.modelcontextprotocol/logLevel":%q`, level))
	}
	cancel := func(id string) string {
		return line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
	}
	everything := `"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["demo://note"]}`
	return []conversation{
		// what is offered
		{answers: 16, chunks: []string{
			withMeta("16", "server/discover", "", `"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1","title":"Client"}`),
			ask("1", "server/discover", ""), ask("2", "tools/list", ""), page("3", "tools/list", 3), ask("4", "prompts/list", ""), ask("5", "resources/list", ""),
			page("6", "resources/list", 3), ask("7", "resources/templates/list", ""), ask("8", "resources/read", `"uri":"demo://note"`), call("9", "echo", `"text":"a"`),
			ask("10", "prompts/get", `"name":"hello"`), ask("11", "resources/read", `"uri":"demo://roots"`),
			ask("12", "resources/read", `"uri":"file:///etc/passwd"`), page("13", "tools/list", 6), page("14", "tools/list", 9), page("15", "tools/list", 12),
		}},
		// logs and progress
		{answers: 7, chunks: []string{
			logs("6", "debug") + logs("7", "debug"), logs("1", "debug"), logs("2", "emergency"), logs("3", "none"), call("4", "log", ""),
			withMeta("5", "tools/call", `"name":"slow","arguments":{"durationMs":20}`, `"progressToken":"t"`),
		}},
		// a cancellation
		{answers: 1, chunks: []string{
			withMeta("1", "tools/call", `"name":"slow","arguments":{"durationMs":20}`, `"progressToken":"t"`) + cancel("1"), cancel("7"), ask("2", "server/discover", ""),
		}},
		// subscriptions: one is cancelled, then the others end
		{answers: 5, chunks: []string{
			ask("1", "subscriptions/listen", everything), ask(`"1"`, "subscriptions/listen", everything), withMeta("2", "subscriptions/listen", `"notifications":{}`, `"progressToken":"listening"`),
			ask("0", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`), ask("7", "subscriptions/listen", `"notifications":{"promptsListChanged":true}`),
			call("3", "trigger-list-changed", `"list":"tools"`), cancel("1"), call("4", "trigger-list-changed", `"list":"prompts"`), call("5", "update-resource", ""), call("8", "update-resource", ""),
			ask("6", "subscriptions/listen", ""),
		}},
		// requests that lack metadata, name other versions, or have methods of other revisions
		{answers: 12, chunks: []string{
			request("12", "tools/call", `{"name":"ask-together","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`),
			request("11", "resources/templates/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`),
			request("10", "tools/list", fmt.Sprintf(`{"cursor":%q,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`, base64.RawURLEncoding.EncodeToString([]byte("tools/list@15")))),
			request("1", "server/discover", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`),
			request("2", "server/discover", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01","io.modelcontextprotocol/clientCapabilities":{}}}`),
			request("3", "server/discover", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}}`),
			ask("4", "ping", ""), ask("5", "initialize", ""), ask("6", "com.example/none", ""), call("7", "none", ""), ask("8", "resources/read", `"uri":"demo://none"`),
			request("9", "tools/call", `{"name":"ask-elicitation","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`),
		}},
		// a handshake that requests this revision
		{answers: 1, chunks: []string{initialize(string(spec.V20260728), "{}")}},
		// input
		{answers: 5, chunks: []string{
			ask("0", "tools/call", `"name":"ask-roots","requestState":"none"`),
			call("1", "ask-together", ""), call("2", "ask-elicitation", ""), ask("3", "prompts/get", `"name":"introduction"`), call("4", "ask-roots", ""),
		}},
		// each state twice
		{answers: 3, chunks: []string{call("1", "ask-roots", "")}, follow: func(m *wire.Message) string {
			state := wire.At(m.Result(), "/requestState")
			if state == nil {
				return ""
			}
			text := ""
			for _, again := range []string{"a", "b"} {
				id := fmt.Sprintf("%q", strings.Trim(m.ID.Raw(), `"`)+again)
				text += ask(id, "tools/call", fmt.Sprintf(`"name":"ask-roots","arguments":{},"inputResponses":{"input-1":{"roots":[]}},"requestState":%s`, state))
			}
			return text
		}},
		// input with a name that the client chose, and from a client without sampling
		{answers: 2, chunks: []string{ask("1", "prompts/get", `"name":"introduction"`)}, follow: func(m *wire.Message) string {
			state := wire.At(m.Result(), "/requestState")
			if state == nil {
				return ""
			}
			return request("2", "prompts/get", fmt.Sprintf(`{"name":"introduction","inputResponses":{"input-1":{"action":"accept","content":{"name":"Ada"}}},"requestState":%s,`+
				`"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}`, state, spec.V20260728))
		}},
	}
}
