package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// run is the state of one run.
type run struct {
	o       Options
	started time.Time
	gate    *gate
	budget  *transcript.Budget // of all conversations
	// time ends with the run's time, and judging a moment later, see limitTime.
	time, judging context.Context

	// Of the probe.
	revisions []spec.Revision
	notSpoken []verdict.NotSpoken
	stock     map[spec.Revision]*inventory.Inventory
	shared    map[spec.Revision]*sharedConversation
	probePass *pass // held while the probe's conversations go on
	// handshakeFails says why no handshake came about in any revision; the
	// rules then judge the attempt, and every case is blocked.
	handshakeFails string
	// deaf says of revisions why nothing can be asked after the handshake;
	// the rules then judge the attempt, and every case is blocked.
	deaf map[spec.Revision]string
	// mixes: answers to one client reach another; see keepApart.
	mixes bool
	// paces are those of the revisions; what is tried again has its own.
	paces map[spec.Revision]*client.Pace

	discounts *discount.Run
	fixtures  inventory.FixtureOutcomes
	ends      ends
	stop      context.CancelCauseFunc // ends the run; nil before it began
	watch     *watch                  // looks after a server at a URL; nil where there is nothing to look after

	// Of the plan.
	units     []*unit
	rulePairs []pair
	casePairs []pair
	tally     tally
	found     []*candidate // all deviations, equal ones merged

	starts, messages atomic.Int64
	longRead         int          // see readable
	unjudged         atomic.Int64 // conversations for which there was no time
	heavy            sync.Mutex   // held while a conversation that takes much memory is judged
	lingers          atomic.Bool  // a server did not exit when its stdin was closed, or did not respond to DELETE

	mu      sync.Mutex
	tried   map[verdict.Key]*candidate // by key: those that are, or were, tried again
	notices []string
	wants   map[instance][]suite.Want // what cases lacked
	// slowestStart is the longest time in which a server responded to initialize.
	slowestStart time.Duration
	spent        map[*client.Conversation]bool // already shut down and counted
	// recorded counts the conversations handed out, by name.
	recorded map[string]int
	settled  chan struct{}                // closed when all verdicts stand
	leisure  chan struct{}                // see suite.Env; nil where only cases run that wait
	final    map[instance]verdict.Outcome // for the spec tree
}

// instance is one case or rule in one revision.
type instance struct {
	judge    string
	revision spec.Revision
}

func (r *run) notice(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, text)
	r.o.Progress.Notice(text)
}

// over returns the transport of the run.
func (r *run) over() spec.Transport { return r.o.Dialer.Transport() }

func (r *run) dial(ctx context.Context, o client.Options) (*client.Conversation, error) {
	return r.dialBy(ctx, r.o.Dialer, o)
}

// impatient is for servers that were seen to linger: waiting again shows nothing new.
var impatient = transport.Patience{AfterClose: 50 * time.Millisecond, AfterTerm: 300 * time.Millisecond}

// end shuts a conversation down, counts it and hands it out, once. One that
// looks for a finding again always waits for the server as long as the first
// did, unless the time of the run is over.
func (r *run) end(c *client.Conversation, occasion string, again bool) {
	if r.time.Err() != nil || r.lingers.Load() && !again || c.Web() != nil && r.watch.over() {
		c.Shutdown(impatient)
	} else {
		c.Close()
	}
	if r.count(c) {
		r.record(c, occasion)
		r.watch.look(c)
	}
}

// count counts a conversation that has ended; it reports false where that was
// done before.
func (r *run) count(c *client.Conversation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spent[c] {
		return false
	}
	if r.spent == nil {
		r.spent = map[*client.Conversation]bool{}
	}
	r.spent[c] = true
	events := c.Record.From(0)
	r.discounts.Observe(discount.Conversation{Revision: c.Revision(), Events: events})
	r.fixtures.Observe(c.Revision(), events)
	closed := false
	for _, e := range events {
		switch e.Kind {
		case transcript.Sent, transcript.Received:
			r.messages.Add(1)
		case transcript.InputClosed:
			closed = true
		case transcript.Signalled:
			if closed {
				r.lingers.Store(true)
			}
		case transcript.GaveUp:
			if events[e.Of].Kind == transcript.Requested && events[e.Of].Head.Method() == "DELETE" {
				r.lingers.Store(true)
			}
		}
	}
	return true
}

// sharedConversation is the one that the asking cases of a revision share.
type sharedConversation struct {
	conv *client.Conversation // nil until opened
}

// opener opens conversations for one unit and remembers them.
type opener struct {
	r        *run
	revision spec.Revision
	pass     *pass
	dialer   transport.Dialer
	shared   *sharedConversation
	pace     *client.Pace
	again    int          // which try this is to see something again, from 1; 0 for none
	during   *suite.Case  // that runs in the shared conversation, nil before the first
	sought   []*candidate // what is to be seen again, for which no longer than that is waited
	renewed  bool         // the shared conversation was given up, and is opened anew
	clock    *caseClock   // of the case that runs, nil for none

	undialed atomic.Bool // a server could not be started or reached

	mu    sync.Mutex
	convs []*client.Conversation
}

// Open implements suite.Opener.
func (o *opener) Open(ctx context.Context, co client.Options) (*client.Conversation, error) {
	base := o.r.o.clientOptions(co.Revision)
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
	co.Thorough, co.LeastGrace = o.again > 0, 0
	if o.again > 1 { // what did not come back at once may come late
		co.LeastGrace = time.Second
	}
	co.Enough = o.enough()
	co.Starts = &starts{r: o.r, revision: o.revision, dialer: o.dialer, clock: o.clock}
	resume := o.clock.pause()
	conv, err := o.r.dialBy(ctx, o.dialer, co)
	resume()
	if err != nil {
		o.undialed.Store(true)
		return nil, fmt.Errorf("the server could not be started: %w", err)
	}
	o.keep(conv)
	return conv, nil
}

