package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestRulesAreComplete(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range rules.Base() {
		if !strings.HasPrefix(r.ID, "rule.") || ids[r.ID] || r.Title == "" || r.Start == nil {
			t.Errorf("rule %q is incomplete, or its id is taken", r.ID)
		}
		ids[r.ID] = true
		for _, id := range r.Requirements {
			if q := spec.Requirements().Lookup(id); q == nil || q.Testable == spec.No {
				t.Errorf("%s judges %s, which does not exist or can't be judged", r.ID, id)
			}
		}
	}
}

// Observed requirements are counted; those that were not observed are not kept.
func TestObservationsAreCounted(t *testing.T) {
	for _, c := range []struct {
		name, script string
		revision     spec.Revision
		want         map[string]int
	}{
		{"nothing", `! opened`, spec.V20251125, map[string]int{}},
		{"the client alone", `
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			> {"jsonrpc":"2.0","method":"notifications/x"}`, spec.V20251125, map[string]int{}},
		{"a conversation", `
			> {"jsonrpc":"2.0","id":0,"method":"ping"}
			< {"jsonrpc":"2.0","id":0,"result":{}}
			` + hello(spec.V20251125) + welcome(spec.V20251125) + pinged("1") + `
			> {"jsonrpc":"2.0","method":"notifications/initialized"}
			> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}
			< {"jsonrpc":"2.0","id":"s","method":"roots/list"}
			> {"jsonrpc":"2.0","id":"s","result":{"roots":[]}}
			< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}
			< {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"é","_meta":{"com.example/a":1,"b":2}}]}}
			> {"jsonrpc":"2.0","id":3,"method":"no/such"}
			< {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}
			> {"jsonrpc":"2.0","method":"notifications/last"}
			! close-input
			! exit 0`, spec.V20251125, map[string]int{
			"base.jsonrpc-2-0": 7, "base.message-utf8": 1, "base.batch-not-emitted": 7,
			"base.request-id-type": 1, "base.request-id-not-null": 1, "base.request-id-unique-per-session": 1, "base.notification-no-id": 1,
			"base.request-answered": 4, "base.response-once": 5, "base.response-id-echo": 5, "base.response-unsolicited": 5,
			"base.error-response-id": 1, "base.notification-no-response": 1,
			"base.response-result-or-error": 5, "base.response-not-both": 5, "base.result-is-object": 4,
			"base.error-code-and-message": 1, "base.error-code-integer": 1, "base.error-message-concise": 1,
			"base.meta-key-prefix": 1, "base.meta-key-name": 2, "base.meta-reverse-dns": 1, "base.meta-reserved-prefix-2025-11-25": 1,
			"stdio.stdout-only-messages": 7, "stdio.newline-delimited": 7, "stdio.no-embedded-newlines": 7,
			"lifecycle.initialize-first": 1, "lifecycle.initialize-response": 1, "lifecycle.initialize-result-schema": 1,
			"lifecycle.no-requests-before-initialized":           1,
			"versioning.initialize-known-version":                1,
			"versioning.negotiated-version-respected-2025-06-18": 2,
			"ping.before-initialized":                            1, "ping.empty-result": 1,
		}},
		{"the negotiated revision counts, from the first event on", `
			< {"jsonrpc":"2.0","method":"notifications/x"}
			` + hello(spec.V20251125) + welcome(spec.V20241105), spec.V20251125, map[string]int{
			"base.jsonrpc-2-0": 2, "base.batch-not-emitted": 2, "base.notification-no-id": 1,
			"base.request-answered": 1, "base.response-once": 1, "base.response-id-echo": 1, "base.response-unsolicited": 1,
			"base.response-result-or-error": 1, "base.response-not-both": 1, "base.result-is-object": 1,
			"stdio.stdout-only-messages": 2, "stdio.newline-delimited": 2, "stdio.no-embedded-newlines": 2,
			"lifecycle.initialize-first": 1, "lifecycle.initialize-response": 1, "lifecycle.initialize-result-schema": 1,
			"versioning.initialize-known-version": 1,
		}},
		{"a message over several lines is not a line of its own", handshake(spec.V20250618) + `
			< {"jsonrpc":"2.0",
			< "method":"notifications/x"}`, spec.V20250618, map[string]int{"stdio.newline-delimited": 0, "stdio.no-embedded-newlines": 2}},
		{"pings now and then", handshake(spec.V20251125) + `
			! at 10s
			< {"jsonrpc":"2.0","id":1,"method":"ping"}
			> {"jsonrpc":"2.0","id":1,"result":{}}
			! at 20s
			< {"jsonrpc":"2.0","id":2,"method":"ping"}`, spec.V20251125, map[string]int{"ping.not-excessive": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := observedCounts(rules.Judge(rules.Base(), read(t, c.script), c.revision, spec.Stdio))
			for id := range got { // ignore rules that are newer than the lists
				if _, named := c.want[id]; !named && len(c.want) > 0 {
					delete(got, id)
				}
			}
			for id, n := range c.want {
				if n == 0 && got[id] == 0 {
					got[id] = 0
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("observations (-want +got):\n%s", diff)
			}
		})
	}
}

// A server that errs in every message yields few deviations.
func TestRepeatedDeviationsAreBounded(t *testing.T) {
	script := handshake(spec.V20251125) + strings.Repeat("< banner\n", 50)
	for _, r := range rules.Judge(rules.Base(), read(t, script), spec.V20251125, spec.Stdio) {
		if len(r.Deviations) > 3 {
			t.Errorf("%s keeps %d deviations", r.Rule, len(r.Deviations))
		}
		if r.Requirement == "stdio.stdout-only-messages" && r.Observed < 50 {
			t.Errorf("%d observations were counted", r.Observed)
		}
	}
}

// For any events, judging ends, is deterministic, and refers only to existing events.
func TestJudgingIsTotalAndDeterministic(t *testing.T) {
	pieces := []string{
		`{"jsonrpc":"2.0",`, `"id":1,`, `"id":"1",`, `"id":null,`, `"id":1.5,`, `"id":{},`, `"id":9007199254740993,`,
		`"method":"ping"`, `"method":"initialize","params":{"protocolVersion":"2025-03-26"}`, `"method":"notifications/initialized"`,
		`"method":"notifications/cancelled","params":{"requestId":1}`, `"method":"tools/call"`, `"method":5`,
		`"result":{}`, `"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{}}`, `"result":null`,
		`"result":{"content":[{"type":"audio","_meta":{"/":1}}]}`, `"error":{"code":-32601,"message":"m"}`, `"error":null`,
		`,`, `}`, `[`, `]`, `{`, `"`, `\`, "\r", "\xff", "\xef\xbb\xbf", "Content-Length: 5", " ",
	}
	kinds := []transcript.Kind{
		transcript.Opened, transcript.Sent, transcript.Received, transcript.Stderr, transcript.InputClosed, transcript.Signalled,
		transcript.OutputClosed, transcript.Exited, transcript.Flooded, transcript.Remark, transcript.CaseBegan, transcript.GaveUp,
	}
	frame := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 20),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6), func(p []string) []byte { return []byte(strings.Join(p, "")) }),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces[1:20]), 1, 2), func(p []string) []byte {
			return []byte(pieces[0] + strings.TrimRight(strings.Join(p, ""), ",") + "}")
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		var events []*transcript.Event
		for i := range rapid.IntRange(0, 30).Draw(t, "events") {
			e := &transcript.Event{Seq: i, Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Of: rapid.IntRange(-1, 30).Draw(t, "of")}
			if rapid.IntRange(0, 2).Draw(t, "frame") > 0 {
				e.Kind = rapid.SampledFrom(kinds[1:3]).Draw(t, "direction")
			}
			e.Raw = frame.Draw(t, "raw")
			e.Size = int64(len(e.Raw))
			e.Unterminated = rapid.IntRange(0, 9).Draw(t, "unterminated") == 0
			if rapid.IntRange(0, 9).Draw(t, "cut") == 0 {
				e.Size++
			}
			if e.Kind == transcript.Sent || e.Kind == transcript.Received {
				e.Frame = wire.Parse(e.Raw)
			}
			events = append(events, e)
		}
		r := rapid.SampledFrom(spec.Revisions()).Draw(t, "revision")
		over := rapid.SampledFrom(spec.Transports()).Draw(t, "transport")
		first := rules.Judge(rules.Base(), events, r, over)
		if diff := cmp.Diff(first, rules.Judge(rules.Base(), events, r, over), cmp.AllowUnexported(rules.Result{})); diff != "" {
			t.Fatalf("two judgements differ:\n%s", diff)
		}
		for _, result := range first {
			if result.Observed < len(result.Deviations) || result.Observed == 0 {
				t.Fatalf("%s: %d deviations of %d observations", result.Requirement, len(result.Deviations), result.Observed)
			}
			for _, d := range result.Deviations {
				if len(d.At) == 0 || !slices.IsSorted(d.At) || d.At[0] < 0 || d.At[len(d.At)-1] >= len(events) || d.Summary == "" || d.Permitted == "" {
					t.Fatalf("%s: %+v", result.Rule, d)
				}
			}
		}
	})
}
