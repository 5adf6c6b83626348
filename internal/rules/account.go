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
		Withdrawn:  req.Cancelled,
		OtherID:    req.misidentified != nil,
		Unreadable: s.buried(req),
		Unread:     s.isUnread(req),
	}
	if !late { // the client did not wait, or waited for something that the server need not do
		f.Disordered = s.brokeOrder
		f.Stopped = s.Signalled || s.InputClosed || s.sessionEnded
		f.ServerEnded = s.OutputEnded
		f.Disrupted = req.disrupted
		f.ExchangeJudged = s.abandoned[req.Event.Seq] && s.over(req)
		return f
	}
	f.AfterIllegal = req.excusable && (req.overdue.Kind == transcript.OutputClosed || !s.outlived(req))
	f.Unsupported = isPing(req) && lacksPing(s)
	return f
}
