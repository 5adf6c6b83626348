package clientfeatures

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// maxRounds is how often a server may ask on behalf of a model that never
// comes to an end. No number is given anywhere; this many is no limit.
const maxRounds = 50

// round is a reply of the client in which the model wants to call tools.
type round struct {
	uses   []use
	number int // in its loop, from 1
	asked  *transcript.Event
	event  *transcript.Event
}

// loops follows the rounds. A server that answers none of them has ended the
// loop, as it may; one that answers some of them has to answer all.
func loops() rules.Fold {
	var open []round
	return rules.Fold{Hear: rules.Hears{
		rules.ClientReply(spec.MethodSampling): func(s *rules.Session, h *rules.Heard, _ *rules.Out) {
			reason, _ := wire.Text(wire.At(h.Message.Result(), "/stopReason"))
			uses := read("assistant", wire.At(h.Message.Result(), "/content")).uses
			if !hasTools(s) || reason != "toolUse" || len(uses) == 0 || !s.ClientDeclared("sampling.tools") {
				return
			}
			number := 1
			for _, r := range open {
				if r.event == h.Posed.Event { // the request that went on from r
					number = r.number + 1
				}
			}
			open = append(open, round{uses: uses, number: number, asked: h.Posed.Event, event: h.Event})
		},
		rules.ServerRequest(spec.MethodSampling): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
			if !hasTools(s) {
				return
			}
			messages := conversation(h.Message.Params())
			for i := range open {
				if r := &open[i]; r.uses != nil && mentioned(messages, r.uses) {
					replied(*r, messages, h, out)
					limited(*r, h, out)
					r.uses, r.event = nil, h.Event // what comes back is the next round
				}
			}
		},
		rules.ResultOf(""): func(_ *rules.Session, h *rules.Heard, out *rules.Out) { open = ended(open, h, out) },
		rules.ErrorTo(""):  func(_ *rules.Session, h *rules.Heard, out *rules.Out) { open = ended(open, h, out) },
	}}
}

func mentioned(messages []said, uses []use) bool {
	for _, m := range messages {
		for _, u := range uses {
			if u.id != "" && (m.called(u.id) || m.answers(u.id)) {
				return true
			}
		}
	}
	return false
}

// replied judges the request that goes on from a round. A tool use that stands
// in it without its result is judged there.
func replied(r round, messages []said, h *rules.Heard, out *rules.Out) {
	for _, u := range r.uses {
		called, answered := false, false
		for _, m := range messages {
			called = called || m.called(u.id)
			answered = answered || m.answers(u.id)
		}
		switch {
		case answered || u.id == "":
		case called:
			out.Elsewhere(replyToStopReason)
			return
		default:
			out.Found(verdict.Deviation{
				Requirement: replyToStopReason,
				Summary:     "The server returns results for only some of the model's tool uses.",
				Permitted:   "a result for each tool use of the model, or no further request",
				Seen:        "nothing of the tool use " + rules.Excerpt(wire.Quote(u.id)),
				At:          rules.At(r.asked, r.event, h.Event),
			})
			return
		}
	}
	out.Subject(replyToStopReason)
}

// limited judges how long a loop has become. Whoever allows no tools any more
// has come to the limit.
func limited(r round, h *rules.Heard, out *rules.Out) {
	choice, _ := wire.Text(wire.At(h.Message.Params(), "/toolChoice/mode"))
	switch {
	case r.number > 1 && choice == "none":
		out.Subject(iterationLimit)
	case r.number > maxRounds:
		out.Found(verdict.Deviation{
			Requirement: iterationLimit,
			Summary:     "The server lets the model use tools without a limit.",
			Permitted:   fmt.Sprintf("an end after some rounds; %d are taken for no limit", maxRounds),
			Seen:        fmt.Sprintf("the request after round %d", r.number),
			At:          rules.At(r.asked, r.event, h.Event),
		})
	}
}

// ended forgets the rounds that came after a request which now has its answer.
// Where the model wanted to go on, and had done so before, the server has set
// the limit.
func ended(open []round, h *rules.Heard, out *rules.Out) []round {
	var left []round
	for _, r := range open {
		switch {
		case r.asked.Seq < h.Asked.Event.Seq:
			left = append(left, r)
		case r.uses != nil && r.number > 1:
			out.Subject(iterationLimit)
		}
	}
	return left
}