func (o *opener) keep(conv *client.Conversation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.convs = append(o.convs, conv)
}

func (o *opener) all() []*client.Conversation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]*client.Conversation(nil), o.convs...)
}

// Shared implements suite.Opener: it opens a new conversation where the
// server of the last one is gone.
func (o *opener) Shared(ctx context.Context) (*client.Conversation, error) {
	if o.shared == nil {
		o.shared = &sharedConversation{}
	}
	s := o.shared
	if s.conv != nil && s.conv.Alive() {
		return s.conv, nil
	}
	conv, err := o.Open(ctx, client.Options{Revision: o.revision})
	if err != nil {
		return nil, err
	}
	s.conv = conv
	if err := conv.Handshake(ctx); err != nil {
		return nil, err
	}
	if why := deaf(ctx, conv); why != "" {
		return nil, errors.New(why)
	}
	if o.renewed { // the rules shall know what the lists hold, as they did of the last one
		inventory.Take(ctx, conv, o.r.o.Policy)
	}
	o.mark()
	return conv, nil
}

// begin says which case what follows in the shared conversation belongs to.
func (o *opener) begin(c *suite.Case) {
	o.during = c
	o.mark()
}

func (o *opener) mark() {
	if o.during != nil && o.shared != nil && o.shared.conv != nil {
		o.shared.conv.Record.Remark(caseMark + o.during.ID)
	}
}

// renew gives up the shared conversation where its session is served no more,
// so that the next case has another one.
func (o *opener) renew(ctx context.Context) {
	if s := o.shared; s != nil && s.conv != nil && s.conv.Alive() && s.conv.Deserted(ctx) {
		s.conv, o.renewed = nil, true
	}
}

// deaf returns why nothing can be asked of a server after the handshake, or
// "". One request may get lost; when the next one does, too, nothing can.
func deaf(ctx context.Context, conv *client.Conversation) string {
	var r *client.Reply
	for range 2 {
		if r = conv.Ask(ctx, conv.Harmless(), nil); r.Err == nil || errors.Is(r.Err, client.ErrCut) {
			return ""
		}
	}
	if conv.Web() != nil {
		return "after the handshake " + Refused(conv.Record.From(0), conv.Options().Timeout).Reason
	}
	return "the first requests after the handshake did not get their answers: " + r.Err.Error()
}

// caseTime bounds a case, without the starts of its servers: far more than any
// needs whose server answers.
const caseTime = 90 * time.Second

// errCaseTime is the cause of a case's end by its time.
var errCaseTime = errors.New("the case took too long")

// runCase runs one case and returns what it said. A case that panics, or does
// not end with its context, is the harness's failure.
func (r *run) runCase(ctx context.Context, c *suite.Case, env suite.Env, o *opener) []suite.Observation {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.clock = newCaseClock(caseTime, func() { cancel(errCaseTime) })
	defer o.clock.stop()
	t := suite.NewT(c, env)
	done := make(chan suite.Stop, 1)
	go func() {
		stop := suite.Stop{Outcome: verdict.NotObserved, Reason: unshown}
		defer func() {
			switch p := recover().(type) {
			case nil:
			case suite.Stop:
				stop = p
			default:
				stop = suite.Stop{Outcome: verdict.HarnessError, Reason: fmt.Sprintf("the case %s failed: %v", c.ID, p)}
			}
			done <- stop
		}()
		c.Run(ctx, t)
	}()
	var stop suite.Stop
	select {
	case stop = <-done:
	case <-r.judging.Done(): // the process ends soon, and the case with it
		return complete(c, nil, suite.Stop{Outcome: verdict.NotObserved, Reason: interrupted(r.time)})
	}
	r.wanting(c, env.Revision, t.Wants())
	if reason := interrupted(ctx); reason != "" && stop.Outcome != verdict.HarnessError {
		stop = suite.Stop{Outcome: verdict.NotObserved, Reason: reason}
	}
	return complete(c, r.discounted(c, t.Observations()), stop)
}

// discounted takes back the deviations that a discount makes void.
func (r *run) discounted(c *suite.Case, said []suite.Observation) []suite.Observation {
	for i := range said {
		s := &said[i]
		if s.Deviation == nil || s.Record == nil {
			continue
		}
		claim := &discount.Claim{Requirement: s.Requirement, Events: s.Record.From(0), At: s.Deviation.At, ByCase: true}
		claim.From = caseStart(c, claim.Events)
		if effect, reason := r.discounts.Discount(claim); effect == discount.Void {
			said[i] = suite.Observation{Requirement: s.Requirement, Outcome: verdict.NotObserved, Reason: reason}
		}
	}
	return said
}

// caseStart returns the position at which a case began in a conversation, which
// may have been shared with others before.
func caseStart(c *suite.Case, events []*transcript.Event) int {
	from := 0
	for _, e := range events {
		if e.Kind == transcript.Remark && e.Detail == caseMark+c.ID {
			from = e.Seq
		}
	}
	return from
}

// complete adds, for each requirement of which the case said nothing, why.
func complete(c *suite.Case, said []suite.Observation, stop suite.Stop) []suite.Observation {
	for _, id := range c.Requirements {
		mentioned := false
		for _, o := range said {
			mentioned = mentioned || o.Requirement == id
		}
		if !mentioned || stop.Outcome == verdict.HarnessError {
			said = append(said, suite.Observation{Requirement: id, Outcome: stop.Outcome, Reason: stop.Reason})
		}
	}
	return said
}
