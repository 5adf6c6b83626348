package engine

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/locks"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A watch checks whether a server at a URL still serves. All conversations share that server, and
// the run cannot restart it. If the server fails during a run (it exited, its token expired, its
// proxy fails), later observations say nothing about the protocol, and every further case would
// cost time. So if the last request of a conversation got no response, the run attempts a handshake
// in a new conversation; if that fails too, the run ends.
type watch struct {
	discounts *discount.Run // records which observations prove nothing
	hasBegun  atomic.Bool
	check     func() string           // returns why the server no longer serves, or ""
	stop      context.CancelCauseFunc // ends the run

	mu         *locks.RWMutex // held while the server is checked
	lastServed time.Time      // when the last successful check began
	isGone     bool
}

// newWatch returns a watch that checks nothing before it begins.
func newWatch(discounts *discount.Run) *watch {
	return &watch{mu: locks.NewRWMutex(), discounts: discounts}
}

// begin begins to watch the server.
func (w *watch) begin(check func() string, stop context.CancelCauseFunc) {
	w.check, w.stop = check, stop
	w.hasBegun.Store(true)
}

// A goneError is the cause of the end of a run whose server no longer serves.
type goneError struct{ why string }

func (e *goneError) Error() string { return "the server no longer serves any client: " + e.why }

// recheckAfter is how long the watch trusts a successful check before it
// checks the server again.
const recheckAfter = 500 * time.Millisecond

// pauses are the delays before the retries of a failed check. They give a server time to restart,
// and a proxy that fails for a moment time to recover. Once checkingTime has passed, there is no
// further retry.
var pauses = []time.Duration{300 * time.Millisecond, time.Second, 2 * time.Second}

const checkingTime = 3 * time.Second

// watchServer begins to watch the server, unless the run can restart it. The run ends when the
// server no longer serves.
func (r *session) watchServer(ctx context.Context, offered *offer) {
	if rev := offered.servedRevision(); rev != "" && !r.sharesProcess() {
		r.watch.begin(func() string { return r.whyUnserved(ctx, rev) }, r.limit.stop)
	}
}

// servedRevision returns a revision in which the server serves requests, the newest if possible, or
// "".
func (r *offer) servedRevision() spec.Revision {
	if len(r.revisions) == 0 || r.handshakeFails != "" || len(r.unresponsive) == len(r.revisions) {
		return ""
	}
	rev := r.revisions[len(r.revisions)-1]
	if r.unresponsive[rev] != "" {
		i := slices.IndexFunc(r.revisions, func(other spec.Revision) bool { return r.unresponsive[other] == "" })
		rev = r.revisions[i]
	}
	return rev
}

// watchedProgress is a Progress that delays reports of areas while a check of the server is
// running, and drops them once the server no longer serves.
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

// checkConversation checks whether the server still serves, if the conversation, which has ended,
// gives reason to doubt it.
func (w *watch) checkConversation(c *client.Conversation) {
	if !w.hasBegun.Load() || c.Web() == nil {
		return
	}
	events := c.Record.From(0)
	from, troubled := unansweredSince(events)
	lost, refused := connectionsLostSince(events)
	switch {
	case !troubled && !refused:
		return
	case !troubled || lost >= 0 && lost < from:
		from = lost
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.discounts.NoteUnanswered(c.Record, from)
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
	w.discounts.NoteOutage()
	w.stop(&goneError{why})
}

// isServerGone reports whether the server no longer serves. If a check is running, it waits for the
// result.
func (w *watch) isServerGone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.isGone
}

// unansweredSince reports whether the conversation is troubled: its last request got no response.
// But it is not troubled if the HTTP status says that the request itself is wrong, and earlier
// requests got responses. If troubled is true, from is the position after the last response, or 0
// if none came.
func unansweredSince(events []*transcript.Event) (from int, troubled bool) {
	for e, m := range transcript.Messages(events, transcript.Received) {
		if m.Kind == wire.Response {
			from = e.Seq + 1
		}
	}
	var last *transcript.Request
	for _, r := range transcript.DialogueOf(events).Requests() {
		if r.Exchange != nil && r.Message.ID.IsPresent() {
			last = r
		}
	}
	if last == nil || last.Response() != nil {
		return 0, false
	}
	return from, from == 0 || mayBeOutage(last.Exchange.Status())
}

// connectionsLostSince looks for HTTP exchanges that broke, or could not connect, after the last
// data from the server. from is the position of the earliest failure, or -1 if there is none. For a
// POST that is the position of the request; for other exchanges, such as a stream that was open for
// long, that of the end. refused reports whether the client could not connect, which never happens
// with a working server.
func connectionsLostSince(events []*transcript.Event) (from int, refused bool) {
	last, from := -1, -1
	for _, e := range events {
		if e.Kind == transcript.Responded || e.Kind == transcript.Received || e.Kind == transcript.Streamed {
			last = e.Seq
		}
	}
	for _, x := range transcript.ExchangesOf(events).All() {
		if x.Request == nil || x.End == nil || x.End.Seq < last || x.HowEnded() != transcript.Broken && x.HowEnded() != transcript.Unreachable {
			continue
		}
		refused = refused || x.HowEnded() == transcript.Unreachable
		at := x.Request.Seq
		if x.Method() != http.MethodPost { // a stream, which may have been open for a long time
			at = x.End.Seq
		}
		if from < 0 || at < from {
			from = at
		}
	}
	return from, refused
}

// checkEnded calls checkConversation for the unit's conversations that have ended. It must return
// before the case that used them is reported as done, because watchedProgress drops that report if
// the check has found that the server no longer serves.
func (o *opener) checkEnded() {
	if !o.s.watch.hasBegun.Load() {
		return
	}
	for _, c := range o.conversations() {
		if !c.Alive() {
			o.s.watch.checkConversation(c)
		}
	}
}

// mayBeOutage reports whether a request that got this HTTP status, but no JSON-RPC response, may
// show an outage. It returns false if the status says that the request itself is wrong.
func mayBeOutage(status int) bool {
	return status < 400 || status >= 500 || transcript.IsAmbiguousStatus(status)
}

// whyUnserved returns why no conversation can be opened any more, even after several attempts. It
// returns "" if one can be opened, or if ctx has ended.
func (r *session) whyUnserved(ctx context.Context, rev spec.Revision) string {
	began := time.Now()
	why := r.whyUnservedOnce(ctx, rev)
	for i := 0; i < len(pauses) && why != "" && (i == 0 || time.Since(began) < checkingTime); i++ {
		select {
		case <-time.After(pauses[i]):
			why = r.whyUnservedOnce(ctx, rev)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return ""
		}
	}
	return why
}

func (r *session) whyUnservedOnce(ctx context.Context, rev spec.Revision) string {
	o := r.o.clientOptions(rev)
	o.StartTimeout = r.restartTimeout()
	conv, err := r.dial(ctx, o)
	if err != nil {
		return err.Error()
	}
	defer r.discard(conv)
	if err := conv.Handshake(ctx); err != nil {
		return ExplainRefusal(conv.Record.From(0), conv.Options().StartTimeout).Reason
	}
	return whyUnresponsive(ctx, conv)
}
