package cli

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func asItIs(text string) string { return text }

// TestShownOperations checks that a line names the method, and the source of
// values that are not in the script.
func TestShownOperations(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("日本語", 60)
	cursor := func(id string) []script.Take {
		return []script.Take{{ID: script.Bytes(id), From: "/result/nextCursor", Into: "cursor"}}
	}
	for name, c := range map[string]struct {
		operation script.Operation
		want      string
	}{
		"a cursor": {
			script.Operation{Do: script.Send, Message: script.Bytes(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":""}}`), Take: cursor(`1`)},
			`send {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":<nextCursor of the response to 1>}}`,
		},
		"a cursor, and no params": {
			script.Operation{Do: script.Send, Message: script.Bytes(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`), Take: cursor(`"a"`), Await: true},
			`send {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":<nextCursor of the response to "a">}}   (waits for the response)`,
		},
		"a long id": {
			script.Operation{Do: script.Send, Method: "ping", On: 1, Message: script.Bytes(`{"jsonrpc":"2.0","id":"` + long + `","method":"ping"}`)},
			`(conversation 2) send {"jsonrpc":"2.0","id":"` + strings.Repeat("日本語", 5) + `日本…語` + strings.Repeat("日本語", 2) + `","method":"ping"}`,
		},
		"a long id whose answer is taken from": {
			script.Operation{Do: script.Send, Message: script.Bytes(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`), Take: cursor(`"` + strings.Repeat("x", 300) + `"`)},
			`send {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":<nextCursor of the response to "xxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxx">}}`,
		},
		"many members": {
			script.Operation{Do: script.Send, Method: "ping", Message: script.Bytes(`{"params":{"a":[` + strings.Repeat("1,", 200) + `1]},"method":"ping","b":[` + strings.Repeat("1,", 200) + `1]}`)},
			`send ping: {"params":{"a":[` + strings.Repeat("1,", 58) + `1…1` + strings.Repeat(",1", 30) + `]}`,
		},
		"a next round": {
			script.Operation{Do: script.Send, Message: script.Bytes(`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`), Target: script.Bytes("1")},
			`send {"jsonrpc":"2.0","id":2,"method":"tools/call"}   (the next round of 1)`,
		},
		"a cancellation": {script.Operation{Do: script.Cancel, Target: script.Bytes("7")}, "cancel 7"},
		"a walk":         {script.Operation{Do: script.Walk, Method: "tools/list"}, "walk tools/list"},
		"a fence":        {script.Operation{Do: script.Fence}, "fence"},
		"no JSON":        {script.Operation{Do: script.Raw, Message: script.Bytes(strings.Repeat("a", 300))}, "raw " + strings.Repeat("a", 53) + "…" + strings.Repeat("a", 23)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, operationLine(&c.operation, asItIs)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	secret := script.Operation{Do: script.Send, Message: script.Bytes(`{"id":"` + strings.Repeat("x", 190) + `SECRET","method":"ping"}`)}
	if got := operationLine(&secret, func(text string) string { return strings.ReplaceAll(text, "SECRET", "-") }); strings.Contains(got, "SECR") {
		t.Errorf("a secret is shown in part: %s", got)
	}
}

// TestScriptLines checks that a short script is shown completely, with the
// client's own messages where they were sent. A long script must say how many
// operations of its middle are omitted.
func TestScriptLines(t *testing.T) {
	t.Parallel()
	ping := script.Operation{Do: script.Send, Method: "ping", Message: script.Bytes(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}
	rec := transcript.New()
	rec.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(ping.Message)})
	rec.Add(transcript.Event{Kind: transcript.Received, Raw: []byte(`{"jsonrpc":"2.0","id":"s\u001b","method":"ping"}`)})
	rec.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(`{"jsonrpc":"2.0","id":"s\u001b","result":{}}`)})
	one := script.Script{Revision: spec.V20250618, Operations: []script.Operation{ping}}
	rules := fuzz.Candidate{Law: "rules"}
	small := &fuzz.Finding{Candidate: rules, Script: one, Retries: verdict.Retries{Attempts: 3, Reproduced: 3}, Evidence: &fuzz.Execution{Playback: &script.Playback{Script: one, Conversations: []*script.Conversation{{Events: rec.From(0)}}}}}
	if diff := cmp.Diff([]string{
		"1 operation, 40 bytes; law: rules; recurred in 3 of 3 retries",
		`→ send {"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`  … by itself, the client answered the server's ping with id "s\u001b"`,
	}, scriptLines(small, asItIs, false)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	long := &fuzz.Finding{Candidate: rules, Cut: true}
	for i := range maxOperations + 2 {
		long.Script.Operations = append(long.Script.Operations, script.Operation{Do: script.Walk, Method: strconv.Itoa(i)})
	}
	if diff := cmp.Diff([]string{
		"14 operations, 0 bytes; law: rules; not retried: the search ended first; there was no time to shrink it further",
		"→ walk 0", "→ walk 1", "→ walk 2", "→ walk 3", "→ walk 4", "→ walk 5",
		"… 2 more operations, which the replay file has",
		"→ walk 8", "→ walk 9", "→ walk 10", "→ walk 11", "→ walk 12", "→ walk 13",
	}, scriptLines(long, asItIs, true)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
