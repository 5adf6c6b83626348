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

// pure are the requests whose answers hang on nothing but their params, as long
// as nothing changes.
var pure = []string{
	spec.MethodPing, spec.MethodToolsList, spec.MethodResourcesList, spec.MethodResourcesTemplates, spec.MethodPromptsList,
}

// steady compares the answers to equal requests of a conversation. The
// specification does not ask for that.
func steady(o *fuzz.Outcome) []fuzz.Breach {
	if slices.ContainsFunc(o.Conversations, called) {
		return nil
	}
	var out []fuzz.Breach
	for n, t := range o.Conversations {
		if changed(t, 0, len(t.Events)) {
			continue
		}
		asked := map[string]string{} // the request without its id, by its id
		first := map[string]*transcript.Event{}
		results := map[string][]byte{}
		for _, e := range t.Events {
			for i := range e.Messages() {
				m := &e.Frame.Messages[i]
				switch {
				case m.Kind == wire.Request && e.Kind == transcript.Sent && slices.Contains(pure, m.Method):
					asked[m.ID.Key()] = m.Method + string(m.Params())
				case m.Kind == wire.Response && asked[m.ID.Key()] != "":
					what := asked[m.ID.Key()]
					if first[what] == nil {
						first[what], results[what] = e, m.Result()
						continue
					}
					if !bytes.Equal(results[what], m.Result()) {
						out = append(out, fuzz.Breach{Conversation: n, Deviation: verdict.Deviation{
							Requirement: requestAnswered,
							Summary:     "The same request is answered otherwise the second time.",
							Permitted:   "the same answer while nothing changes; the specification does not ask for it",
							Seen:        excerpt(m.Raw),
							At:          []int{first[what].Seq, e.Seq},
							Weight:      verdict.OnlyNote,
						}})
					}
				}
			}
		}
	}
	return out
}
