package discount

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestDiscountsOfClaims checks each discount with a claim to which it applies,
// and with a similar claim to which it does not.
func TestDiscountsOfClaims(t *testing.T) {
	const (
		http   = "transport: streamable-http\n\n1> POST / HTTP/1.1\n1> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
		asked  = `> {"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
		failed = `< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}`
		wrong  = `< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`
		limit  = http + "1< HTTP/1.1 429 Too Many Requests\n1! complete\n"
		broken = http + "1! broken\n"
	)
	const failing = http + "1< HTTP/1.1 500 Internal Server Error\n1! complete\n"
	const gone = http + "1< HTTP/1.1 404 Not Found\n1! complete\n"
	const first = `> {"jsonrpc":"2.0","id":9,"method":"tools/list"}` + "\n"
	const held = `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}` + "\n" +
		`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n" + `> {"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n"
	const walked = "transport: streamable-http\n\n1> POST / HTTP/1.1\n1>> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n"
	const listening = "2> POST / HTTP/1.1\n2>> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"subscriptions/listen\"}\n"
	flooded := asked + "! flooded x\n! detail more than 20000 messages\n"
	for _, x := range []struct {
		name   string
		script string
		claim  Claim
		want   Effect
	}{
		{"a message missing after the session", asked, Claim{ByCase: true, SessionEnded: true, At: []int{0}}, Void},
		{"a session that the server no longer knows", gone, Claim{ByCase: true, SessionEnded: true, At: []int{3}}, Void},
		{"an HTTP status after the session", failing, Claim{ByCase: true, SessionEnded: true, At: []int{3}}, Counts},
		{"a wrong message after the session", asked + wrong, Claim{ByCase: true, SessionEnded: true, At: []int{2}}, Counts},
		{"a message missing in a session that goes on", asked, Claim{ByCase: true, At: []int{0}}, Counts},
		{"a message missing at an unclear start", asked, Claim{ByCase: true, StartUnclear: true, At: []int{0}}, Void},
		{"a wrong message at an unclear start", asked + wrong, Claim{ByCase: true, StartUnclear: true, At: []int{2}}, Counts},
		{"a missing response after a short wait", asked, Claim{At: []int{0}, ShortWait: true}, Void},
		{"a ping after a call without a response", held, Claim{At: []int{3}, Search: true}, Void},
		{"the same in a run", held, Claim{At: []int{3}}, Counts},
		{"the call itself", held, Claim{At: []int{1}, Search: true}, Counts},
		{"an exit after the call", held + `< {"jsonrpc":"2.0","method":"notifications/message"}` + "\n! exit 1\n", Claim{At: []int{3, 5}, Search: true}, Counts},
		{"an exit before the first message", asked + "! exit 1\n", Claim{At: []int{1, 2}}, EachTime},
		{"an exit at the end of the input", asked + "! close-input\n! exit 1\n", Claim{At: []int{1, 3}}, Counts},
		{"something after the call was answered", held + `< {"jsonrpc":"2.0","id":2,"result":{}}` + "\n" + `> {"jsonrpc":"2.0","id":3,"method":"ping"}` + "\n", Claim{At: []int{5}, Search: true}, Counts},
		{"something before the call was answered", first + held + `< {"jsonrpc":"2.0","id":9,"result":{}}` + "\n" + `> {"jsonrpc":"2.0","id":3,"method":"ping"}` + "\n", Claim{At: []int{6}, Search: true}, Void},
		{"the call was answered", held + `< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}` + "\n" + `> {"jsonrpc":"2.0","id":3,"method":"ping"}` + "\n", Claim{At: []int{5}, Search: true}, Counts},
		{"a list instead of a call", first + asked, Claim{At: []int{2}, Search: true}, Counts},
		{"walks that differ, with no subscription", walked, Claim{Requirement: "pagination.walk.complete", Search: true}, Void},
		{"the same in a run", walked, Claim{Requirement: "pagination.walk.complete"}, Counts},
		{"the same after retries, and no tool was called", walked, Claim{Requirement: "pagination.walk.complete", Unreproduced: true}, Counts},
		{"another requirement", walked, Claim{Requirement: "tools.list.result-schema", Search: true}, Counts},
		{"walks on a process of their own", first, Claim{Requirement: "pagination.walk.complete", Search: true}, Counts},
		{"walks with a subscription", walked + listening, Claim{Requirement: "pagination.walk.complete", Search: true}, Counts},
		{"a flood", flooded, Claim{ByCase: true}, Void},
		{"a flood, of which rules know", flooded, Claim{}, Counts},
		{"a limit in front of the server", limit, Claim{Requirement: "ping.responds", ByCase: true}, Void},
		{"a limit before the case began", limit, Claim{Requirement: "ping.responds", ByCase: true, From: 4}, Counts},
		{"a limit that the requirement is about", limit, Claim{Requirement: "streamable-http.multiple-clients", ByCase: true}, Counts},
		{"a server that may be busy", asked + failed, Claim{Outcome: verdict.Broken, At: []int{2}}, EachTime},
		{"a server that may be busy, and a warning", asked + failed, Claim{Outcome: verdict.Warning, At: []int{2}}, Counts},
		{"an error about the request", asked + wrong, Claim{Outcome: verdict.Broken, At: []int{2}}, Counts},
		{"a broken connection", broken, Claim{}, EachTime},
		{"a broken connection, but the server ended", broken + "! exit 1\n", Claim{}, Counts},
	} {
		t.Run(x.name, func(t *testing.T) {
			claim := x.claim
			claim.Events = eventsOf(t, x.script)
			claim.Conversations = [][]*transcript.Event{claim.Events}
			effect, reason := NewRun().Discount(&claim)
			if effect != x.want || (reason != "") != (effect != Counts) {
				t.Errorf("the effect is %d because of %q, want %d", effect, reason, x.want)
			}
		})
	}
}

