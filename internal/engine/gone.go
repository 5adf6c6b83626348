package engine

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A server at a URL is the same for all conversations, and not ours to start
// anew. When it is gone in the middle of a run (it ended, its token ran out,
// what stands in front of it fails), nothing that is seen from then on says
// anything of the protocol, and every further case would cost its time. So a
// conversation that ends without its last answer is looked into, with a
// handshake of our own: where even that comes to nothing, the run ends.
type watch struct {
	check func() string // why the server is gone, or ""
	stop  context.CancelCauseFunc

	mu         sync.Mutex
	lastServed time.Time // when it last was seen to serve
	isGone     bool
	// doubtful tells from which position on a record tells nothing.
	doubtful map[*transcript.Transcript]int
}

// goneError is why the run ends.
type goneError struct{ why string }

func (e *goneError) Error() string { return "the server serves nobody any more: " + e.why }

// fresh is how long a server that was seen to serve needs no other look.
const recheckAfter = 500 * time.Millisecond

// pauses are left between the looks, for a server that starts anew, or a proxy
// that has lost its way for a moment; enough is when no more looks are taken.
var pauses = []time.Duration{300 * time.Millisecond, time.Second, 2 * time.Second}

const checkingTime = 3 * time.Second

// watchServer begins to look after the server; the context that it returns ends
// when that is gone.
func (r *offer) watchServer(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	r.stop = stop
	if _, shares := r.o.Dialer.(transport.Sharer); shares || len(r.revisions) == 0 || r.handshakeFails != "" || len(r.unresponsive) == len(r.revisions) {
		return ctx, stop
	}
	r.watch = &watch{stop: stop, doubtful: map[*transcript.Transcript]int{}, check: func() string { return r.whyUnserved(ctx) }}
	r.o.Progress = &watchedProgress{r.o.Progress, r.watch}
	return ctx, stop
}

// watchedProgress tells of no area while it is in doubt whether the server
// still serves anybody, and of none when it does not.
type watchedProgress struct {
	Progress
	watch *watch
}

// Area implements Progress.
func (p *watchedProgress) Area(area string, done, total int) {
	if !p.watch.isServerGone() {
		p.Progress.Area(area, done, total)
	}
}

// checkConversation looks into a conversation that has ended.
func (w *watch) checkConversation(c *client.Conversation) {
	if w == nil || c.Web() == nil {
		return
	}
	events := c.Record.From(0)
	from, troubled := unansweredSince(events)
	lost, refused := brokenSince(events)
	switch {
	case !troubled && !refused:
		return
	case !troubled || lost >= 0 && lost < from:
		from = lost
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doubtful[c.Record] = from
	if w.isGone || !refused && time.Since(w.lastServed) < recheckAfter {
		return
	}
	asked := time.Now()
	why := w.check()
	if why == "" {
		w.lastServed = asked
		return
	}
	w.isGone = true
	w.stop(&goneError{why})
}

// isDoubtful reports whether what was seen says nothing, because the server was gone
// by then.
func (w *watch) isDoubtful(c *candidate) bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isGone {
		return false
	}
	return slices.ContainsFunc(c.unit.conversations, func(conv *client.Conversation) bool {
		from, doubtful := w.doubtful[conv.Record]
		return doubtful && (len(c.At) == 0 || slices.Max(c.At) >= from)
	})
}

// records returns those by which the unit was judged, each once.
func (u *unit) records() []*transcript.Transcript {
	var out []*transcript.Transcript
	add := func(record *transcript.Transcript) {
		if record != nil && !slices.Contains(out, record) {
			out = append(out, record)
		}
	}
	for _, rd := range u.ruleResults {
		add(rd.record)
	}
	for _, s := range u.observations {
		add(s.Record)
	}
	return out
}

// isSettled reports whether it need not be tried any more.
func (c *candidate) isSettled() bool {
	tries := c.attempts - c.earlierAttempts
	switch {
	case tries >= maxAttempts, c.voidAttempts >= maxAttempts:
		return true
	case tries == 0:
		return false
	case c.mustRecur:
		return c.reproduced < tries
	case c.earlierAttempts > 0: // one look at another sighting is enough
		return true
	default:
		return c.reproduced > 0
	}
}

// isServerGone reports whether the server is gone; while that is in doubt it waits.
func (w *watch) isServerGone() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.isGone
}

