package script

import (
	"errors"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// If a server handles requests one by one, it responds to nothing after a request that it never
// finishes. That is a single fault: the first request without a response shows it, and the missing
// responses to later requests follow from it. The method of the first request does not matter,
// because after it even a ping gets no response. A tool call is different, because it may take any
// time; see the discount "held-up" in internal/discount.

const (
	// stuckAfter is how long the server must send no response, after a request that timed out,
	// before the player stops sending.
	stuckAfter = time.Second
	// afterHang is how long a hung server has to exit after its input was closed.
	afterHang = 100 * time.Millisecond
)

// firstStuck returns the first request that expects a response and has none, provided that no later
// request has a response. It returns nil if there is no such request, or if a pending tool call may
// delay the others.
func (l *liveConversation) firstStuck() *request {
	var first *request
	for i := l.unansweredFrom(); i < len(l.sentRequests); i++ {
		a := &l.sentRequests[i]
		if discount.MayHoldUp(a.method) {
			return nil
		}
		if a.cancelled || a.odd {
			continue
		}
		if first == nil {
			first = a
		}
		if isProtocolDefined(a.method) && !a.invalidParams {
			return first // a tool call after request a delays neither a nor first
		}
	}
	return first
}

// seemsStuck reports whether the server has sent no response for so long that further requests
// would most likely get none either.
func (r *runner) seemsStuck(l *liveConversation) bool {
	if r.Patient || !l.timedOut {
		return false
	}
	l.readEvents(l.c.Record.From(l.at))
	a, least := l.firstStuck(), r.waitMidScript(l)
	if r.isKnownToHang(l) {
		least += authorTime
	} else {
		least += min(r.Timeout, stuckAfter)
	}
	return a != nil && l.c.Record.Elapsed()-max(l.lastResponseAt, a.at) >= least
}

// waitMidScript returns the longest wait for a response in the middle of the script. Only at the
// end does the player wait for the whole timeout. The wait is shorter after a request that is known
// to hang the server.
func (r *runner) waitMidScript(l *liveConversation) time.Duration {
	if r.isKnownToHang(l) {
		return min(r.Timeout, r.HangTimeout)
	}
	return min(r.Timeout, MidScript)
}

// isKnownToHang reports whether the first request after the last response has a method that is
// known to hang the server.
func (r *runner) isKnownToHang(l *liveConversation) bool {
	if r.Hangs == nil {
		return false
	}
	i := l.unansweredFrom()
	return i < len(l.sentRequests) && r.Hangs(l.sentRequests[i].method)
}

// unansweredFrom returns the index in sentRequests after the last request that has a response.
func (l *liveConversation) unansweredFrom() int {
	for i := len(l.sentRequests); ; i-- {
		if i == 0 || l.responseTo(l.sentRequests[i-1].id) != nil {
			return i
		}
	}
}

// cancelAuthorRequests cancels the pending requests that run code of the server's author, except
// tasks and the request spared, which may be nil.
func (r *runner) cancelAuthorRequests(l *liveConversation, spared *request) {
	for i := range l.sentRequests {
		a := &l.sentRequests[i]
		if a == spared || l.responseTo(a.id) != nil || isProtocolDefined(a.method) || a.cancelled || a.asTask || a.cancelledAtEnd {
			continue
		}
		a.cancelledAtEnd = true
		_ = l.c.Cancel(r.ctx, a.id, "the client leaves")
		if r.CancelsOpen {
			l.markCancelled(a.id)
		}
	}
}

// confirmHalt waits for the rest of the timeout of request a if the server seems stuck, and reports
// whether that request and all later ones got no response. If so, it records the missing response,
// unless the request is known to hang the server. Call it before cancelling the request, because a
// cancelled request expects no response.
func (r *runner) confirmHalt(l *liveConversation, a *request) bool {
	l.readEvents(l.c.Record.From(l.at))
	seq, ok := l.positionOf(a.id)
	if !ok {
		return false
	}
	heard := l.lastResponseAt
	moves := func() bool { return l.lastResponseAt != heard || l.responseTo(a.id) != nil }
	if !l.Unresponsive && !r.seemsStuck(l) && !r.checkUnresponsive(l) {
		return false
	}
	left := r.Timeout - (l.c.Record.Elapsed() - l.c.Record.From(seq)[0].At)
	if r.isKnownToHang(l) {
		left = 0 // the hang is already known
	}
	if l.waitUntil(r.ctx, max(left, min(r.Timeout, authorTime)), moves) || !l.c.Alive() || r.ctx.Err() != nil {
		return false
	}
	if !r.isKnownToHang(l) {
		l.Unresponsive = true
		r.giveUp(l, a)
	}
	return true
}

// checkUnresponsive sends a harmless request, and reports whether it gets no response in time.
func (r *runner) checkUnresponsive(l *liveConversation) bool {
	r.awaitRateLimit()
	var reply *client.Reply
	if r.isKnownToHang(l) {
		reply = l.c.Do(r.ctx, l.c.HarmlessMethod(), nil, client.Within(min(r.Timeout, r.HangTimeout)))
	} else {
		reply = l.c.Do(r.ctx, l.c.HarmlessMethod(), nil)
	}
	return errors.Is(reply.Err, client.ErrUnanswered)
}

// giveUp records that the response to request a did not come in time.
func (r *runner) giveUp(l *liveConversation, a *request) {
	if seq, ok := l.positionOf(a.id); ok {
		l.c.Record.Add(transcript.Event{Kind: transcript.GaveUp, Of: seq})
	}
}

// close ends the connection. A hung server (halted) does not notice that its input is closed, so it
// gets less time to exit.
func (l *liveConversation) close(halted bool) {
	if !halted {
		l.c.Close()
		return
	}
	l.c.Shutdown(transport.Patience{AfterClose: afterHang, AfterTerm: time.Second})
}

// attributeToHungRequest attributes missing responses to the first request without a response, if
// no later request has one: it makes the first GaveUp event refer to that request, and replaces the
// other GaveUp events with remarks.
func (c *Conversation) attributeToHungRequest() {
	if !slices.ContainsFunc(c.Events, func(e *transcript.Event) bool { return e.Kind == transcript.GaveUp }) {
		return
	}
	d := transcript.DialogueOf(c.Events)
	before, hung := firstHanging(d)
	if hung == nil {
		return
	}
	call := discount.FirstHoldingRequest(d)
	if call != nil && call.Event.Seq <= hung.Seq {
		return
	}
	events, moved := slices.Clone(c.Events), false
	for i, e := range events {
		switch {
		case e.Kind != transcript.GaveUp || e.Of < hung.Seq || call != nil && e.Of > call.Event.Seq:
		case moved:
			events[i] = &transcript.Event{Seq: e.Seq, At: e.At, Kind: transcript.Remark, Detail: "no longer awaited, because an earlier request got no response"}
		default:
			moved = true
			given := *e
			given.Of = hung.Seq
			events[i] = &given
		}
	}
	if moved {
		c.Events, c.Hung, c.Before = events, hung, before
	}
}

// firstHanging returns as hung the first request that must get a response and has none, provided
// that no later request has a response; otherwise hung is nil. A request need not get a response if
// it was cancelled, has an invalid id, is part of a batch, or reuses the id of an earlier request.
// The result before is the first request before hung that has no response and need not get one, or
// nil.
func firstHanging(d *transcript.Dialogue) (before *wire.Message, hung *transcript.Event) {
	for _, r := range d.TrailingUnanswered() {
		id := r.Message.ID
		switch {
		case d.RequestsWithID(id)[0] == r && (id.IsString() || id.IsInteger()) && !r.Event.Frame.Batch && len(r.Cancellations) == 0:
			return before, r.Event
		case before == nil:
			before = r.Message
		}
	}
	return nil, nil
}