// TestListChangedMeanwhile checks that walks which differ do not count if a tool was called in
// another conversation meanwhile, and no retry reproduced the difference.
func TestListChangedMeanwhile(t *testing.T) {
	const walked = "transport: streamable-http\n\n1> POST / HTTP/1.1\n1>> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n! at 2s\n1! complete\n"
	const called = "transport: streamable-http\n\n1> POST / HTTP/1.1\n1>> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}\n" +
		"1< HTTP/1.1 200 OK\n   Content-Type: application/json\n! at 1s\n1<< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n1! complete\n"
	start := time.Date(2026, 7, 28, 0, 0, 0, 0, time.UTC)
	for _, x := range []struct {
		name         string
		called       time.Duration // when the other conversation began, after that of the claim
		own          bool          // whether it had a process of its own
		unreproduced bool
		want         Effect
	}{
		{name: "meanwhile", called: time.Second, unreproduced: true, want: Void},
		{name: "before", called: -time.Minute, unreproduced: true, want: Counts},
		{name: "afterwards", called: time.Minute, unreproduced: true, want: Counts},
		{name: "on another process", called: time.Second, own: true, unreproduced: true, want: Counts},
		{name: "reproduced", called: time.Second, want: Counts},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := NewRun()
			other := conversation(eventsOf(t, called))
			other.Start, other.OwnProcess = start.Add(x.called), x.own
			r.Observe(other)
			claim := &Claim{Requirement: "pagination.walk.complete", Events: eventsOf(t, walked), Start: start, Unreproduced: x.unreproduced}
			if got, reason := r.Discount(claim); got != x.want {
				t.Errorf("the effect is %d because of %q, want %d", got, reason, x.want)
			}
		})
	}
}

