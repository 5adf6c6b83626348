package clientfeatures

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// maxRounds is how many rounds a loop may have if the model never stops. The specification gives no
// number; more rounds than this count as no limit.
const maxRounds = 50

// toolUseRound is a response of the client in which the model wants to call tools.
type toolUseRound struct {
	uses    []toolUse
	number  int               // the number of the round in its loop, from 1
	request *transcript.Event // the server's sampling request
	event   *transcript.Event // the client's response or, once the loop has continued, the server's next request
}

// toolLoops follows the rounds of each tool loop, in which the server returns tool results to the
// model until the model stops calling tools. A server may end a loop by returning no results, but a
// server that returns some results has to return all.
func toolLoops() rules.Fold {
	var open []toolUseRound
	return rules.Fold{OnMessage: rules.Handlers{
		rules.ClientReply(spec.MethodSampling): func(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
			reason, _ := wire.Text(obs.Message.ResultAt("/stopReason"))
			uses := readContent("assistant", obs.Message.ResultAt("/content")).uses
			if reason != "toolUse" || len(uses) == 0 || !s.ClientDeclares(obs.Request, "sampling.tools") {
				return
			}
			number := 1
			for _, r := range open {
				if r.event == obs.ServerRequest.Event { // this request continued the loop after r
					number = r.number + 1
				}
			}
			open = append(open, toolUseRound{uses: uses, number: number, request: obs.ServerRequest.Event, event: obs.Event})
		},
		rules.ServerRequest(spec.MethodSampling): func(_ *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			messages := samplingMessages(obs.Message.Params())
			for i := range open {
				if r := &open[i]; r.uses != nil && hasToolUses(messages, r.uses) {
					judgeReply(*r, messages, obs, out)
					judgeLength(*r, obs, out)
					r.uses, r.event = nil, obs.Event // the response to this request is the next round
				}
			}
		},
		rules.ResultOf(""): func(_ *rules.Session, obs *rules.Observation, out *rules.Reporter) { open = endLoops(open, obs, out) },
		rules.ErrorTo(""):  func(_ *rules.Session, obs *rules.Observation, out *rules.Reporter) { open = endLoops(open, obs, out) },
	}}
}

func hasToolUses(messages []samplingMessage, uses []toolUse) bool {
	for _, m := range messages {
		for _, u := range uses {
			if u.id != "" && (m.hasUse(u.id) || m.hasResultFor(u.id)) {
				return true
			}
		}
	}
	return false
}

// judgeReply judges the request that continues the loop after a round. A tool use that is in the
// request without its result is judged by another rule.
func judgeReply(r toolUseRound, messages []samplingMessage, obs *rules.Observation, out *rules.Reporter) {
	for _, u := range r.uses {
		called, answered := false, false
		for _, m := range messages {
			called = called || m.hasUse(u.id)
			answered = answered || m.hasResultFor(u.id)
		}
		switch {
		case answered || u.id == "":
		case called:
			out.MarkReportedElsewhere(replyToStopReason)
			return
		default:
			out.Report(verdict.Deviation{
				Requirement: replyToStopReason,
				Summary:     "The server returns results for only some of the model's tool uses.",
				Permitted:   "a result for each tool use of the model, or no further request",
				Seen:        "no result for the tool use " + rules.Excerpt(wire.Quote(u.id)),
				At:          rules.PositionsOf(r.request, r.event, obs.Event),
				Pointer:     obs.PointerToParam("messages"),
				Earlier:     "/result/content",
			})
			return
		}
	}
	out.MarkObserved(replyToStopReason)
}

// judgeLength judges the length of a loop. A server that permits no further tools has reached its
// limit.
func judgeLength(r toolUseRound, obs *rules.Observation, out *rules.Reporter) {
	choice, _ := wire.Text(obs.Message.ParamAt("/toolChoice/mode"))
	switch {
	case r.number > 1 && choice == "none":
		out.MarkObserved(iterationLimit)
	case r.number > maxRounds:
		out.Report(verdict.Deviation{
			Requirement: iterationLimit,
			Summary:     "The server lets the model use tools without a limit.",
			Permitted:   fmt.Sprintf("a limit on the number of rounds; more than %d count as no limit", maxRounds),
			Seen:        fmt.Sprintf("the request after round %d", r.number),
			At:          rules.PositionsOf(r.request, r.event, obs.Event),
		})
	}
}

// endLoops returns the rounds that are still open after obs, a response of the server. obs ends the
// rounds whose sampling request came after obs.Request was sent. If a round that it ends is not the
// first of its loop, and the server did not return results for the tools that the model wanted to
// call, the server has limited the loop.
func endLoops(open []toolUseRound, obs *rules.Observation, out *rules.Reporter) []toolUseRound {
	var left []toolUseRound
	for _, r := range open {
		switch {
		case r.request.Seq < obs.Request.Event.Seq:
			left = append(left, r)
		case r.uses != nil && r.number > 1:
			out.MarkObserved(iterationLimit)
		}
	}
	return left
}
