package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// A sharedConversation is the conversation that the cases of a revision share.
type sharedConversation struct {
	conv *client.Conversation // nil until opened
}

// openConversations are the conversations that the probe leaves open; the lanes go on with them.
type openConversations struct {
	byRevision map[spec.Revision]*sharedConversation
	pass       *pass // held while they are open; nil if none is
}

// end ends the conversations.
func (c *openConversations) end(e *ender) {
	for _, shared := range c.byRevision {
		e.endShared(shared)
	}
	if c.pass != nil {
		c.pass.leave()
	}
}

// unused returns the conversations that no lane continues.
func (c *openConversations) unused(units []*unit) []*sharedConversation {
	var out []*sharedConversation
	for rev, s := range c.byRevision {
		if !slices.ContainsFunc(units, func(u *unit) bool { return u.isLane() && u.revision == rev }) {
			out = append(out, s)
		}
	}
	return out
}

// An opener opens the conversations of one unit and keeps them.
type opener struct {
	s         *session
	unit      *unit
	rerun     *rerun // that of the unit; its zero value if the unit has none
	pass      *pass
	dialer    transport.Dialer
	shared    *sharedConversation
	pace      *client.Pace
	during    *suite.Case // the case that runs in the shared conversation; nil before the first
	isRenewed bool        // the shared conversation was dropped and has to be replaced
	reusable  *reusable   // servers for further cases; nil if each case has servers of its own
	clock     *caseClock  // of the case that runs; nil for none

	undialed atomic.Bool // a server could not be started or reached

	mu    sync.Mutex
	convs []*client.Conversation
}

func newOpener(s *session, u *unit, p *pass, d transport.Dialer, pace *client.Pace) *opener {
	o := &opener{s: s, unit: u, rerun: cmp.Or(u.rerun, &rerun{}), pass: p, dialer: d, pace: pace}
	if u.reusesServers() {
		o.reusable = &reusable{ended: map[*client.Conversation]bool{}}
	}
	return o
}

// adopt makes the unit continue a shared conversation.
func (o *opener) adopt(shared *sharedConversation) {
	o.shared = shared
	if shared.conv != nil {
		o.keep(shared.conv)
		o.Leave(shared.conv)
		shared.conv.SetIdle(o.pass.idle)
	}
}

// Open implements suite.Opener. What is seen in the conversation belongs to the
// case that opened it.
func (o *opener) Open(ctx context.Context, co client.Options) (*client.Conversation, error) {
	conv, err := o.open(ctx, co)
	if err == nil && o.during != nil {
		conv.Record.BeginCase(o.during.ID)
	}
	return conv, err
}

// Continue implements suite.Opener. Only cases that do not share the conversation of the
// unit reuse servers, and the unit collects those that earlier cases left.
func (o *opener) Continue(ctx context.Context, co client.Options) *client.Conversation {
	if o.reusable == nil || o.during == nil || o.during.SharesConversation {
		return nil
	}
	co = o.options(co)
	for i := len(o.reusable.left) - 1; i >= 0; i-- {
		left := o.reusable.left[i]
		if !left.CanContinue(co) {
			continue
		}
		o.reusable.left = slices.Delete(o.reusable.left, i, i+1)
		conv := left.Continue(co)
		if conv.Fence(ctx) == nil {
			o.Leave(conv)
			conv.Record.BeginCase(o.during.ID)
			return conv
		}
	}
	return nil
}

// reusable holds the conversations of a unit whose servers later cases can reuse.
type reusable struct {
	left  []*client.Conversation        // left by cases that have ended
	taken []*client.Conversation        // in use by the running case, or by the unit itself
	ended map[*client.Conversation]bool // that no later case can reuse
}

// collect makes the conversations that the last case leaves available to the next one. The last
// case is nil before the first.
func (r *reusable) collect(last *suite.Case) {
	for _, conv := range r.taken {
		if conv.Alive() && !isSpoiled(conv, last) {
			conv.Record.Remark("left to later cases")
			r.left = append(r.left, conv)
		}
	}
	r.taken = nil
}

// isSpoiled reports whether no other case can continue the conversation, because the last case has
// left it in an unusual state, or its handshake failed.
func isSpoiled(conv *client.Conversation, by *suite.Case) bool {
	return by != nil && by.SpoilsServer || conv.Server().ProtocolVersion == ""
}

// options completes the options of a case with those of the run.
func (o *opener) options(co client.Options) client.Options {
	if co.Revision == "" {
		co.Revision = o.unit.revision
	}
	base := o.s.o.clientOptions(co.Revision)
	if co.Timeout == 0 {
		co.Timeout = base.Timeout
	}
	if co.StartTimeout == 0 {
		co.StartTimeout = base.StartTimeout
	}
	co.Idle = o.pass.idle
	if co.Pace == nil {
		co.Pace = o.pace
	}
	co.Thorough, co.LeastGrace = o.rerun.number > 0, 0
	if o.rerun.number > 1 { // a deviation that did not recur in the first retry may come late
		co.LeastGrace = time.Second
	}
	co.SkipQuiet = o.whenReproduced()
	co.Starts = &starts{session: o.s, revision: o.unit.revision, dialer: o.dialer, clock: o.clock}
	return co
}

