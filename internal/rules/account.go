package rules

import (
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// factsOf returns what is known of a request without a response, at the end of
// the conversation.
func (s *Session) factsOf(a *Asked) discount.RequestFacts {
	late := a.overdue != nil
	f := discount.RequestFacts{
		Waited:     late,
		Refused:    a.refused,
		Illegal:    !a.WellFormed,
		Irregular:  !a.due,
		Withdrawn:  a.Cancelled,
		Mistaken:   a.mistaken != nil,
		Unreadable: s.buried(a),
	}
	if !late { // the wait was for nothing that a server has to do
		f.Disordered = s.disorderly
		f.Stopped = s.Signalled || s.InputClosed || s.sessionEnded
		f.ServerEnded = s.OutputEnded
		f.Disrupted = a.disrupted
		f.ExchangeJudged = s.givenUp[a.Event.Seq] && s.over(a)
		return f
	}
	f.AfterIllegal = a.excusable && (a.overdue.Kind == transcript.OutputClosed || !s.outlived(a))
	f.Unsupported = isPing(a) && lacksPing(s)
	return f
}

// Account says what became of one JSON-RPC request of the client.
type Account struct {
	Request  *Asked
	Discount *discount.Discount // why a missing response does not count; nil where it came, or counts
}

// Open reports whether the request has neither a response nor a discount: it is
// then a deviation from base.request-answered.
func (a Account) Open() bool { return len(a.Request.Responses) == 0 && a.Discount == nil }

// Accounts returns what became of each request, in the order in which they were
// sent. It is complete once the conversation is over.
func (s *Session) Accounts() []Account {
	s.attributed()
	out := make([]Account, 0, len(s.requests))
	for _, a := range s.requests {
		account := Account{Request: a}
		if len(a.Responses) == 0 {
			account.Discount = discount.ForRequest(s.factsOf(a))
		}
		out = append(out, account)
	}
	return out
}
