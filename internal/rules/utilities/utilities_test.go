package utilities_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/rules/utilities"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestCornerCases has the cases that the fixture transcripts of each rule do not show.
func TestCornerCases(t *testing.T) {
	const (
		ping     = `> {"jsonrpc":"2.0","id":%d,"method":"ping"}`
		pong     = `< {"jsonrpc":"2.0","id":%d,"result":{}}`
		call     = `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"t"}}}`
		done     = `< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
		aborted  = `< {"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"Request cancelled"}}`
		fails    = `< {"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"no"}]}}`
		stray    = `> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}`
		exit     = "! exit 1"
		race     = "cancellation.race-handled broken"
		unknown  = "cancellation.unknown-ignored warning"
		progress = `< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%s}}`
	)
	cancel := func(id string) string {
		return `> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
	}
	set := func(id int, level string) string {
		return fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"logging/setLevel","params":{"level":%q}}`, id, level)
	}
	log := func(level string) string {
		return fmt.Sprintf(`< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":1}}`, level)
	}
	call3 := strings.Replace(call, `"id":1`, `"id":3`, 1)
	at := fmt.Sprintf
	trip := func(id int) string { return at(ping, id) + "\n" + at(pong, id) }
	for _, c := range []struct {
		name   string
		script []string
		want   []string
	}{
		// The process exits after one or more notifications. A notification is named as the cause
		// only if no other can be.
		{"two cancellations of the same kind", []string{cancel("7"), cancel("8"), at(ping, 2), exit}, []string{unknown}},
		{"two cancellations of different kinds", []string{cancel("7"), cancel("null"), at(ping, 2), exit}, nil},
		{"progress after a cancellation", []string{cancel("7"), stray, at(ping, 2), exit}, nil},
		{"progress after a cancellation that did no harm", []string{cancel("7"), trip(2), stray, at(ping, 3), exit}, []string{"progress.unsolicited-from-client-tolerated warning"}},
		{"another notification after it", []string{cancel("7"), `> {"jsonrpc":"2.0","method":"notifications/x"}`, at(ping, 2), exit}, nil},
		{"another request after it", []string{cancel("7"), `> {"jsonrpc":"2.0","id":2,"method":"tools/list"}`, exit}, nil},
		{"another request that is open", []string{`> {"jsonrpc":"2.0","id":2,"method":"tools/list"}`, cancel("7"), exit}, nil},
		{"an answer to the server after it", []string{
			`< {"jsonrpc":"2.0","id":5,"method":"roots/list"}`, trip(2), cancel("2"), `> {"jsonrpc":"2.0","id":5,"result":{"roots":[]}}`, exit,
		}, []string{race}},
		{"an end by a signal", []string{cancel("7"), "! signal TERM", exit}, nil},
		{"a cancellation of initialize, which no client may", []string{cancel(`"hello"`), at(ping, 2), exit}, nil},
		{"a cancellation that is answered", []string{cancel("7"), `< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`, exit}, nil},

		// Progress.
		{"a token that may be in a message that can't be read", []string{`> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":"lost"}}`, at(progress, `"lost"`, "1")}, nil},
		{"a token that may be in the part of a message that the transcript lacks", []string{`> {"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"aaaa`, "! size 100000", at(progress, `"lost"`, "1")}, nil},
		{"an integer token in another number format", []string{
			`> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":7}}}`, at(progress, "7.0", "1"), at(progress, "7e0", "2"), done,
		}, nil},
		{"values beyond all doubles", []string{call, at(progress, `"t"`, "1e400"), at(progress, `"t"`, "1e399"), done}, nil},
		{"the same number, spelled differently", []string{call, at(progress, `"t"`, "10"), at(progress, `"t"`, "1e1"), done}, []string{"progress.increases broken"}},
		{"progress of a cancelled request that was then answered", []string{call, cancel("1"), done, at(progress, `"t"`, "1")}, []string{"progress.stops-after-completion broken"}},

		// Cancelled requests.
		{"an answer in between, progress after it", []string{call, cancel("1"), trip(2), trip(3), at(progress, `"t"`, "1"), done}, []string{"cancellation.stop-processing note"}},
		{"one report in between, one after", []string{call, cancel("1"), trip(2), at(progress, `"t"`, "1"), trip(3), at(progress, `"t"`, "2")}, []string{"cancellation.stop-processing note"}},
		{"a report of the step that was in progress", []string{call, "! at 50ms", at(progress, `"t"`, "1"), cancel("1"), trip(2), trip(3), "! at 100ms", at(progress, `"t"`, "2"), "! at 300ms", trip(4)}, nil},
		{"a report that comes later", []string{call, "! at 50ms", at(progress, `"t"`, "1"), cancel("1"), trip(2), trip(3), "! at 200ms", at(progress, `"t"`, "2"), "! at 300ms", trip(4)}, []string{"progress.stops-after-cancel note"}},
		{"cancelled twice", []string{call, cancel("1"), trip(2), cancel("1"), trip(3), aborted}, []string{"cancellation.no-response-after-cancel warning"}},
		{"an ordinary answer", []string{call, cancel("1"), trip(2), trip(3), done}, []string{"cancellation.no-response-after-cancel note"}},
		{"an error that may have another cause", []string{call, cancel("1"), trip(2), trip(3), fails}, []string{"cancellation.no-response-after-cancel note"}},
		{"an error of a tool that succeeds otherwise", []string{
			`> {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"slow"}}`, `< {"jsonrpc":"2.0","id":9,"result":{"content":[]}}`,
			call, cancel("1"), trip(2), trip(3), fails,
		}, []string{"cancellation.no-response-after-cancel warning"}},
		{"an error of a tool, while other tools succeed", []string{
			`> {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"quick"}}`, `< {"jsonrpc":"2.0","id":9,"result":{"content":[]}}`,
			call, cancel("1"), trip(2), trip(3), fails,
		}, []string{"cancellation.no-response-after-cancel note"}},
		{"an answer that waited for a response of the client", []string{
			call, `< {"jsonrpc":"2.0","id":5,"method":"roots/list"}`, cancel("1"), trip(2), `> {"jsonrpc":"2.0","id":5,"result":{"roots":[]}}`, trip(3), done,
		}, []string{"cancellation.no-response-after-cancel note"}},
		{"a response of the client to a request that another call caused", []string{
			`< {"jsonrpc":"2.0","id":5,"method":"roots/list"}`, call, cancel("1"), trip(2), `> {"jsonrpc":"2.0","id":5,"result":{"roots":[]}}`, trip(3), aborted,
		}, []string{"cancellation.no-response-after-cancel warning"}},
		{"a list request, which the server may be unable to cancel", []string{
			`> {"jsonrpc":"2.0","id":1,"method":"tools/list"}`, cancel("1"), trip(2), trip(3), `< {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`,
		}, nil},
		{"cancelled by a string instead of the integer id", []string{call, cancel(`"1"`), trip(2), trip(3), at(progress, `"t"`, "1"), at(progress, `"t"`, "2"), done}, nil},

		// Cancellations of the server.
		{"a request after its cancellation in a batch", []string{
			`< [{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}},{"jsonrpc":"2.0","id":5,"method":"roots/list"}]`,
		}, nil},
		{"the same in two lines", []string{
			`< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, `< {"jsonrpc":"2.0","id":5,"method":"roots/list"}`,
		}, []string{"cancellation.server-cancels-own-requests broken"}},

		// Levels.
		{"a level that is set while another request to set a level is open", []string{
			set(1, "error"), at(pong, 1), trip(2), set(3, "warning"), set(4, "alert"), log("warning"), at(pong, 4), log("warning"), at(pong, 3), log("warning"), trip(5), log("warning"),
		}, nil},
		{"below every level that may be in force", []string{
			set(1, "error"), at(pong, 1), trip(2), set(3, "warning"), set(4, "alert"), log("info"),
		}, []string{"logging.set-level.threshold warning"}},
		{"a call from before the level was set", []string{
			set(1, "error"), at(pong, 1), trip(2), call3, set(4, "alert"), at(pong, 4), trip(5), trip(6), trip(7), log("error"),
		}, nil},
		{"below every level since the call was made", []string{
			set(1, "error"), at(pong, 1), trip(2), call3, set(4, "alert"), at(pong, 4), trip(5), log("warning"),
		}, []string{"logging.set-level.threshold warning"}},
		{"a call from before the level was set that has its answer", []string{
			set(1, "error"), at(pong, 1), trip(2), call3, set(4, "alert"), at(pong, 4), trip(5), strings.Replace(done, `"id":1`, `"id":3`, 1), log("error"),
		}, []string{"logging.set-level.threshold warning"}},
		{"a call from after the level", []string{
			set(1, "error"), at(pong, 1), trip(2), set(4, "alert"), at(pong, 4), trip(5), call3, log("error"),
		}, []string{"logging.set-level.threshold warning"}},
		{"a call from before the level was set that was cancelled", []string{
			set(1, "error"), at(pong, 1), trip(2), call3, set(4, "alert"), at(pong, 4), cancel("3"), trip(5), log("error"),
		}, nil},
		{"a cancelled call whose messages have had time to arrive", []string{
			set(1, "error"), at(pong, 1), trip(2), call3, set(4, "alert"), at(pong, 4), cancel("3"), trip(5), trip(6), log("error"),
		}, []string{"logging.set-level.threshold warning"}},
		{"a level that was refused", []string{
			set(1, "error"), at(pong, 1), trip(2), set(3, "debug"), `< {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"no"}}`, trip(4), log("info"),
		}, []string{"logging.set-level.accepted note", "logging.set-level.threshold warning"}},
		{"an unknown level that was accepted", []string{
			set(1, "error"), at(pong, 1), trip(2), set(3, "loud"), at(pong, 3), trip(4), log("debug"),
		}, []string{"logging.set-level.invalid-level warning"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judge(t, c.script)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func judge(t *testing.T, script []string) []string {
	t.Helper()
	rec, err := transcript.ParseScript("revision: 2025-11-25\ntransport: stdio\n" + strings.Join(append([]string{
		`> {"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`,
		`> {"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}, script...), "\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rules.Judge(utilities.Rules(), rec.Events, spec.V20251125, spec.Stdio) {
		for _, d := range r.Deviations {
			if text := r.Requirement + " " + d.Outcome(spec.Requirements().Lookup(r.Requirement), r.Revision).String(); !slices.Contains(got, text) {
				got = append(got, text)
			}
		}
	}
	slices.Sort(got)
	return got
}
