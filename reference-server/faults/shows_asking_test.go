package faults_test

import (
	"regexp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// madeUp are the ids that the server draws at random.
var madeUp = regexp.MustCompile(`[A-Z2-7]{26}`)

// askingConversations have the server ask, one request at a time, so that the
// ids of its requests are the same each time.
func askingConversations(r spec.Revision) []conversation {
	call := func(id, tool string) string { return request(id, "tools/call", `{"name":"`+tool+`"}`) }
	open := func(capabilities string) string { return initialize(string(r), capabilities) + initialized }
	result := func(text string) func(*wire.Message) string {
		return func(m *wire.Message) string { return line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID.Raw(), text) }
	}
	failure := func(code string) func(*wire.Message) string {
		return func(m *wire.Message) string {
			return line(`{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"no"}}`, m.ID.Raw(), code)
		}
	}
	// nothing is declared, or not enough
	out := []conversation{
		{answers: 5, chunks: []string{open("{}"), call("1", "ask-sampling") + call("2", "ask-roots") + request("3", "tools/call", `{"name":"echo","arguments":{"text":"x"}}`) + call("4", "ask-elicitation")}},
		{answers: 2, chunks: []string{open(`{"sampling":{}}`), call("1", "ask-sampling-tools")}},
		{answers: 2, chunks: []string{open(`{"elicitation":{}}`), call("1", "ask-elicitation-url")}},
		{answers: 2, chunks: []string{open(`{"elicitation":{}}`), call("1", "ask-elicitation-required")}},
		{answers: 2, chunks: []string{open(`{"elicitation":{"url":{}}}`), call("1", "ask-elicitation")}},
		{answers: 2, chunks: []string{open(`{"sampling":{"context":{}}}`), call("1", "ask-sampling")}},
	}
	// what a model says
	const model = `"model":"m","stopReason":"endTurn"`
	for _, reply := range []func(*wire.Message) string{
		result(`{"role":"assistant","content":{"type":"text","text":"x"},"model":"some-other-model-of-our-own","stopReason":"endTurn"}`),
		result(`{"role":"assistant","content":{"type":"text","text":"x"},"model":"m","stopReason":"somethingElse"}`),
		result(`{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}`),
		result(`{"role":"assistant","content":[{"type":"text","text":"x"}],` + model + `}`),
		result(`{"role":"assistant","content":{"type":"image","data":"%%%","mimeType":"image/png"},` + model + `}`),
		result(`{"role":"assistant",` + model + `}`),
		failure("-1"),
	} {
		out = append(out, conversation{answers: 2, reply: reply, chunks: []string{open(`{"sampling":{}}`), call("1", "ask-sampling")}})
	}
	// a model that uses tools
	uses := result(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"weather","input":{"city":"x"}},{"type":"tool_use","id":"b","name":"time","input":{"city":"x"}}],"model":"m","stopReason":"toolUse"}`)
	out = append(out, conversation{answers: 2, reply: uses, chunks: []string{open(`{"sampling":{"tools":{}}}`), call("1", "ask-sampling-tools")}})
	// what a user does
	for _, reply := range []func(*wire.Message) string{
		result(`{"action":"accept"}`), result(`{"action":"decline"}`), result(`{"action":"cancel"}`), failure("-32603"), failure("-32602"),
	} {
		for _, tool := range []string{"ask-elicitation", "ask-elicitation-url"} {
			out = append(out, conversation{answers: 2, reply: reply, chunks: []string{open(`{"elicitation":{"form":{},"url":{}}}`), call("1", tool)}})
		}
	}
	// roots that change once they are known, or are gone
	then := func(reply func(*wire.Message) string) func(*wire.Message) string {
		return func(m *wire.Message) string {
			if m.ID == wire.IntID(1) {
				return reply(m) + line(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
			}
			return reply(m) + request("1", "ping", "")
		}
	}
	for _, reply := range []func(*wire.Message) string{failure("-32603"), result(`{"roots":[{"uri":"file:///mcp-conform/there/is/no/such/folder"}]}`)} {
		out = append(out, conversation{answers: 2, reply: then(reply), chunks: []string{open(`{"roots":{}}`)}})
	}
	return out
}
