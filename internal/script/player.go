package script

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// A Player plays scripts on a server.
type Player struct {
	Dialer transport.Dialer
	// Timeout limits the wait for an expected response.
	Timeout time.Duration
	// Start limits the wait for the response to initialize.
	Start time.Duration
	// Pace, if set, is called before each request and waits until one more may
	// be sent.
	Pace func(ctx context.Context)
	// Stop, if set, is closed when no further operation may begin. Operations that have begun are
	// finished and judged.
	Stop <-chan struct{}
	// Patient makes the player wait for the response to a request that runs code of the server's
	// author, such as a tool call, as long as for the response to any other request.
	Patient bool
	// CancelsOpen makes even a patient player cancel the requests that are pending at the end of a
	// conversation.
	CancelsOpen bool
	// FinalWait is how long the player waits for notifications of changes before it ends a
	// conversation.
	FinalWait time.Duration
	// Hangs, if set, reports whether requests of a method are known to hang the
	// server. After such a request, the player waits for responses no longer
	// than HangTimeout.
	Hangs       func(method string) bool
	HangTimeout time.Duration
	// Forbidden are tools of the server that must not be called. Operations that
	// call one are skipped.
	Forbidden []string
}

// MidScript limits the wait for a response in the middle of a script. Only at the end does a
// response get the whole timeout.
const MidScript = 3 * time.Second

// Limits for operations that could otherwise go on without end.
const (
	authorTime = 100 * time.Millisecond // the longest wait for the response to a request that runs code of the server's author
	webTime    = 2 * time.Second        // the time limit of an HTTP operation's exchange
	maxPages   = 100
)

// Play plays a script, and returns when all its conversations have ended and
// their servers have exited.
func (p Player) Play(ctx context.Context, s Script) *Playback {
	r := &runner{Player: p, ctx: ctx, out: &Playback{Script: s, Transport: p.Dialer.Transport()}, live: map[int]*liveConversation{}}
	for i := range s.Operations {
		if ctx.Err() != nil || r.out.Refused != nil || r.isStopped() {
			r.out.Skipped = append(r.out.Skipped, i)
			continue
		}
		r.doOperation(i, &s.Operations[i])
	}
	for on := range s.Conversations() {
		r.endConversation(on)
	}
	return r.out
}

// isStopped reports whether no more operations may begin.
func (p *Player) isStopped() bool {
	select {
	case <-p.Stop:
		return true
	default:
		return false
	}
}

// runner plays one script.
type runner struct {
	Player
	ctx  context.Context
	out  *Playback
	live map[int]*liveConversation
}

// doOperation performs an operation, or records that it was skipped.
func (r *runner) doOperation(i int, o *Operation) {
	l := r.openConversation(o.On)
	if l == nil || o.Do != Close && (l.over || r.seemsStuck(l)) || r.forbids(o) {
		r.out.Skipped = append(r.out.Skipped, i)
		return
	}
	if o.Do != Send {
		r.flush(l)
	}
	from := l.c.Record.Len()
	switch o.Do {
	case Send:
		r.send(l, i, o)
		return
	case Cancel:
		r.cancel(l, o)
	case Raw:
		r.sendRaw(l, i, o)
	case Answer:
		l.answers.Set(o.Method, responder(o.Reply))
	case Walk:
		r.walkList(l, o)
	case Fence:
		r.fence(l)
	case Close:
		r.endConversation(o.On)
		return
	case HTTP:
		r.doExchange(l, o)
	case Repeat:
		r.repeat(l, i, o)
	}
	l.spans = append(l.spans, span{i, from, l.c.Record.Len()})
}

// openConversation returns the conversation with the given number, and opens it if it is not open.
// It returns nil if it cannot connect. If the handshake fails, the returned conversation is over.
func (r *runner) openConversation(on int) *liveConversation {
	if l := r.live[on]; l != nil {
		return l
	}
	o := client.Options{Revision: r.out.Script.Revision, Timeout: r.Timeout, StartTimeout: r.Start}
	answers := client.NewAnswers(client.AllCapabilities(o.Revision))
	o.Answer = answers.Answer
	c, err := client.Open(r.ctx, r.Dialer, o)
	if err != nil {
		r.out.Refused = err
		return nil
	}
	l := &liveConversation{
		sentIDs:      map[string]bool{},
		Conversation: &Conversation{On: on}, c: c, answers: answers, pendingFrom: -1,
	}
	r.live[on] = l
	if r.out.Script.NoDiscover && o.Revision.Era() == spec.Stateless {
		return l
	}
	r.awaitRateLimit()
	if err := c.Handshake(r.ctx); err != nil {
		l.over = true
		if !c.Alive() || errors.Is(err, client.ErrUnanswered) {
			r.out.Refused = err
		}
	}
	return l
}

// awaitRateLimit waits until one more request may be sent.
func (r *runner) awaitRateLimit() {
	if r.Pace != nil {
		r.Pace(r.ctx)
	}
}

// endConversation ends the conversation with the given number, if it is open, and adds it to the
// playback. Before that it waits for pending requests, see settle. If the player may have written
// only part of a line, it adds the conversation without its events, because a later failure may be
// due to the incomplete line.
func (r *runner) endConversation(on int) {
	l := r.live[on]
	if l == nil {
		return
	}
	delete(r.live, on)
	r.flush(l)
	halted := false
	if (!l.over || l.Unresponsive) && l.c.Alive() && r.ctx.Err() == nil {
		halted = r.settle(l)
	}
	l.readEvents(l.c.Record.From(l.at))
	if open := l.unsettledRequests(); len(open) > 0 {
		l.Unanswered = describeRequest(open[0].method, open[0].id)
	} else if l.Unresponsive {
		l.Unanswered = "the last request"
	}
	l.close(halted)
	r.out.Messages += CountFrames(l.c.Record.From(0))
	if !l.torn { // if half a line may have been written, no later failure is the server's fault
		l.Events = l.c.Record.From(0)
		l.readRest()
		l.matchRequests(l.sentRequests)
		l.attributeToHungRequest()
	}
	r.out.Conversations = append(r.out.Conversations, l.Conversation)
}

// settle waits for the responses to pending requests, and cancels those requests that run code of
// the server's author. It records each missing response, and reports whether the server hangs.
func (r *runner) settle(l *liveConversation) (halted bool) {
	l.readEvents(l.c.Record.From(l.at))
	if !l.over {
		r.waitPending(l)
	}
	if stuck := l.firstStuck(); stuck != nil && !r.CancelsOpen {
		r.cancelAuthorRequests(l, stuck)
		if r.confirmHalt(l, stuck) {
			return true
		}
	}
	if l.over {
		return false
	}
	r.cancelAuthorRequests(l, nil)
	if r.FinalWait > 0 {
		l.waitUntil(r.ctx, r.FinalWait, func() bool { return false })
	}
	r.awaitRateLimit()
	if reply := l.c.Do(r.ctx, l.c.HarmlessMethod(), nil); errors.Is(reply.Err, client.ErrUnanswered) {
		l.Unresponsive = true
	}
	var open []request
	if l.waitUntil(r.ctx, r.Timeout, func() bool { open = l.outstandingRequests(); return len(open) == 0 }) || !l.c.Alive() || r.ctx.Err() != nil {
		return false
	}
	for _, a := range open {
		r.giveUp(l, &a)
	}
	return false
}
