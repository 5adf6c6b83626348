package sampling

import (
	"context"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const matchedByID = "base.response-matched-by-id"

// The model's responses to the two requests; neither contains the other.
const (
	toFirst  = "mcp-conform-cedar"
	toSecond = "mcp-conform-walnut"
)

// answerInOtherOrder makes two concurrent calls during which the server samples, and responds to
// the later request first. It does so twice, because the result of the tool may depend on
// something else.
func answerInOtherOrder(ctx context.Context, t *suite.T) {
	for _, tool := range samplingTools(t) {
		var seen *crossedCall
		for range 2 {
			p := callTwice(ctx, t, tool)
			if p == nil {
				break
			}
			if seen = p.findCrossedCall(); seen == nil {
				if p.haveOwnReplies() {
					t.MarkKept(matchedByID)
					return
				}
				break
			}
		}
		if seen != nil {
			t.Report(seen.c, verdict.Deviation{
				Requirement: matchedByID,
				Summary:     "The server takes a response for another of its requests.",
				Permitted:   "the response to each request by its id, in whatever order responses come",
				Seen:        "the result of one call shows what the model said to the other: " + wire.Excerpt(seen.text, 120),
				At:          seen.at,
			})
			return
		}
	}
	t.MarkNotObserved(matchedByID, "no tool sent two sampling requests at once and showed the responses in its results")
}

// twoCalls are two calls of a tool during which the server sampled once each.
type twoCalls struct {
	c             *client.Conversation
	first, second *client.Reply
}

// crossedCall is a call that got the model's response to the other one.
type crossedCall struct {
	c    *client.Conversation
	text string
	at   []int
}

// callTwice makes the calls, the second one after the sampling request of the first has come. It
// returns nil if no two requests are open at once, or a third one came.
func callTwice(ctx context.Context, t *suite.T, tool inventory.Tool) *twoCalls {
	arguments, err := tool.Arguments()
	if err != nil {
		return nil
	}
	c := t.Start(ctx, client.Options{Capabilities: fullCapabilities(t.Revision), Answer: func(m *wire.Message) []byte {
		switch m.Method {
		case spec.MethodPing:
			return wire.NewResult(m.ID, object{})
		case spec.MethodSampling:
			return nil // both get their responses below
		}
		return suite.RefusalOf(m)
	}})
	t.Fence(ctx, c) // a server may send requests unprompted at the beginning
	from := c.Record.Len()
	var calls, questions []wire.ID
	for n := 1; n <= 2; n++ {
		id := c.NewID()
		calls = append(calls, id)
		if c.Send(ctx, c.Request(id, spec.MethodToolsCall, object{"name": tool.Name, "arguments": arguments})) != nil {
			return nil
		}
		_, err := c.Await(ctx, from, func(*transcript.Event) bool {
			questions = samplingRequestIDs(c.Record.From(from))
			return len(questions) == n
		}, client.Within(callTime))
		if err != nil {
			return nil
		}
	}
	if questions[0].Same(questions[1]) {
		return nil
	}
	for i, text := range []string{toSecond, toFirst} {
		if c.Send(ctx, setMember("content", object{"type": "text", "text": text})(&wire.Message{ID: questions[1-i]})) != nil {
			return nil
		}
	}
	p := &twoCalls{c: c, first: c.AwaitResponse(ctx, from, calls[0], client.Within(callTime)), second: c.AwaitResponse(ctx, from, calls[1], client.Within(callTime))}
	if len(samplingRequestIDs(c.Record.From(from))) > 2 {
		return nil // it is not known which of them belong to the calls
	}
	return p
}

// samplingRequestIDs returns the ids of the sampling requests among the events.
func samplingRequestIDs(events []*transcript.Event) []wire.ID {
	var ids []wire.ID
	for _, m := range transcript.Messages(events, transcript.Received) {
		if m.Kind == wire.Request && m.Method == spec.MethodSampling {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func hasText(r *client.Reply, text string) bool {
	return r.Succeeded() && strings.Contains(string(r.Message.Result()), text)
}

// haveOwnReplies reports whether each call shows the model's response to its own request.
func (p *twoCalls) haveOwnReplies() bool {
	return hasText(p.first, toFirst) && hasText(p.second, toSecond)
}

// findCrossedCall returns a call that shows the model's response to the other request and not the
// one to its own; nil if there is none.
func (p *twoCalls) findCrossedCall() *crossedCall {
	switch {
	case hasText(p.first, toSecond) && !hasText(p.first, toFirst):
		return &crossedCall{p.c, string(p.first.Message.Result()), p.first.Positions()}
	case hasText(p.second, toFirst) && !hasText(p.second, toSecond):
		return &crossedCall{p.c, string(p.second.Message.Result()), p.second.Positions()}
	}
	return nil
}
