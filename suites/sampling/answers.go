package sampling

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	anyModel         = "sampling.hints.advisory"
	anyStopReason    = "sampling.result.stop-reason-open"
	anyContent       = "sampling.result.content-array"
	rejectionHandled = "sampling.rejection.handled-2024-11-05"
	contentValidated = "sampling.validates-content"
)

type object = map[string]any

// replyWithChange returns a function that responds with an ordinary sampling result, after change
// has changed it.
func replyWithChange(change func(result object)) func(m *wire.Message) []byte {
	return func(m *wire.Message) []byte {
		r := object{
			"role": "assistant", "content": object{"type": "text", "text": "mcp-conform"},
			"model": hintedModel(m), "stopReason": "endTurn",
		}
		change(r)
		return wire.NewResult(m.ID, r)
	}
}

// hintedModel returns the model of the server's first hint, or the name of this program if there is
// none.
func hintedModel(m *wire.Message) string {
	if name, ok := wire.Text(wire.At(m.Params(), "/modelPreferences/hints/0/name")); ok && name != "" {
		return name
	}
	return "mcp-conform"
}

func setMember(member string, value any) func(m *wire.Message) []byte {
	return replyWithChange(func(r object) { r[member] = value })
}

func removeMember(member string) func(m *wire.Message) []byte {
	return replyWithChange(func(r object) { delete(r, member) })
}

// responseVariation is a way to respond, with the summary for a server that can't handle it.
type responseVariation struct {
	requirement string
	answer      func(m *wire.Message) []byte
	// legal is set if a tool that succeeds with the plain response has to succeed with this one.
	// Otherwise the call only has to end, in whatever way.
	legal   bool
	summary string
	// noted selects the requests for which a failure is only noted, with notedAs as summary.
	noted   func(request *wire.Message) bool
	notedAs string
}

func responseVariations(r spec.Revision) []responseVariation {
	array := []any{object{"type": "text", "text": "mcp-conform"}}
	out := []responseVariation{
		{anyModel, setMember("model", "some-other-model-of-our-own"), true, "The server's tool fails if another model answers.", nil, ""},
		{anyStopReason, setMember("stopReason", "somethingElse"), true, "The server's tool fails at an unknown stopReason.", nil, ""},
		{anyStopReason, removeMember("stopReason"), true, "The server's tool fails if there is no stopReason.", nil, ""},
		{rejectionHandled, func(m *wire.Message) []byte { return wire.NewError(m.ID, -1, "User rejected sampling request", nil) }, false,
			"The server does not answer a call after the user rejects sampling.", nil, ""},
		{contentValidated, removeMember("content"), false, "The server does not answer a call after a sampling result without content.", nil, ""},
		{contentValidated, setMember("content", object{"type": "image", "data": "%%%", "mimeType": "image/png"}), false,
			"The server does not answer a call after a sampling result with invalid base64.", nil, ""},
	}
	if r.HasSamplingTools() {
		// Many servers accept an array only if they offered tools.
		toolless := func(m *wire.Message) bool { return len(wire.Elements(wire.At(m.Params(), "/tools"))) == 0 }
		out = append(out, responseVariation{anyContent, setMember("content", array), true, "The server's tool fails if sampled content with tools is an array.",
			toolless, "The server's tool fails if sampled content is an array."})
	}
	return out
}

const (
	// leastTime is the minimum time limit for a call that the server may never answer.
	leastTime = 5 * time.Second
	// maxMissed is the number of calls without a response after which the case stops.
	maxMissed = 2
)