// TestCutResponse checks that a response does not count as missing or wrong if only its beginning was
// kept, while other responses in the same conversation count.
func TestCutResponse(t *testing.T) {
	record := transcript.New()
	for id, kept := range map[string]bool{"1": true, "2": false} {
		response := []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
		size := int64(len(response))
		if !kept {
			size += 20 << 20
		}
		sent := record.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)})
		record.Add(transcript.Event{Kind: transcript.Received, Raw: response, Size: size})
		want := Void
		if kept {
			want = Counts
		}
		for by, want := range map[bool]Effect{true: want, false: Counts} {
			claim := Claim{Requirement: "ping.responds", ByCase: by, Events: record.From(0), At: []int{sent.Seq}}
			if got, _ := NewRun().Discount(&claim); got != want {
				t.Errorf("id %s, kept %v, by a case %v: the effect is %d, want %d", id, kept, by, got, want)
			}
		}
	}
}

// TestMixedResponses checks that rules do not judge another client's responses,
// unless they are about the transport that mixes them.
func TestMixedResponses(t *testing.T) {
	for _, x := range []struct {
		name  string
		mixed bool
		claim Claim
		want  Effect
	}{
		{"one of several conversations", true, Claim{Requirement: "ping.responds", Concurrent: true}, Void},
		{"the only conversation", true, Claim{Requirement: "ping.responds"}, Counts},
		{"a requirement of the transport", true, Claim{Requirement: "sse.two-endpoints", Concurrent: true}, Counts},
		{"responses that are not mixed", false, Claim{Requirement: "ping.responds", Concurrent: true}, Counts},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := NewRun()
			if x.mixed {
				r.NoteMixing()
			}
			if got, _ := r.Discount(&x.claim); got != x.want || r.MixesResponses() != x.mixed {
				t.Errorf("the effect is %d, want %d", got, x.want)
			}
		})
	}
}

// TestNotices checks that what a run observed repeatedly is reported once, in
// the order of the table.
func TestNotices(t *testing.T) {
	const refused = "transport: streamable-http\n\n1> POST / HTTP/1.1\n1> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n1< HTTP/1.1 429 Too Many Requests\n1! complete\n"
	r := NewRun()
	r.Observe(conversation(eventsOf(t, refused)))
	r.Observe(conversation(eventsOf(t, refused)))
	r.Observe(conversation(eventsOf(t, "! flooded x\n! detail more than 20000 messages\n")))
	want := []string{`2 requests were answered with "HTTP/1.1 429 Too Many Requests" and the like, which a proxy or a rate limit in front of the server may have sent; they were not counted`}
	if diff := cmp.Diff(want, r.Notices()); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	if got, want := r.FloodReason(), `the server flooded stdout with more than 20000 messages, which began with "x"; the rest was not judged`; got != want {
		t.Errorf("the flood is called %q, want %q", got, want)
	}
}

// TestRunDiscountsAreTested checks that each row of the tables of a run has a test, and a text.
func TestRunDiscountsAreTested(t *testing.T) {
	tests := map[string]func(*testing.T){
		"session-ended": TestDiscountsOfClaims, "short-wait": TestDiscountsOfClaims, "held-up": TestDiscountsOfClaims, "changed-list": TestListChangedMeanwhile, "start-unclear": TestDiscountsOfClaims, "cut-response": TestCutResponse,
		"flood": TestDiscountsOfClaims, "refused-token": TestRefusedToken, "gateway": TestDiscountsOfClaims, "busy": TestDiscountsOfClaims, "broken-connection": TestDiscountsOfClaims, "second-copy": TestDiscountsOfClaims,
		"mixed-responses": TestMixedResponses, "outage": TestOutage, "disturbed-case": TestDisturbedCases, "explained-exit": TestExits,
		"cut-off-method": TestCutoffs, "same-error": TestSameError, "refused-calls": TestRefusedCalls, "overdue": TestOverdue, "crash": TestCrashNotice,
	}
	for _, d := range append(OfRuns(), Noticed()...) {
		if tests[d.ID] == nil || d.Reason == "" {
			t.Errorf("%s has no test, or no reason", d.ID)
		}
		delete(tests, d.ID)
	}
	for id := range tests {
		t.Errorf("no table of a run has %s", id)
	}
}
