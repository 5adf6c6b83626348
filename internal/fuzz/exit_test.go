package fuzz

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestOneExitIsOneFinding checks that the requests that one exit of a process
// left without a response are one finding, shown with the first request. Other
// exits and other mistakes are separate findings.
func TestOneExitIsOneFinding(t *testing.T) {
	t.Parallel()
	conversation := func() *script.Conversation {
		rec := transcript.New()
		for _, method := range []string{"tools/call", "ping", "x"} {
			rec.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`)})
		}
		rec.Add(transcript.Event{Kind: transcript.OutputClosed})
		return &script.Conversation{Events: rec.From(0)}
	}
	o := &Execution{Playback: &script.Playback{Conversations: []*script.Conversation{conversation(), conversation()}}}
	candidate := func(conversation int, requirement, method string, at ...int) Candidate {
		return Candidate{Method: method, Breach: Breach{Deviation: verdict.Deviation{Requirement: requirement, At: at}, Conversation: conversation}}
	}
	for name, c := range map[string]struct {
		all  []Candidate
		want []string
	}{
		"one end":          {[]Candidate{candidate(0, "a", "ping", 1, 3), candidate(0, "a", "tools/call", 0, 3), candidate(0, "a", "x", 2, 3)}, []string{"tools/call"}},
		"two processes":    {[]Candidate{candidate(0, "a", "tools/call", 0, 3), candidate(1, "a", "ping", 1, 3)}, []string{"tools/call", "ping"}},
		"two requirements": {[]Candidate{candidate(0, "a", "tools/call", 0, 3), candidate(0, "b", "ping", 1, 3)}, []string{"tools/call", "ping"}},
		"no end":           {[]Candidate{candidate(0, "a", "tools/call", 0), candidate(0, "a", "ping", 1), candidate(0, "a", "none")}, []string{"tools/call", "ping", "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range mergeByExit(o, c.all) {
				got = append(got, s.Method)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
