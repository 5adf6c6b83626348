package discount

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// eventsOf parses the script of one conversation.
func eventsOf(t *testing.T, script string) []*transcript.Event {
	t.Helper()
	r, err := transcript.ParseScript(strings.ReplaceAll(script, "\t", ""))
	if err != nil {
		t.Fatal(err)
	}
	return r.Events
}

// conversation returns a conversation with these events.
func conversation(events []*transcript.Event) Conversation {
	return Conversation{Revision: spec.V20251125, Events: events, Dialogue: transcript.DialogueOf(events)}
}

func TestOverdue(t *testing.T) {
	const (
		call    = `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":{"a":1}}}`
		other   = `> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work","arguments":{"a":2}}}`
		answer  = `< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
		answer2 = `< {"jsonrpc":"2.0","id":2,"result":{"content":[]}}`
		cancel  = `> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no answer in time"}}`
		meant   = `> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"the case wants to see it stop"}}`
		judged  = `> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no answer in time, which is reported"}}`
		read    = `> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b"}}`
		later   = "! at 3s"
		held    = ": not counted as a failure, because only you know whether it hangs or is slow"
		notKept = held + "; but base.request-answered is not reported as kept"
	)
	closed := func(reason string) []*transcript.Event {
		events := eventsOf(t, strings.Join([]string{"transport: streamable-http", "", "1> POST / HTTP/1.1", "1>" + call, later, "1! dropped"}, "\n"))
		events[len(events)-1].Reason = reason
		return events
	}
	for reason, want := range map[string]string{
		transcript.OverdueReason: `tools/call of "work" was not answered within 3s` + notKept, transcript.JudgedReason: "", "the case wants to see it stop": "", "": "",
	} {
		o := overdues{}
		if o.observe(conversation(closed(reason))); o.notice() != want {
			t.Errorf("closed because of %q: said %q, want %q", reason, o.notice(), want)
		}
	}
	for _, x := range []struct {
		name          string
		conversations [][]string
		want          string
		outcome       verdict.Outcome
	}{
		{"answered", [][]string{{call, later, answer}}, "", verdict.Kept},
		{"never answered", [][]string{{call, later, cancel}}, `tools/call of "work" was not answered within 3s` + notKept, verdict.NotObserved},
		{"a resource", [][]string{{read, later, cancel}}, `resources/read of "a:b" was not answered within 3s` + notKept, verdict.NotObserved},
		{"answered late", [][]string{{call, later, cancel, answer}}, `tools/call of "work" was not answered within 3s` + held, verdict.Kept},
		{"answered with the id as a string", [][]string{{call, `< {"jsonrpc":"2.0","id":"1","result":{"content":[]}}`, later, cancel}}, "", verdict.NotObserved},
		{"answered in another conversation", [][]string{{call, later, cancel}, {call, answer}}, "", verdict.Kept},
		{"with some arguments", [][]string{{call, other, answer2, later, cancel}}, `some tools/call of "work" were not answered within 3s` + notKept, verdict.NotObserved},
		{"cancelled by a case", [][]string{{call, later, meant}}, "", verdict.Kept},
		{"a case reports it", [][]string{{call, later, cancel}, {call, later, judged}}, "", verdict.NotObserved},
		{"the connection broke", [][]string{{"transport: streamable-http", "", "1> POST / HTTP/1.1", "1>" + call, "1! broken", "2> POST / HTTP/1.1", "2>" + cancel, "2< HTTP/1.1 202 Accepted", "2! complete"}}, "", verdict.NotObserved},
		{"the server ended", [][]string{{call, later, "! exit 1"}}, "", verdict.Kept},
		{"the server ended before it was cancelled", [][]string{{call, later, "! exit 1", cancel}}, "", verdict.Kept},
		{"the stream ended", [][]string{{"transport: streamable-http", "", "1> POST / HTTP/1.1", "1>" + call, "1< HTTP/1.1 200 OK", "   Content-Type: text/event-stream", "1<~ id: 1", "   data:", "1! complete", "2> POST / HTTP/1.1", "2>" + cancel, "2< HTTP/1.1 202 Accepted", "2! complete"}}, `tools/call of "work" was not answered before the HTTP response to it ended` + notKept, verdict.NotObserved},
		{"the session is served no more", [][]string{{"transport: streamable-http", "", "1> POST / HTTP/1.1", "1>" + call, "1< HTTP/1.1 404 Not Found", "1! complete", "2> POST / HTTP/1.1", "2>" + cancel, "2< HTTP/1.1 404 Not Found", "2! complete"}}, "", verdict.Kept},
		{"two", [][]string{{read, later, cancel}, {call, later, cancel}}, `resources/read of "a:b" was not answered within 3s; tools/call of "work" was not answered within 3s` + notKept, verdict.NotObserved},
	} {
		t.Run(x.name, func(t *testing.T) {
			o := overdues{}
			for _, lines := range x.conversations {
				o.observe(conversation(eventsOf(t, strings.Join(lines, "\n"))))
			}
			if got := o.notice(); got != x.want {
				t.Errorf("said %q, want %q", got, x.want)
			}
			v := &verdict.Verdict{Requirement: requestAnswered, Revision: spec.V20251125, Outcome: verdict.Kept}
			o.adjust(v)
			if v.Outcome != x.outcome || (v.Reason != "") != (x.outcome == verdict.NotObserved) {
				t.Errorf("%v: %q", v.Outcome, v.Reason)
			}
			before := &verdict.Verdict{Requirement: requestAnswered, Revision: spec.V20241105, Outcome: verdict.Kept}
			if o.adjust(before); before.Outcome != verdict.Kept {
				t.Error("what happened in one revision counts in another")
			}
		})
	}
}
