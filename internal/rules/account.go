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
		Mistaken:   req.misidentified != nil,
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

// An Account is the outcome of one JSON-RPC request of the client.
type Account struct {
	Request  *Request
	Discount *discount.Discount // why a missing response does not count; nil if a response came, or if its absence counts
}

// Open reports whether the request has neither a response nor a discount. It is then a deviation
// from base.request-answered.
func (a Account) Open() bool { return len(a.Request.Responses) == 0 && a.Discount == nil }

// Accounts returns the outcome of each request, in the order in which they were sent. It is
// complete once the conversation is over.
func (s *Session) Accounts() []Account {
	s.attributedStrays()
	out := make([]Account, 0, len(s.requests))
	for _, req := range s.requests {
		account := Account{Request: req}
		if len(req.Responses) == 0 {
			account.Discount = discount.ForRequest(s.factsOf(req))
		}
		out = append(out, account)
	}
	return out
}
