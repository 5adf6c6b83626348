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
	allActionsStateless  = "elicitation.response.all-actions-handled-2026-07-28"
	clientError          = "elicitation.response.client-error-handled"
	acceptWithoutContent = "elicitation.response.url-accept-without-content"
)

type object = map[string]any

// isURLMode reports whether the elicitation sends the user to a page.
func isURLMode(m *wire.Message) bool {
	mode, _ := wire.Text(wire.At(m.Params(), "/mode"))
	return mode == "url"
}

func respondWith(action string) func(m *wire.Message) []byte {
	return func(m *wire.Message) []byte { return wire.NewResult(m.ID, object{"action": action}) }
}

func respondWithError(code spec.Code, message string) func(m *wire.Message) []byte {
	return func(m *wire.Message) []byte { return wire.NewError(m.ID, int64(code), message, nil) }
}

// responseVariation is a way to respond, with the summary for a server that can't handle it.
type responseVariation struct {
	requirement string
	answer      func(m *wire.Message) []byte
	startsWork  bool // the server may work for a long time after the response
	summary     string
}

var (
	declining = responseVariation{allActions, respondWith("decline"), false, "The server does not answer a call after the user declines."}
	accepting = responseVariation{allActions, suite.Accept, true, "The server does not answer a call after the user accepts."}
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
	// leastTime is the minimum time limit for a call that the server may never answer.
	leastTime = 5 * time.Second
	// maxMissed is the number of calls without a response after which the case stops.
	maxMissed = 2
)

// compareResponses compares each way to respond with another one after which the tool is known to
// finish. A call that does not finish after the user declines is compared with one after the user
// accepts, and all other ways are compared with declining.
func compareResponses(ctx context.Context, t *suite.T) {
	tools := elicitingTools(t)
	caps := client.AllCapabilities(t.Revision)
	script := client.NewAnswers(caps)
	c := t.Start(ctx, client.Options{Capabilities: caps, Answer: script.Answer})
	missed := 0
	try := func(tool inventory.Tool, v responseVariation, limit time.Duration) *suite.ToolCall {
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
		if errors.Is(declined.Err, client.ErrUnanswered) && !declined.HasEndedServer(ctx, c) && !try(tool, accepting, leastTime).Answered() {
			continue // the tool is slow, whatever the client responds
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
				judgeAcceptedURL(t, c, declined, n)
			}
		}
		submitInvalidForm(ctx, t, c, script, tool, limit)
	}
}

// repeatAfterVisit repeats a call that was refused until the user visits a page, as a client does
// after the visit.
func repeatAfterVisit(ctx context.Context, c *client.Conversation, tool inventory.Tool, n *suite.ToolCall) {
	if n.Answered() {
		if code, ok := n.Message.ErrorCode(); ok && spec.Code(code) == spec.CodeURLElicitation {
			suite.Call(ctx, c, tool, callTime)
		}
	}
}

// judge judges the effect of the response. It reports whether the server still responds.
func (v responseVariation) judge(ctx context.Context, t *suite.T, c *client.Conversation, n *suite.ToolCall) bool {
	if n.IsInputRequired() { // the server requests input again, or the client had no response
		return true
	}
	requirement := v.requirement
	if requirement == allActions && t.Revision.Era() == spec.Stateless {
		requirement = allActionsStateless
	}
	if !n.HasRequest(spec.MethodElicit) {
		return n.Answered() // the server sent no elicitation this time, for unknown reasons
	}
	d := verdict.Deviation{
		Requirement: requirement, Summary: v.summary, Permitted: "a response to the original request, and a server that continues",
		Seen: suite.Describe(n.Reply), At: n.Positions(spec.MethodElicit),
	}
	return n.JudgeEnd(ctx, t, c, d, v.startsWork)
}

// judgeAcceptedURL judges the result after the user agrees to visit a page. The response to such an
// elicitation has no content. The tool may also refuse the call with error -32042 until the user
// has visited the page.
func judgeAcceptedURL(t *suite.T, c *client.Conversation, declined, n *suite.ToolCall) {
	if !n.Answered() || declined.Message.IsError() {
		return
	}
	t.Expect(c, n.Reply, n.RequestEvent(spec.MethodElicit)).Keeps(acceptWithoutContent, "The server's call fails after the user agrees to open a URL.",
		suite.Satisfy("a result, as after the user declines, or error -32042 (another URL is required)", func(r *client.Reply) bool {
			code, failed := r.Message.ErrorCode()
			return !failed || spec.Code(code) == spec.CodeURLElicitation
		}))
}