func (o *opener) open(ctx context.Context, co client.Options) (*client.Conversation, error) {
	co = o.options(co)
	resume := o.clock.pause()
	conv, err := o.s.dialWith(ctx, o.dialer, co)
	resume()
	if err != nil {
		o.undialed.Store(true)
		return nil, fmt.Errorf("the server could not be started: %w", err)
	}
	o.keep(conv)
	return conv, nil
}

// keep adds a conversation to those of the unit.
func (o *opener) keep(conv *client.Conversation) {
	if conv.Revision().Era() == spec.Stateless {
		o.Leave(conv)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.convs = append(o.convs, conv)
}

// Leave implements suite.Opener.
func (o *opener) Leave(conv *client.Conversation) {
	if o.reusable != nil && !slices.Contains(o.reusable.taken, conv) {
		o.reusable.taken = append(o.reusable.taken, conv)
	}
}

func (o *opener) conversations() []*client.Conversation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]*client.Conversation(nil), o.convs...)
}

// records returns the records of the conversations.
func (o *opener) records() []*transcript.Transcript { return recordsOf(o.conversations()) }

func recordsOf(convs []*client.Conversation) []*transcript.Transcript {
	out := make([]*transcript.Transcript, len(convs))
	for i, c := range convs {
		out[i] = c.Record
	}
	return out
}

// held returns how long the client delayed the requests of the conversations, because of a rate limit.
func (o *opener) held() time.Duration {
	var all time.Duration
	for _, c := range o.conversations() {
		all += c.Record.Held()
	}
	return all
}

// Shared implements suite.Opener. It opens a new conversation if the server of
// the last one has exited.
func (o *opener) Shared(ctx context.Context) (*client.Conversation, error) {
	if o.shared == nil {
		o.shared = &sharedConversation{}
	}
	s := o.shared
	if s.conv != nil && s.conv.Alive() {
		return s.conv, nil
	}
	conv, err := o.open(ctx, client.Options{Revision: o.unit.revision})
	if err != nil {
		return nil, err
	}
	s.conv = conv
	if err := conv.Handshake(ctx); err != nil {
		return nil, err
	}
	if why := whyUnresponsive(ctx, conv); why != "" {
		return nil, errors.New(why)
	}
	o.Leave(conv)
	if o.isRenewed { // rules compare later messages with the lists, as in the previous conversation
		inventory.Take(ctx, conv, o.s.o.Policy)
	}
	o.markCase()
	return conv, nil
}

// beginCase records which case the following traffic of the shared conversation
// belongs to.
func (o *opener) beginCase(c *suite.Case) {
	if o.reusable != nil {
		o.reusable.collect(o.during)
		o.endUnused()
	}
	o.during = c
	o.markCase()
}

func (o *opener) markCase() {
	if o.during != nil && o.shared != nil && o.shared.conv != nil {
		o.shared.conv.Record.BeginCase(o.during.ID)
	}
}

// endUnused ends the servers that no later case can use.
func (o *opener) endUnused() {
	for _, conv := range o.conversations() {
		isUsed := func(c *client.Conversation) bool { return c.Record == conv.Record }
		if o.reusable.ended[conv] || o.shared != nil && o.shared.conv != nil && isUsed(o.shared.conv) || slices.ContainsFunc(o.reusable.left, isUsed) {
			continue
		}
		o.reusable.ended[conv] = true
		go o.s.end(conv, o.unit.occasion(conv), o.rerun.number > 0) // the unit waits for it when it ends
	}
}

// renew drops the shared conversation if its session is no longer served or its server hangs, so
// that the next case opens a new one.
func (o *opener) renew(ctx context.Context) {
	if s := o.shared; s != nil && s.conv != nil && s.conv.Alive() && (s.conv.IsSessionLost(ctx) || s.conv.IsHung(ctx)) {
		s.conv, o.isRenewed = nil, true
	}
}

// whyUnresponsive returns why a server serves no requests after the handshake,
// or "". One request may get lost, so it sends a second one before it gives up.
func whyUnresponsive(ctx context.Context, conv *client.Conversation) string {
	var r *client.Reply
	for range 2 {
		if r = conv.Do(ctx, conv.HarmlessMethod(), nil); r.Err == nil || errors.Is(r.Err, client.ErrTooLong) {
			return ""
		}
	}
	if conv.Web() != nil {
		return "after the handshake " + Refused(conv.Record.From(0), conv.Options().Timeout).Reason
	}
	hint := ""
	if errors.Is(r.Err, client.ErrUnanswered) {
		hint = " (does the server flush stdout after each message?)"
	}
	return "the first requests after the handshake got no responses: " + r.Err.Error() + hint
}
