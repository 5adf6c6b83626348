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

// An opener opens the conversations of one unit and keeps them.
type opener struct {
	s         *session
	unit      *unit
	rerun     *rerun // the unit's rerun, or a zero value if the unit has none
	pass      *pass
	dialer    transport.Dialer
	shared    *sharedConversation
	pace      *client.Pace
	during    *suite.Case // the case that runs in the shared conversation; nil before the first
	isRenewed bool        // the shared conversation was dropped and has to be replaced
	hangsAnew bool        // the server of a replacement hung before a case used it
	reusable  *reusable   // servers for further cases; nil if each case has servers of its own
	clock     *caseClock  // limits the running case; nil for no limit

	undialed atomic.Bool // a server could not be started or reached

	mu    sync.Mutex
	convs []*client.Conversation
}

func newOpener(s *session, u *unit, p *pass, d transport.Dialer, pace *client.Pace) *opener {
	o := &opener{s: s, unit: u, rerun: cmp.Or(u.rerun, &rerun{}), pass: p, dialer: d, pace: pace}
	if u.reusesServers() {
		o.reusable = &reusable{spoiled: map[*client.Conversation]bool{}, ended: map[*client.Conversation]bool{}}
	}
	return o
}

// adopt makes the unit continue the given conversation.
func (o *opener) adopt(shared *sharedConversation) {
	o.shared = shared
	if shared.conv != nil {
		o.addConversation(shared.conv)
		o.LeaveForReuse(shared.conv)
		shared.conv.SetIdle(o.pass.beginIdle)
	}
}

// Open implements suite.Opener. Deviations that rules see in the conversation are attributed to the
// case that opened it.
func (o *opener) Open(ctx context.Context, co client.Options) (*client.Conversation, error) {
	conv, err := o.open(ctx, co)
	if err == nil && o.during != nil {
		conv.Record.BeginCase(o.during.ID)
	}
	return conv, err
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
	co.Idle = o.pass.beginIdle
	if co.Pace == nil {
		co.Pace = o.pace
	}
	co.Thorough, co.LeastGrace = o.rerun.number > 0, 0
	co.NoteShortWaits = base.NoteShortWaits && !co.Thorough
	if o.rerun.number > 1 { // a deviation that did not recur in the first retry may come late
		co.LeastGrace = time.Second
	}
	co.ShouldSkipQuiet = o.reproducedFunc()
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
	o.addConversation(conv)
	return conv, nil
}

// addConversation adds a conversation to those of the unit.
func (o *opener) addConversation(conv *client.Conversation) {
	if conv.Revision().Era() == spec.Stateless {
		o.LeaveForReuse(conv)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.convs = append(o.convs, conv)
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

// heldTime returns how long the client has delayed requests of the unit's conversations because of
// a rate limit.
func (o *opener) heldTime() time.Duration {
	var all time.Duration
	for _, c := range o.conversations() {
		all += c.Record.HeldTime()
	}
	return all
}

// OpenShared implements suite.Opener. If the server of the shared conversation has exited,
// OpenShared opens a new conversation.
func (o *opener) OpenShared(ctx context.Context) (*client.Conversation, error) {
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
	o.LeaveForReuse(conv)
	if o.isRenewed { // rules need the lists to compare later messages with them, as in the dropped conversation
		inventory.Take(ctx, conv, o.s.o.Policy)
		o.hangsAnew = conv.IsHung(ctx)
	}
	o.markCase()
	return conv, nil
}

// beginCase records that the following traffic of the shared conversation belongs to case c. If the
// unit reuses servers, it also makes those of the previous case available, and ends those that no
// later case can reuse.
func (o *opener) beginCase(c *suite.Case) {
	if o.reusable != nil {
		isSpoiled := o.during != nil && o.during.SpoilsServers(o.unit.revision.Era())
		o.reusable.collect(isSpoiled, o.unit.cases[slices.Index(o.unit.cases, c):])
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

// awaitQuiet waits until the server is silent, so that messages that it must not send are recorded
// before rules judge. It waits in the conversation that cases share or, in a chain without one, in
// those that the last case used. An error only means that silence is not proved.
func (o *opener) awaitQuiet(ctx context.Context) {
	var last []*client.Conversation
	switch {
	case o.shared != nil && o.shared.conv != nil:
		last = append(last, o.shared.conv)
	case o.reusable != nil && !o.unit.beginsWithConversation():
		last = slices.DeleteFunc(slices.Clone(o.reusable.taken), func(c *client.Conversation) bool { return !c.Alive() })
	}
	for _, conv := range last {
		conv.Record.BeginCase("")
		_ = conv.AwaitQuiet(ctx)
	}
}

// dropLostConversation drops the shared conversation if its session is no longer served or its
// server hangs, so that the next case opens a new one. It keeps a server that hangs if one that was
// started anew already hung before its first case.
func (o *opener) dropLostConversation(ctx context.Context) {
	if s := o.shared; s != nil && s.conv != nil && s.conv.Alive() && (s.conv.IsSessionLost(ctx) || !o.hangsAnew && s.conv.IsHung(ctx)) {
		s.conv, o.isRenewed = nil, true
	}
}
