package clientfeatures

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	resultsAlone      = "sampling.tool-result.alone"
	usesAnswered      = "sampling.tool-use.answered"
	resultMatches     = "sampling.tool-result.matches-id"
	replyToStopReason = "sampling.tool-use.reply-to-stop-reason"
	roles             = "sampling.tool-use.roles"
	iterationLimit    = "sampling.tool-use.iteration-limit"
	resultConforms    = "sampling.tool-result.structured-conforms"
)

func toolRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.sampling-tool-messages",
			Title:        "tool uses and tool results are in messages of their role, and results are alone",
			Requirements: []string{resultsAlone, roles},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ServerRequest(spec.MethodSampling): judgeToolMessages}}),
		},
		{
			ID:           "rule.sampling-tool-balance",
			Title:        "each tool use has its result in the next message, and each result belongs to a tool use",
			Requirements: []string{usesAnswered, resultMatches},
			Start:        toolUseBalance,
		},
		{
			ID:           "rule.sampling-tool-loop",
			Title:        "tool uses get their results in the next request, and loops end",
			Requirements: []string{replyToStopReason, iterationLimit},
			Start:        toolLoops,
		},
		{
			ID:           "rule.sampling-structured-results",
			Title:        "structured tool results fit the output schema of the tool that was offered",
			Requirements: []string{resultConforms},
			Start:        structuredResults,
		},
	}
}

func judgeToolMessages(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	for i, m := range samplingMessages(obs.Message.Params()) {
		d := verdict.Deviation{Seen: fmt.Sprintf("in /params/messages/%d: %s", i, rules.Excerpt(m.raw)), At: rules.PositionsOf(obs.Event), Pointer: pointerToMessage(obs, i)}
		switch {
		case len(m.results) > 0 && m.role == "user" && m.others+len(m.uses) > 0:
			d.Requirement, d.Summary = resultsAlone, "The server mixes tool results with other content in one message."
			d.Permitted = "only tool results"
			out.Report(d)
		case len(m.results) > 0 && m.role == "user":
			out.MarkObserved(resultsAlone)
		}
		switch {
		case m.role != "user" && m.role != "assistant" || len(m.uses)+len(m.results) == 0:
		case len(m.uses) > 0 && m.role == "user", len(m.results) > 0 && m.role == "assistant":
			d.Requirement, d.Summary = roles, "The server puts a tool use or tool result into the wrong role."
			d.Permitted = "tool uses from the assistant, tool results from the user"
			out.Report(d)
		default:
			out.MarkObserved(roles)
		}
	}
}

// pointerToMessage returns the pointer to a message of a sampling request, counted from 0, in the
// message that carries the request.
func pointerToMessage(obs *rules.Observation, i int) string {
	return obs.PointerToParam("messages/" + strconv.Itoa(i))
}

// toolUseBalance judges whether tool uses and tool results match each other. It tracks the tool
// uses of the whole conversation, because a server may omit the beginning of the history.
func toolUseBalance() rules.Fold {
	known := map[string]bool{}
	learn := func(m samplingMessage) {
		for _, u := range m.uses {
			known[u.id] = true
		}
	}
	return rules.Fold{OnMessage: rules.Handlers{
		rules.ClientReply(spec.MethodSampling): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
			learn(readContent("assistant", obs.Message.ResultAt("/content")))
		},
		rules.ServerRequest(spec.MethodSampling): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			messages := samplingMessages(obs.Message.Params())
			for i, m := range messages {
				var next samplingMessage
				if i+1 < len(messages) {
					next = messages[i+1]
				}
				learn(m)
				unknown := unknownResultID(m, known)
				if unknown != "" {
					out.Report(verdict.Deviation{
						Requirement: resultMatches,
						Summary:     "The server's tool result names an unknown tool use.",
						Permitted:   "the id of an earlier tool use",
						Seen:        "toolUseId " + rules.Excerpt(wire.Quote(unknown)),
						At:          rules.PositionsOf(obs.Event),
						Pointer:     pointerToMessage(obs, i),
					})
				} else if len(m.results) > 0 {
					out.MarkObserved(resultMatches)
				}
				judgeToolResults(i, m, next, known, obs, out)
			}
		},
	}}
}

// unknownResultID returns the id of a result that matches no tool use, or "".
func unknownResultID(m samplingMessage, known map[string]bool) string {
	for _, r := range m.results {
		if r.id != "" && !known[r.id] {
			return r.id
		}
	}
	return ""
}

// judgeToolResults judges the message that follows m, the message i, which may have tool uses. If a result in it has an
// unknown id, only that is reported.
func judgeToolResults(i int, m, next samplingMessage, known map[string]bool, obs *rules.Observation, out *rules.Reporter) {
	if m.role != "assistant" || len(m.uses) == 0 {
		return
	}
	open := slices.IndexFunc(m.uses, func(u toolUse) bool { return u.id != "" && !next.hasResultFor(u.id) })
	switch {
	case open < 0:
		out.MarkObserved(usesAnswered)
	case unknownResultID(next, known) != "":
		out.MarkReportedElsewhere(usesAnswered)
	default:
		out.Report(verdict.Deviation{
			Requirement: usesAnswered,
			Summary:     "The server's sampling request lacks the result of a tool use.",
			Permitted:   "a user message with a result for each tool use",
			Seen:        "no result for the tool use " + rules.Excerpt(wire.Quote(m.uses[open].id)),
			At:          rules.PositionsOf(obs.Event),
			Pointer:     pointerToMessage(obs, i),
		})
	}
}

// structuredResults validates tool results against the output schemas of the tools in the same
// request.
func structuredResults() rules.Fold {
	names := map[string]string{} // tool names by the id of the tool use
	learn := func(m samplingMessage) {
		for _, u := range m.uses {
			names[u.id] = u.name
		}
	}
	return rules.Fold{OnMessage: rules.Handlers{
		rules.ClientReply(spec.MethodSampling): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
			learn(readContent("assistant", obs.Message.ResultAt("/content")))
		},
		rules.ServerRequest(spec.MethodSampling): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			for i, m := range samplingMessages(obs.Message.Params()) {
				learn(m)
				for _, r := range m.results {
					judgeStructured(s, obs, i, r, names[r.id], out)
				}
			}
		},
	}}
}

// judgeStructured judges the result r of a tool use, in the message i.
func judgeStructured(s *rules.Session, obs *rules.Observation, i int, r toolResult, tool string, out *rules.Reporter) {
	content := wire.At(r.raw, "/structuredContent")
	if content == nil || tool == "" || string(wire.At(r.raw, "/isError")) == "true" {
		return
	}
	for _, t := range wire.Elements(obs.Message.ParamAt("/tools")) {
		name, _ := wire.Text(wire.At(t, "/name"))
		output := wire.At(t, "/outputSchema")
		if name != tool || output == nil {
			continue
		}
		wrong := schema.For(s.Revision()).CheckStructuredContent(output, content)
		if len(wrong) == 0 {
			out.MarkObserved(resultConforms)
			return
		}
		out.Report(verdict.Deviation{
			Requirement: resultConforms,
			Summary:     "The server's structured tool result breaks the tool's outputSchema.",
			Permitted:   wrong[0].Permitted,
			Seen:        rules.Excerpt(wrong[0].Seen) + " in structuredContent",
			At:          rules.PositionsOf(obs.Event),
			Pointer:     pointerToMessage(obs, i) + r.at + "/structuredContent",
		})
		return
	}
}
