package script

import (
	"errors"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A server that does one thing after the other answers nothing behind a request
// that it never comes to the end of. That is one fault, and it is the first of
// these requests that shows it: what lies behind had no chance. What the answer
// is made by does not matter there, for no code of an author's excuses that a
// ping has no answer either. A call does; see occupied.go.

const (
	// silence is how long the server sends no response, after a request that timed
	// out, before no more is sent.
	silence = time.Second
	// afterHang is how long a server that answers nothing has to end by itself.
	afterHang = 100 * time.Millisecond
)

// stuck returns the first request that is owed an answer where it has none, nor
// anything behind it; nil where there is none, and where a call may be what
// holds all up.
func (l *liveConversation) stuck() *request {
	var first *request
	for i := l.silentFrom(); i < len(l.asked); i++ {
		a := &l.asked[i]
		switch expected := owed(a.method) && !a.params; {
		case occupies(a.method):
			return nil
		case a.cancelled || a.odd:
		case expected && first != nil:
			return first // nothing that comes behind held this one up
		default:
			first = a
			if expected {
				return first
			}
		}
	}
	return first
}

// mute reports whether the server has answered nothing for so long that what would
// be sent now had no answer either.
func (r *runner) mute(l *liveConversation) bool {
	if r.Patient || !l.missed {
		return false
	}
	l.read(l.c.Record.From(l.at))
	a, least := l.stuck(), r.midScript(l)
	if r.knownToHang(l) {
		least += authorTime
	} else {
		least += min(r.Timeout, silence)
	}
	return a != nil && l.c.Record.Elapsed()-max(l.heard, a.at) >= least
}

// midScript returns how long an answer that is owed is waited for at its place: the
// whole time is given at the end, once. It is less behind a request of which it is
// known that it brings the server to a halt.
func (r *runner) midScript(l *liveConversation) time.Duration {
	if r.knownToHang(l) {
		return min(r.Timeout, r.Brief)
	}
	return min(r.Timeout, MidScript)
}

// knownToHang reports whether the first request that has no answer is one that is known to
// bring the server to a halt.
func (r *runner) knownToHang(l *liveConversation) bool {
	if r.Hangs == nil {
		return false
	}
	i := l.silentFrom()
	return i < len(l.asked) && r.Hangs(l.asked[i].method)
}

// silentFrom returns from where on no request has an answer.
func (l *liveConversation) silentFrom() int {
	for i := len(l.asked); ; i-- {
		if i == 0 || l.response(l.asked[i-1].id) != nil {
			return i
		}
	}
}

// leave cancels what is the author's own and has no answer, all but one request.
func (r *runner) leave(l *liveConversation, but *request) {
	for i := range l.asked {
		a := &l.asked[i]
		if a == but || l.response(a.id) != nil || owed(a.method) || a.cancelled || a.task || a.left {
			continue
		}
		a.left = true
		_ = l.c.Cancel(r.ctx, a.id, "the client leaves")
		if r.CancelsOpen {
			l.cancelled(a.id)
		}
	}
}

// halted reports whether nothing is answered any more behind a request. That
// counts as a failure once the request had as long as it may take: it is not
// cancelled by then, for a cancelled request expects no response.
func (r *runner) halted(l *liveConversation, a *request) bool {
	l.read(l.c.Record.From(l.at))
	seq, ok := l.sent(a.id)
	if !ok {
		return false
	}
	heard := l.heard
	moves := func() bool { return l.heard != heard || l.response(a.id) != nil }
	if !l.Deaf && !r.mute(l) && !r.unheard(l) {
		return false
	}
	left := r.Timeout - (l.c.Record.Elapsed() - l.c.Record.From(seq)[0].At)
	if r.knownToHang(l) {
		left = 0 // it would tell nothing new
	}
	if l.until(r.ctx, max(left, min(r.Timeout, authorTime)), moves) || !l.c.Alive() || r.ctx.Err() != nil {
		return false
	}
	if !r.knownToHang(l) {
		l.Deaf = true
		r.giveUp(l, a)
	}
	return true
}

// unheard reports whether a ping has no answer either.
func (r *runner) unheard(l *liveConversation) bool {
	r.count()
	var reply *client.Reply
	if r.knownToHang(l) {
		reply = l.c.Do(r.ctx, l.c.Harmless(), nil, client.Within(min(r.Timeout, r.Brief)))
	} else {
		reply = l.c.Do(r.ctx, l.c.Harmless(), nil)
	}
	return errors.Is(reply.Err, client.ErrUnanswered)
}

// giveUp says in the record that an answer did not come.
func (r *runner) giveUp(l *liveConversation, a *request) {
	if seq, ok := l.sent(a.id); ok {
		l.c.Record.Add(transcript.Event{Kind: transcript.GaveUp, Of: seq})
	}
}

// close ends the connection. Who has come to a halt does not read that its input
// is closed either.
func (l *liveConversation) close(halted bool) {
	if !halted {
		l.c.Close()
		return
	}
	l.c.Shutdown(transport.Patience{AfterClose: afterHang, AfterTerm: time.Second})
}

// attribute holds what was not answered against the first request of those that
// have no answer, where nothing behind it has one.
func (c *Conversation) attribute() {
	if !slices.ContainsFunc(c.Events, func(e *transcript.Event) bool { return e.Kind == transcript.GaveUp }) {
		return
	}
	before, hung := hanging(c.Events)
	if hung == nil {
		return
	}
	call := occupying(c.Events)
	if call != nil && call.Seq <= hung.Seq {
		return
	}
	events, told := slices.Clone(c.Events), false
	for i, e := range events {
		switch {
		case e.Kind != transcript.GaveUp || e.Of < hung.Seq || call != nil && e.Of > call.Seq:
		case told:
			events[i] = &transcript.Event{Seq: e.Seq, At: e.At, Kind: transcript.Remark, Detail: "not waited for any longer, behind a request that is not answered"}
		default:
			told = true
			given := *e
			given.Of = hung.Seq
			events[i] = &given
		}
	}
	if told {
		c.Events, c.Hung, c.Before = events, hung, before
	}
}

// hanging returns the first request that is owed an answer and behind which,
// itself included, nothing has one; nil where there is none. What was cancelled is
// owed none, nor what shares its line or its id with others; if such a request lies
// before it, with no answer either, that is returned, too.
func hanging(events []*transcript.Event) (before *wire.Message, hung *transcript.Event) {
	d := transcript.DialogueOf(events)
	for _, r := range stillOpen(d) {
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
