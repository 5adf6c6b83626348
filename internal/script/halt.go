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

// A server that handles requests one by one responds to nothing after a request
// that it never finishes. That is one fault, which the first request without a
// response shows; the later ones follow from it. The method of that request does
// not matter, because even a ping gets no response. A tool call is different, because it may take any
// time; see the discount held-up.

const (
	// silence is how long the server must be silent, after a request that timed
	// out, before the player stops sending.
	silence = time.Second
	// afterHang is how long a hung server has to exit after its input is closed.
	afterHang = 100 * time.Millisecond
)

// stuck returns the first request that expects a response and has none, if no
// later request has one either. It returns nil if there is none, or if a tool
// call may delay the others.
func (l *liveConversation) stuck() *request {
	var first *request
	for i := l.silentFrom(); i < len(l.asked); i++ {
		a := &l.asked[i]
		if discount.MayHoldUp(a.method) {
			return nil
		}
		if a.cancelled || a.odd {
			continue
		}
		if first == nil {
			first = a
		}
		if isProtocolDefined(a.method) && !a.params {
			return first // a later call delays neither of the two
		}
	}
	return first
}

// seemsStuck reports whether the server has been silent for so long that further
// requests would get no response either.
func (r *runner) seemsStuck(l *liveConversation) bool {
	if r.Patient || !l.missed {
		return false
	}
	l.read(l.c.Record.From(l.at))
	a, least := l.stuck(), r.waitMidScript(l)
	if r.knownToHang(l) {
		least += authorTime
	} else {
		least += min(r.Timeout, silence)
	}
	return a != nil && l.c.Record.Elapsed()-max(l.heard, a.at) >= least
}

// waitMidScript returns the longest wait for a response before the script
// continues. The whole timeout is granted only at the end. The wait is shorter
// after a request that is known to hang the server.
func (r *runner) waitMidScript(l *liveConversation) time.Duration {
	if r.knownToHang(l) {
		return min(r.Timeout, r.HangTimeout)
	}
	return min(r.Timeout, MidScript)
}

// knownToHang reports whether the first request without a response is known to
// hang the server.
func (r *runner) knownToHang(l *liveConversation) bool {
	if r.Hangs == nil {
		return false
	}
	i := l.silentFrom()
	return i < len(l.asked) && r.Hangs(l.asked[i].method)
}

// silentFrom returns the index of the request from which on no request has a
// response.
func (l *liveConversation) silentFrom() int {
	for i := len(l.asked); ; i-- {
		if i == 0 || l.response(l.asked[i-1].id) != nil {
			return i
		}
	}
}

// leave cancels the pending requests that run code of the server's author,
// except the request but.
func (r *runner) leave(l *liveConversation, but *request) {
	for i := range l.asked {
		a := &l.asked[i]
		if a == but || l.response(a.id) != nil || isProtocolDefined(a.method) || a.cancelled || a.task || a.left {
			continue
		}
		a.left = true
		_ = l.c.Cancel(r.ctx, a.id, "the client leaves")
		if r.CancelsOpen {
			l.cancelled(a.id)
		}
	}
}

// halted reports whether neither this request nor any later one gets a response. That counts as a
// failure after the whole timeout of the request. The request is not cancelled before that, because
// a cancelled request expects no response.
func (r *runner) halted(l *liveConversation, a *request) bool {
	l.read(l.c.Record.From(l.at))
	seq, ok := l.sent(a.id)
	if !ok {
		return false
	}
	heard := l.heard
	moves := func() bool { return l.heard != heard || l.response(a.id) != nil }
	if !l.Unresponsive && !r.seemsStuck(l) && !r.pingUnanswered(l) {
		return false
	}
	left := r.Timeout - (l.c.Record.Elapsed() - l.c.Record.From(seq)[0].At)
	if r.knownToHang(l) {
		left = 0 // the hang is already known
	}
	if l.until(r.ctx, max(left, min(r.Timeout, authorTime)), moves) || !l.c.Alive() || r.ctx.Err() != nil {
		return false
	}
	if !r.knownToHang(l) {
		l.Unresponsive = true
		r.giveUp(l, a)
	}
	return true
}

// pingUnanswered reports whether a ping gets no response.
func (r *runner) pingUnanswered(l *liveConversation) bool {
	r.pace()
	var reply *client.Reply
	if r.knownToHang(l) {
		reply = l.c.Do(r.ctx, l.c.HarmlessMethod(), nil, client.Within(min(r.Timeout, r.HangTimeout)))
	} else {
		reply = l.c.Do(r.ctx, l.c.HarmlessMethod(), nil)
	}
	return errors.Is(reply.Err, client.ErrUnanswered)
}

// giveUp records that a response did not come.
func (r *runner) giveUp(l *liveConversation, a *request) {
	if seq, ok := l.sent(a.id); ok {
		l.c.Record.Add(transcript.Event{Kind: transcript.GaveUp, Of: seq})
	}
}

// close ends the connection. A hung server does not notice that its input is
// closed, so it gets less time to exit.
func (l *liveConversation) close(halted bool) {
	if !halted {
		l.c.Close()
		return
	}
	l.c.Shutdown(transport.Patience{AfterClose: afterHang, AfterTerm: time.Second})
}

// attribute counts missing responses as a failure of the first request without
// a response, if no later one has a response.
func (c *Conversation) attribute() {
	if !slices.ContainsFunc(c.Events, func(e *transcript.Event) bool { return e.Kind == transcript.GaveUp }) {
		return
	}
	d := transcript.DialogueOf(c.Events)
	before, hung := firstHanging(d)
	if hung == nil {
		return
	}
	call := discount.HoldingCall(d)
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

// firstHanging returns the first request that expects a response such that neither
// it nor any later request has one, or nil. Requests that were cancelled, or
// that share a line or an id with others, expect none. If one of them precedes
// it without a response, firstHanging returns that one as before.
func firstHanging(d *transcript.Dialogue) (before *wire.Message, hung *transcript.Event) {
	for _, r := range d.StillOpen() {
		id := r.Message.ID
		switch {
		case d.WithID(id)[0] == r && (id.IsString() || id.IsInteger()) && !r.Event.Frame.Batch && len(r.Cancellations) == 0:
			return before, r.Event
		case before == nil:
			before = r.Message
		}
	}
	return nil, nil
}
