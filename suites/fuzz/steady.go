package fuzz

import (
	"bytes"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// pure are the requests whose results depend only on their params, as long as nothing changes.
var pure = []string{
	spec.MethodPing, spec.MethodDiscover, spec.MethodToolsList, spec.MethodResourcesList, spec.MethodResourcesTemplates, spec.MethodPromptsList,
}

// equalResponses compares the responses to equal requests in a conversation, and in the stateless
// era also those in different conversations. The specification does not require the responses to be
// equal.
func equalResponses(execution *fuzz.Execution) []fuzz.Breach {
	if slices.ContainsFunc(execution.Conversations, callsTool) {
		return nil
	}
	var out []fuzz.Breach
	var first map[string]transcript.Message // the response to a request, by the request without its id
	from := map[string]int{}                // the conversation of that response
	for n, t := range execution.Conversations {
		if hasListChanged(t, 0, len(t.Events)) {
			continue
		}
		if first == nil || execution.Script.Revision.Era() != spec.Stateless {
			first = map[string]transcript.Message{}
		}
		d := transcript.DialogueOf(t.Events)
		for e, m := range transcript.Messages(t.Events, transcript.Received) {
			r := d.RequestOf(m)
			if m.Kind != wire.Response || r == nil || !slices.Contains(pure, r.Message.Method) {
				continue
			}
			what := r.Message.Method + string(r.Message.Params())
			if first[what].Event == nil {
				first[what], from[what] = transcript.Message{Message: m, Event: e}, n
			} else if !bytes.Equal(first[what].Result(), m.Result()) {
				at := []int{e.Seq}
				if from[what] == n {
					at = []int{first[what].Event.Seq, e.Seq}
				}
				out = append(out, fuzz.Breach{Conversation: n, Deviation: verdict.Deviation{
					Requirement: requestAnswered,
					Summary:     "The server answers the same request differently the second time.",
					Permitted:   "the same response while nothing changes; the specification does not require it",
					Seen:        excerpt(m.Raw),
					At:          at,
					Weight:      verdict.OnlyNote,
				}})
			}
		}
	}
	return out
}
