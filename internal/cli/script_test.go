package cli

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

func asItIs(text string) string { return text }

// TestShownOperations: a line says which method it is about, and where a value
// comes from that no script has.
func TestShownOperations(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("日本語", 60)
	cursor := func(id string) []generate.Take {
		return []generate.Take{{ID: generate.Bytes(id), From: "/result/nextCursor", Into: "cursor"}}
	}
	for name, c := range map[string]struct {
		operation generate.Operation
		want      string
	}{
		"a cursor": {
			generate.Operation{Do: generate.Send, Message: generate.Bytes(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":""}}`), Take: cursor(`1`)},
			`send {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":<nextCursor of the answer to 1>}}`,
		},
		"a cursor, and no params": {
			generate.Operation{Do: generate.Send, Message: generate.Bytes(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`), Take: cursor(`"a"`), Await: true},
			`send {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":<nextCursor of the answer to "a">}}   (waits for the answer)`,
		},
		"a long id": {
			generate.Operation{Do: generate.Send, Method: "ping", On: 1, Message: generate.Bytes(`{"jsonrpc":"2.0","id":"` + long + `","method":"ping"}`)},
			`(conversation 2) send {"jsonrpc":"2.0","id":"` + strings.Repeat("日本語", 5) + `日本…語` + strings.Repeat("日本語", 2) + `","method":"ping"}`,
		},
		"a long id whose answer is taken from": {
			generate.Operation{Do: generate.Send, Message: generate.Bytes(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`), Take: cursor(`"` + strings.Repeat("x", 300) + `"`)},
			`send {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":<nextCursor of the answer to "xxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxx">}}`,
		},
		"many members": {
			generate.Operation{Do: generate.Send, Method: "ping", Message: generate.Bytes(`{"params":{"a":[` + strings.Repeat("1,", 200) + `1]},"method":"ping","b":[` + strings.Repeat("1,", 200) + `1]}`)},
			`send ping: {"params":{"a":[` + strings.Repeat("1,", 58) + `1…1` + strings.Repeat(",1", 30) + `]}`,
		},
		"a walk":  {generate.Operation{Do: generate.Walk, Method: "tools/list"}, "walk tools/list"},
		"a fence": {generate.Operation{Do: generate.Fence}, "fence"},
		"no JSON": {generate.Operation{Do: generate.Raw, Message: generate.Bytes(strings.Repeat("a", 300))}, "raw " + strings.Repeat("a", 53) + "…" + strings.Repeat("a", 23)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, shown(&c.operation, asItIs)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	secret := generate.Operation{Do: generate.Send, Message: generate.Bytes(`{"id":"` + strings.Repeat("x", 190) + `SECRET","method":"ping"}`)}
	if got := shown(&secret, func(text string) string { return strings.ReplaceAll(text, "SECRET", "-") }); strings.Contains(got, "SECR") {
		t.Errorf("a secret is shown in part: %s", got)
	}
}

// TestScriptLines: all of a small script is shown, and what the client did by
// itself where it did it; of a long one it is said how much of its middle is left out.
func TestScriptLines(t *testing.T) {
	t.Parallel()
	ping := generate.Operation{Do: generate.Send, Method: "ping", Message: generate.Bytes(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}
	rec := transcript.New()
	rec.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(ping.Message)})
	rec.Add(transcript.Event{Kind: transcript.Received, Raw: []byte(`{"jsonrpc":"2.0","id":"s\u001b","method":"ping"}`)})
	rec.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(`{"jsonrpc":"2.0","id":"s\u001b","result":{}}`)})
	script := generate.Script{Revision: spec.V20250618, Operations: []generate.Operation{ping}}
	rules := fuzz.Sighting{Law: "rules"}
	small := &fuzz.Finding{Sighting: rules, Script: script, Tries: 3, Again: 3, Evidence: &fuzz.Outcome{Script: script, Talks: []*fuzz.Talk{{Events: rec.From(0)}}}}
	if diff := cmp.Diff([]string{
		"1 operation, 40 bytes, by the law rules; came back 3 times of 3",
		`→ send {"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`  … by itself, the client answered the server's ping with id "s\u001b"`,
	}, scriptLines(small, asItIs, false)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	long := &fuzz.Finding{Sighting: rules, Cut: true}
	for i := range mostShown + 2 {
		long.Script.Operations = append(long.Script.Operations, generate.Operation{Do: generate.Walk, Method: strconv.Itoa(i)})
	}
	if diff := cmp.Diff([]string{
		"14 operations, 0 bytes, by the law rules; not tried again: the search ended before; there was no time to make it any smaller",
		"→ walk 0", "→ walk 1", "→ walk 2", "→ walk 3", "→ walk 4", "→ walk 5",
		"… 2 more operations, which the replay file has",
		"→ walk 8", "→ walk 9", "→ walk 10", "→ walk 11", "→ walk 12", "→ walk 13",
	}, scriptLines(long, asItIs, true)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
