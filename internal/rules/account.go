package rules

import (
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// factsOf returns the facts about a request without a response, as known at the end of the
// conversation.
func (s *Session) factsOf(req *Request) discount.RequestFacts {
	late := req.overdue != nil
	f := discount.RequestFacts{
		Waited:     late,
		Refused:    req.refused,
		Illegal:    !req.WellFormed,
		Irregular:  !req.due,
		Withdrawn:  req.IsCancelled(),
		OtherID:    req.misidentified != nil,
		Unreadable: s.output.mayHaveResponse(req),
		Unread:     s.Waits.isUnread(req),
	}
	if !late { // not overdue: one of the following facts may explain why no response came
		f.Disordered = s.brokeOrder
		f.Stopped = s.Ending.isByClient()
		f.ServerEnded = s.OutputEnded
		f.Disrupted = req.disrupted
		f.ExchangeJudged = s.Waits.GaveUpOn(req.Event) && s.Waits.isExchangeOver(req)
		return f
	}
	f.AfterIllegal = req.excusable && (req.overdue.Kind == transcript.OutputClosed || !s.hasAnsweredLater(req))
	f.Unsupported = isPing(req) && lacksPing(s)
	return f
}
