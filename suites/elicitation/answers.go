package elicitation

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	allActions           = "elicitation.response.all-actions-handled-2025-06-18"
	clientError          = "elicitation.response.client-error-handled"
	acceptWithoutContent = "elicitation.response.url-accept-without-content"
)

type object = map[string]any

// isURLMode reports whether the user is sent to a page.
func isURLMode(m *wire.Message) bool {
	mode, _ := wire.Text(wire.At(m.Params(), "/mode"))
	return mode == "url"
}

// acceptAny fills in a form, or agrees to visit a page. A form that is not
// understood is declined.
func acceptAny(m *wire.Message) []byte {
	if isURLMode(m) {
		return wire.NewResult(m.ID, object{"action": "accept"})
	}
	content, ok := client.FillIn(wire.At(m.Params(), "/requestedSchema"))
	if !ok {
		return wire.NewResult(m.ID, object{"action": "decline"})
	}
	return wire.NewResult(m.ID, object{"action": "accept", "content": content})
}

func respondWith(action string) func(m *wire.Message) []byte {
	return func(m *wire.Message) []byte { return wire.NewResult(m.ID, object{"action": action}) }
}

func respondWithError(code spec.Code, message string) func(m *wire.Message) []byte {
	return func(m *wire.Message) []byte { return wire.NewError(m.ID, int64(code), message, nil) }
}

// responseVariation is one way to answer, and what is to be said of a server that does
// not cope with it.
type responseVariation struct {
	requirement string
	answer      func(m *wire.Message) []byte
	works       bool // what follows may take long
	summary     string
}

var (
	declining = responseVariation{allActions, respondWith("decline"), false, "The server does not answer a call after the user declines."}
	accepting = responseVariation{allActions, acceptAny, true, "The server does not answer a call after the user accepts."}
)

func responseVariations() []responseVariation {
	return []responseVariation{
		accepting,
		{allActions, respondWith("cancel"), false, "The server does not answer a call after the user cancels the form."},
		{clientError, respondWithError(spec.CodeInternal, "The form can't be shown"), false, "The server does not answer a call after the client fails."},
		{clientError, respondWithError(spec.CodeInvalidParams, "The form is not understood"), false, "The server does not answer a call after the client refuses."},
	}
}

const (
	// leastTime is what a call gets at least that the server may have forgotten.
	leastTime = 5 * time.Second
	// maxMissed is how many such calls a server may cost us.
	maxMissed = 2
)

// compareResponses holds each way to answer against another by which the tool is known
// to come to its end: declining against accepting, all else against declining.
func compareResponses(ctx context.Context, t *suite.T) {
	tools := elicitingTools(t)
	caps := client.AllCapabilities(t.Revision)
	script := client.NewAnswers(caps)
	c := t.Start(ctx, client.Options{Capabilities: caps, Answer: script.Answer})
	missed := 0
	try := func(tool inventory.Tool, v responseVariation, limit time.Duration) *suite.Nested {
		script.Set(spec.MethodElicit, v.answer)
		n := suite.Call(ctx, c, tool, limit)
		if n != nil && errors.Is(n.Err, client.ErrUnanswered) {
			missed++
		}
		return n
	}
	for _, tool := range tools {
		declined := try(tool, declining, leastTime)
		if declined == nil {
			continue
		}
		if !declined.HasRequest(spec.MethodElicit) {
			repeatAfterVisit(ctx, c, tool, declined)
			continue
		}
		if errors.Is(declined.Err, client.ErrUnanswered) && !declined.EndedServer(ctx, c) && !try(tool, accepting, leastTime).Answered() {
			continue // slow whatever is answered
		}
		if !declining.judge(ctx, t, c, declined) || missed >= maxMissed {
			return
		}
		if !declined.Answered() {
			continue
		}
		limit := max(leastTime, 20*declined.Took)
		for _, v := range responseVariations() {
			n := try(tool, v, limit)
			if !v.judge(ctx, t, c, n) || missed >= maxMissed {
				return
			}
			if m := n.Request(spec.MethodElicit); v.requirement == allActions && m != nil && isURLMode(m) {
				judgeVisit(t, c, declined, n)
			}
		}
		sendMisfit(ctx, t, c, script, tool, limit)
	}
}

// repeatAfterVisit repeats a call that was refused until a page is visited, as a client
// does whose user has been there.
func repeatAfterVisit(ctx context.Context, c *client.Conversation, tool inventory.Tool, n *suite.Nested) {
	if n.Answered() {
		if code, ok := n.Message.ErrorCode(); ok && spec.Code(code) == spec.CodeURLElicitation {
			suite.Call(ctx, c, tool, callTime)
		}
	}
}

// judge judges the effect of the answer, and whether the server still responds.
func (v responseVariation) judge(ctx context.Context, t *suite.T, c *client.Conversation, n *suite.Nested) bool {
	if !n.HasRequest(spec.MethodElicit) {
		return n.Answered() // this time it did not ask, and nobody knows why
	}
	d := verdict.Deviation{
		Requirement: v.requirement, Summary: v.summary, Permitted: "a response to the original request, and a server that continues",
		Seen: suite.Describe(n.Reply), At: n.Positions(spec.MethodElicit),
	}
	switch {
	case n.Answered():
		if err := c.Fence(ctx); errors.Is(err, client.ErrEnded) {
			t.Deviates(c, d)
			return false
		}
		t.Kept(v.requirement)
	case errors.Is(n.Err, client.ErrEnded), n.EndedServer(ctx, c):
		t.Deviates(c, d)
		return false
	case errors.Is(n.Err, client.ErrUnanswered):
		if c.Fence(ctx) != nil {
			return false // slow, or gone: nothing is known
		}
		if !v.works {
			t.Deviates(c, d)
		}
	default:
		return false
	}
	return true
}

// judgeVisit judges what follows when the user agrees to visit a page, for which
// there is nothing to hand in. That the tool wants to see the visit first is
// its good right.
func judgeVisit(t *suite.T, c *client.Conversation, declined, n *suite.Nested) {
	if !n.Answered() || declined.Message.IsError() {
		return
	}
	t.Expect(c, n.Reply, n.At(spec.MethodElicit)).Keeps(acceptWithoutContent, "The server's call fails after the user agrees to open a URL.",
		suite.Satisfy("a result, or the error -32042; declining gave a result", func(r *client.Reply) bool {
			code, failed := r.Message.ErrorCode()
			return !failed || spec.Code(code) == spec.CodeURLElicitation
		}))
}