// compareResponses compares each way to respond with the plain one, after which the tool is known
// to finish.
func compareResponses(ctx context.Context, t *suite.T) {
	tools := samplingTools(t)
	script := client.NewAnswers(fullCapabilities(t.Revision))
	plainly := replyWithChange(func(object) {})
	script.Set(spec.MethodSampling, plainly)
	c := t.Start(ctx, client.Options{Capabilities: fullCapabilities(t.Revision), Answer: script.Answer})
	missed := 0
	for _, tool := range tools {
		script.Set(spec.MethodSampling, plainly)
		plain := suite.Call(ctx, c, tool, callTime)
		if plain == nil || !plain.Answered() || !plain.HasRequest(spec.MethodSampling) {
			continue
		}
		for _, v := range responseVariations(t.Revision) {
			script.Set(spec.MethodSampling, v.answer)
			n := suite.Call(ctx, c, tool, max(leastTime, 20*plain.Took))
			if errors.Is(n.Err, client.ErrUnanswered) {
				missed++
			}
			if !v.judge(ctx, t, c, plain, n) || missed == maxMissed {
				return
			}
		}
	}
}

// judge judges the effect of the variation. It reports whether the server still responds.
func (v responseVariation) judge(ctx context.Context, t *suite.T, c *client.Conversation, plain, n *suite.ToolCall) bool {
	if n.IsInputRequired() { // the server requests input again, or the client had no response
		return true
	}
	if !n.HasRequest(spec.MethodSampling) {
		return n.Answered() // the server sent no sampling request this time, for unknown reasons
	}
	d := verdict.Deviation{
		Requirement: v.requirement, Summary: v.summary, Permitted: "a response to the original request, and a server that continues",
		Seen: suite.Describe(n.Reply), At: n.Positions(spec.MethodSampling),
	}
	if v.noted != nil && v.noted(n.Request(spec.MethodSampling)) {
		d.Summary, d.Weight = v.notedAs, verdict.OnlyNote
	}
	if v.legal && n.Failed() && !plain.Failed() {
		if !n.Message.IsOverloadError() { // any call can fail with an overload error
			d.Permitted = "the same as for a plain response of a model"
			t.Report(c, d)
		}
		return true
	}
	return n.JudgeEnd(ctx, t, c, d, false)
}

// maxRounds is a little more than the number of rounds that a rule accepts as a limit.
const maxRounds = 53

// runToolLoop responds to sampling requests as a model that calls two tools at once in one round,
// and then as one that does so in maxRounds rounds, which is more than a server should permit.
func runToolLoop(ctx context.Context, t *suite.T) {
	if !t.Revision.HasSamplingTools() {
		t.Skip("the revision has no tools in sampling")
	}
	tools := samplingTools(t)
	script := client.NewAnswers(fullCapabilities(t.Revision))
	c := t.Start(ctx, client.Options{Capabilities: fullCapabilities(t.Revision), Answer: script.Answer})
	for _, tool := range tools {
		m := &model{rounds: 1}
		script.Set(spec.MethodSampling, m.answer)
		n := suite.Call(ctx, c, tool, callTime)
		if n == nil || !n.Answered() || m.called.Load() == 0 {
			continue
		}
		m = &model{rounds: maxRounds}
		script.Set(spec.MethodSampling, m.answer)
		suite.Call(ctx, c, tool, max(leastTime, maxRounds*n.Took))
	}
}

// model simulates a model that calls offered tools for a number of rounds.
type model struct {
	rounds int32
	called atomic.Int32
}

func (m *model) answer(request *wire.Message) []byte {
	offered := wire.Elements(wire.At(request.Params(), "/tools"))
	mode, _ := wire.Text(wire.At(request.Params(), "/toolChoice/mode"))
	if len(offered) == 0 || mode == "none" || m.called.Add(1) > m.rounds {
		return replyWithChange(func(object) {})(request)
	}
	return replyWithChange(func(r object) {
		r["stopReason"] = "toolUse"
		r["content"] = []any{toolUse(request, offered[0], "a"), toolUse(request, offered[len(offered)-1], "b")}
	})(request)
}

// toolUse returns the content block with which a model calls a tool with minimal arguments.
func toolUse(request *wire.Message, tool []byte, suffix string) object {
	name, _ := wire.Text(wire.At(tool, "/name"))
	input, err := generate.Arguments(wire.At(tool, "/inputSchema"))
	if err != nil {
		input = object{}
	}
	id := "mcp-conform-" + request.ID.Key() + "-" + suffix
	return object{"type": "tool_use", "id": id, "name": name, "input": input}
}