// unansweredSince reports whether the conversation ended without an answer to the last
// request, in a way that may be no matter of the session, and from where on
// nothing was answered.
func unansweredSince(events []*transcript.Event) (from int, troubled bool) {
	for e, m := range transcript.Messages(events, transcript.Received) {
		if m.Kind == wire.Response {
			from = e.Seq + 1
		}
	}
	var last *transcript.Request
	for _, r := range transcript.DialogueOf(events).Requests() {
		if r.Exchange != nil && r.Message.ID.Present() {
			last = r
		}
	}
	if last == nil || last.Response() != nil {
		return 0, false
	}
	return from, from == 0 || mayBeOutage(last.Exchange.Status())
}

// brokenSince returns from where on nothing came of any exchange because connections
// broke, or were not taken, -1 where that is not so; and whether one was not
// taken, which no server does that still serves.
func brokenSince(events []*transcript.Event) (from int, refused bool) {
	last, from := -1, -1
	for _, e := range events {
		if e.Kind == transcript.Responded || e.Kind == transcript.Received || e.Kind == transcript.Streamed {
			last = e.Seq
		}
	}
	for _, x := range transcript.ExchangesOf(events).All() {
		if x.Request == nil || x.End == nil || x.End.Seq < last || x.Ended() != transcript.Broken && x.Ended() != transcript.Unreachable {
			continue
		}
		refused = refused || x.Ended() == transcript.Unreachable
		at := x.Request.Seq
		if x.Method() != http.MethodPost { // a stream that was open for long
			at = x.End.Seq
		}
		if from < 0 || at < from {
			from = at
		}
	}
	return from, refused
}

// checkEnded looks into those of the conversations that are over already, so
// that what is said next of their case waits for what comes of it.
func (o *opener) checkEnded() {
	if o.r.watch == nil {
		return
	}
	for _, c := range o.conversations() {
		if !c.Alive() {
			o.r.watch.checkConversation(c)
		}
	}
}

// dropDoubtfulObservations takes back what cases of their own said of a server that was gone.
func (r *execution) dropDoubtfulObservations() {
	if r.watch == nil || !r.watch.isServerGone() {
		return
	}
	for _, u := range r.units {
		if u.sharesConversation || !slices.ContainsFunc(u.conversations, func(c *client.Conversation) bool { return r.watch.hasDoubtful(c.Record) }) {
			continue
		}
		for i := range u.observations {
			if s := &u.observations[i]; s.Deviation == nil && s.Outcome != verdict.HarnessError {
				s.Observation = suite.Observation{Requirement: s.Requirement, Outcome: verdict.NotObserved, Reason: "the server was gone"}
			}
		}
	}
}

func (w *watch) hasDoubtful(record *transcript.Transcript) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, doubtful := w.doubtful[record]
	return doubtful
}

// mayBeOutage reports whether a status may come from a server that is gone, for
// whatever reason, rather than from one that does not like the request.
func mayBeOutage(status int) bool {
	switch status {
	case 401, 403, 407, 429:
		return true
	}
	return status < 400 || status >= 500
}

// whyUnserved returns why no conversation can be opened any more, or "".
func (r *offer) whyUnserved(ctx context.Context) string {
	began := time.Now()
	why := r.whyUnservedOnce(ctx)
	for i := 0; i < len(pauses) && why != "" && (i == 0 || time.Since(began) < checkingTime); i++ {
		select {
		case <-time.After(pauses[i]):
			why = r.whyUnservedOnce(ctx)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return ""
		}
	}
	return why
}

func (r *offer) whyUnservedOnce(ctx context.Context) string {
	rev := r.revisions[len(r.revisions)-1]
	if r.unresponsive[rev] != "" {
		i := slices.IndexFunc(r.revisions, func(other spec.Revision) bool { return r.unresponsive[other] == "" })
		rev = r.revisions[i]
	}
	o := r.o.clientOptions(rev)
	o.StartTimeout = r.patience()
	conv, err := r.dial(ctx, o)
	if err != nil {
		return err.Error()
	}
	defer func() {
		conv.Shutdown(impatient)
		if r.count(conv) {
			r.record(conv, probing)
		}
		conv.Record.Release()
	}()
	if err := conv.Handshake(ctx); err != nil {
		return Refused(conv.Record.From(0), conv.Options().StartTimeout).Reason
	}
	return whyUnresponsive(ctx, conv)
}
