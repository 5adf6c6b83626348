package elicitation

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const onlyToInitiator = "elicitation.complete.only-to-initiator-2025-11-25"

func initiatorCase() suite.Case {
	return suite.Case{
		ID:           "elicitation.initiator",
		Title:        "Makes the server send one of two clients to a URL, and checks that the other gets no notification of the completion",
		Requirements: []string{onlyToInitiator},
		Needs:        []string{"tools"},
		OnlyOver:     spec.StreamableHTTP,
		Run:          checkCompletionReceivers,
	}
}

func checkCompletionReceivers(ctx context.Context, t *suite.T) {
	tools := elicitingTools(t)
	script := client.NewAnswers(client.AllCapabilities(t.Revision))
	script.Set(spec.MethodElicit, suite.Accept)
	sent, other := t.Start(ctx, client.Options{Answer: script.Answer}), t.Start(ctx, client.Options{})
	given := func() []string { return elicitationIDs(sent.Record.From(0)) }
	for _, tool := range tools {
		if n := suite.Call(ctx, sent, tool, callTime); n != nil && !n.Answered() {
			break
		}
	}
	if len(given()) == 0 {
		t.GiveUp("no tool that may be called sent the user to a page")
	}
	t.AwaitQuiet(ctx, sent) // the completion of a visit may be announced after the response
	announced := false
	for _, e := range sent.Record.From(0) {
		announced = announced || completedElicitation(e, given()) != ""
	}
	if !announced {
		t.GiveUp("the server sent no notification that the user had finished with the page")
	}
	t.AwaitQuiet(ctx, other)
	for _, e := range other.Record.From(0) {
		if id := completedElicitation(e, given()); id != "" && !slices.Contains(elicitationIDs(other.Record.From(0)), id) {
			t.Report(other, verdict.Deviation{
				Requirement: onlyToInitiator,
				Summary:     "The server sends elicitation/complete to another client.",
				Permitted:   "the notification only to the client that was elicited",
				Seen:        wire.Excerpt(string(e.Raw), 200),
				At:          []int{e.Seq},
			})
			return
		}
	}
	t.MarkKept(onlyToInitiator)
}

// elicitationIDs returns the ids of the URL elicitations in requests and errors of the server.
func elicitationIDs(events []*transcript.Event) []string {
	var out []string
	for _, m := range transcript.Messages(events, transcript.Received) {
		asked := wire.Elements(wire.At(m.Member("error"), "/data/elicitations"))
		if m.Method == spec.MethodElicit {
			asked = append(asked, m.Params())
		}
		for _, a := range asked {
			if id, ok := wire.Text(wire.At(a, "/elicitationId")); ok {
				out = append(out, id)
			}
		}
	}
	return out
}

// completedElicitation returns the id among ids whose elicitation the event reports as completed,
// or "".
func completedElicitation(e *transcript.Event, ids []string) string {
	if e.Kind != transcript.Received {
		return ""
	}
	for i := range e.Messages() {
		m := &e.Frame.Messages[i]
		if id, ok := wire.Text(wire.At(m.Params(), "/elicitationId")); ok && m.Method == spec.MethodElicitDone && slices.Contains(ids, id) {
			return id
		}
	}
	return ""
}
