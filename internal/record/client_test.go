package record_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/record"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestMistakes checks the mistakes of a client over stdio. A line begins with > if the client sends
// it, and with < if the server does.
func TestMistakes(t *testing.T) {
	const (
		initialize  = `>{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`
		answer      = `<{"jsonrpc":"2.0","id":0,"result":{}}`
		initialized = `>{"jsonrpc":"2.0","method":"notifications/initialized"}`
		list        = `>{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		roots       = `<{"jsonrpc":"2.0","id":1,"method":"roots/list"}`
		rootsAnswer = `>{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`
		stateless   = `>{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	)
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"a handshake", []string{initialize, answer, initialized, list, roots, rootsAnswer}, nil},
		{"no handshake in 2026-07-28", []string{stateless}, nil},
		{"ping at any time", []string{`>{"jsonrpc":"2.0","id":5,"method":"ping"}`, initialize, `>{"jsonrpc":"2.0","id":6,"method":"ping"}`, answer, initialized}, nil},
		{"a request first", []string{list}, []string{"The client sends a request before initialize."}},
		{"too early", []string{initialize, list, answer, initialized}, []string{"The client sends a request before initialize was answered."}},
		{"without initialized", []string{initialize, answer, list}, []string{"The client sends a request before notifications/initialized."}},
		{"initialized too early", []string{initialize, initialized}, []string{"The client sends notifications/initialized before initialize was answered."}},
		{"twice", []string{initialize, answer, initialized, `>{"jsonrpc":"2.0","id":9,"method":"initialize"}`}, []string{"The client sends initialize twice."}},
		{"an id again", []string{initialize, answer, initialized, list, list}, []string{"The client uses the id of an earlier request again."}},
		{"null", []string{initialize, answer, initialized, `>{"jsonrpc":"2.0","id":null,"method":"ping"}`}, []string{"The client sends a request with the id null."}},
		{"no version", []string{`>{"id":5,"method":"ping"}`}, []string{`The client sends a message without "jsonrpc":"2.0".`}},
		{"no JSON", []string{`>oops`}, []string{"The client sends a line that is not a JSON-RPC message: not-json."}},
		{"no message", []string{`>5`}, []string{"The client sends a JSON value that is neither a request, a notification nor a response."}},
		{"a response to nothing", []string{initialize, answer, initialized, rootsAnswer}, []string{"The client responds to a request that the server did not send."}},
		{"a response before its request", []string{initialize, answer, initialized, rootsAnswer, roots, rootsAnswer}, []string{"The client responds to a request that the server did not send."}},
		{"two responses", []string{initialize, answer, initialized, roots, rootsAnswer, rootsAnswer}, []string{"The client responds to a request twice."}},
		{"a response to a request that is delivered again", []string{initialize, answer, initialized, roots, rootsAnswer, roots, rootsAnswer}, nil},
		{"initialize cancelled", []string{initialize, `>{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`}, []string{"The client cancels initialize."}},
		{"nothing cancelled", []string{initialize, answer, initialized, `>{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`}, []string{"The client cancels a request that it did not send."}},
		{"often", []string{`>oops`, `>oops`, `>oops`, `>oops`}, []string{
			"The client sends a line that is not a JSON-RPC message: not-json.", "The client sends a line that is not a JSON-RPC message: not-json.", "The client sends a line that is not a JSON-RPC message: not-json.",
		}},
	} {
		rec := transcript.New()
		for _, line := range c.lines {
			kind := transcript.Sent
			if line[0] == '<' {
				kind = transcript.Received
			}
			rec.Add(transcript.Event{Kind: kind, Raw: []byte(line[1:])})
		}
		var got []string
		for _, m := range record.ClientMistakes(rec.From(0), spec.Stdio) {
			got = append(got, m.Summary)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
