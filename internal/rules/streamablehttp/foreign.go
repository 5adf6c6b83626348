package streamablehttp

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// judgeForeignMessages judges the stream of GET x, whose Last-Event-ID is not the id of any event
// in the session of x. The stream may deliver anything that belongs to the session, but nothing
// from another session.
func (v *view) judgeForeignMessages(x *exchange, out *rules.Reporter) {
	for _, p := range x.events {
		owner := v.ownerInOtherSession(p, x)
		if owner == nil {
			continue
		}
		out.Report(verdict.Deviation{
			Requirement: noCross,
			Summary:     "The server resumes the stream of another session.",
			Permitted:   "a refusal, or messages for the session that sent the GET",
			Seen:        rules.Excerpt(p.Raw),
			At:          positionsOf(owner.Event, x.Request, p.Event),
		})
		return
	}
}

// ownerInOtherSession returns the request of another session to which a message on x is the
// response or progress; nil if the message may belong to the session of x.
func (v *view) ownerInOtherSession(p streamEvent, x *exchange) *rules.Request {
	if p.Kind != transcript.Received || p.IsCut() || x.session == "" {
		return nil
	}
	if owner, _ := v.requestOfProgress(p); owner != nil {
		return v.foreignRequest(owner, x)
	}
	m := responseIn(p)
	if m == nil || !m.ID.IsPresent() || m.ID.IsNull() {
		return nil
	}
	var other *rules.Request
	for _, req := range v.s.RequestsWithID(m.ID) {
		if other = v.foreignRequest(req, x); other == nil {
			return nil
		}
	}
	return other
}

// foreignRequest returns req if it was sent in a session other than that of x, and otherwise nil.
func (v *view) foreignRequest(req *rules.Request, x *exchange) *rules.Request {
	if at := v.exchangeOf(req.Event); at != nil && at.session != "" && at.session != x.session {
		return req
	}
	return nil
}
