package serverfeatures

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func subscriptionRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.subscriptions-answered",
			Title:        "subscriptions are confirmed where they are declared, and refused where they are not",
			Requirements: []string{subscribeConfirmed, unsubscribed, subscribeRefused},
			Start: func() rules.Fold {
				a := &subscribedURIs{on: map[string]bool{}}
				return rules.Fold{Shared: readsLedger, OnMessage: rules.Handlers{
					rules.ResultOf(spec.MethodResourcesSubscribe):   a.subscribed,
					rules.ErrorTo(spec.MethodResourcesSubscribe):    a.subscribed,
					rules.ResultOf(spec.MethodResourcesUnsubscribe): a.unsubscribed,
					rules.ErrorTo(spec.MethodResourcesUnsubscribe):  a.unsubscribed,
				}}
			},
		},
		{
			ID:           "rule.updates-wanted",
			Title:        "updates go only to subscribers, while the subscription exists",
			Requirements: []string{updateUndeclared, updateUnsubscribed, updatesStop, updateSent},
			Start: func() rules.Fold {
				u := &updates{lines: map[string]*subscriptionState{}}
				return rules.Fold{OnMessage: rules.Handlers{
					rules.ResultOf(""): u.answer,
					rules.ErrorTo(""):  u.answer,
					rules.ClientRequest(spec.MethodResourcesSubscribe):   u.subscribe,
					rules.ResultOf(spec.MethodResourcesSubscribe):        u.confirmed,
					rules.ClientRequest(spec.MethodResourcesUnsubscribe): u.unsubscribe,
					rules.ResultOf(spec.MethodResourcesUnsubscribe):      u.ended,
					rules.ResultOf(spec.MethodResourcesRead):             u.read,
					rules.Notification(spec.MethodResourcesUpdated):      u.updated,
				}, AtEnd: u.end}
			},
		},
	}
}

// subscribedURIs judges whether requests for subscriptions are served.
// That a result which only confirms is empty, another rule sees to.
type subscribedURIs struct {
	on map[string]bool // URIs that the server confirmed
}

func (a *subscribedURIs) subscribed(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	asked, ok := uriOf(obs.Request)
	if !ok || !isFirstResponse(s, obs) {
		return
	}
	d := verdict.Deviation{Requirement: subscribeConfirmed, Permitted: "{}, or an object with only _meta", Seen: rules.Excerpt(obs.Message.Raw), At: rules.At(obs.Request.Event, obs.Event)}
	_, listed := ledgers.Of(s).resource(asked)
	switch {
	case !s.ServerDeclared("resources.subscribe"):
		judgeUnsupported(s, obs, d, out)
	case !obs.Message.IsError():
		a.on[asked] = true
		out.CameUp(subscribeConfirmed)
	case listed:
		d.Summary = "The server refuses a subscription to a listed resource."
		out.Deviates(d)
	}
}

// judgeUnsupported judges a subscription with a server that declares resources and
// no subscriptions.
func judgeUnsupported(s *rules.Session, obs *rules.Observation, d verdict.Deviation, out *rules.Reporter) {
	switch {
	case !s.ServerDeclared("resources") || !out.IsInterpretable(obs, rules.PingControl(), subscribeRefused):
	case obs.Message.IsError():
		out.CameUp(subscribeRefused)
	default:
		d.Requirement, d.Summary, d.Permitted = subscribeRefused, "The server accepts a subscription without declaring subscriptions.", "an error, or the capability resources.subscribe"
		out.Deviates(d)
	}
}

func (a *subscribedURIs) unsubscribed(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	asked, ok := uriOf(obs.Request)
	if !ok || !isFirstResponse(s, obs) || !a.on[asked] {
		return
	}
	d := verdict.Deviation{Requirement: unsubscribed, Permitted: "{}, or an object with only _meta", Seen: rules.Excerpt(obs.Message.Raw), At: rules.At(obs.Request.Event, obs.Event)}
	if obs.Message.IsError() {
		d.Summary = "The server refuses to end a subscription that it accepted."
		if code, _ := obs.Message.ErrorCode(); code == int64(spec.CodeMethodNotFound) {
			d.Weight = verdict.OnlyNote // no page has the method, only the schema
		}
		out.Deviates(d)
		return
	}
	out.CameUp(unsubscribed)
	delete(a.on, asked)
}

// updates follows subscriptions and the notifications that result from them.
type updates struct {
	asked   bool                          // for any subscription, whatever the answer
	fence   int                           // the position of the newest request that was answered: what came before it was read
	lines   map[string]*subscriptionState // by URI
	ordered []*subscriptionState
}

// subscriptionState is what is known of the dealings over one URI.
type subscriptionState struct {
	uri string
	// pending counts requests to subscribe that may be in force.
	pending   int
	confirmed *transcript.Event  // that the last subscription is in force
	leaving   bool               // an unsubscribe was sent
	left      *rules.Observation // the answer that ended it
	// What the reads of the URI showed while it was subscribed to: the last
	// contents, whether they came twice, and the changes after that.
	last    *rules.Observation
	steady  bool
	changes []*observedChange
	// notified is where updates of the URI, or below it, came.
	notified []int
}

// observedChange is a change that a read showed.
type observedChange struct {
	by        *rules.Observation
	steadyAt  int               // the position of the last read before the change
	confirmed *transcript.Event // the subscription in force
	// until is the request that ends the subscription, or begins another: a
	// server may drop what it has not told of by then. Nil where there was none.
	until *transcript.Event
}

// until says that the subscription was in force until the event.
func (l *subscriptionState) until(e *transcript.Event) {
	for _, c := range l.changes {
		if c.until == nil {
			c.until = e
		}
	}
}

func (u *updates) stateOf(uri string) *subscriptionState {
	l := u.lines[uri]
	if l == nil {
		l = &subscriptionState{uri: uri}
		u.lines[uri] = l
		u.ordered = append(u.ordered, l)
	}
	return l
}

func (u *updates) answer(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	u.fence = max(u.fence, obs.Request.Event.Seq)
}

func (u *updates) subscribe(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	u.asked = true
	if asked, ok := uriOf(obs.Request); ok {
		l := u.stateOf(asked)
		l.pending++
		l.leaving, l.left = false, nil
		l.until(obs.Event)
		l.last, l.steady = nil, false
	}
}

func (u *updates) confirmed(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	if asked, ok := uriOf(obs.Request); ok && isFirstResponse(s, obs) {
		u.stateOf(asked).confirmed = obs.Event
	}
}

func (u *updates) unsubscribe(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	if asked, ok := uriOf(obs.Request); ok {
		l := u.stateOf(asked)
		l.leaving = true
		l.until(obs.Event)
	}
}

func (u *updates) ended(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	if asked, ok := uriOf(obs.Request); ok && isFirstResponse(s, obs) {
		l := u.stateOf(asked)
		if l.leaving && l.pending == 1 && l.confirmed != nil { // of several, one may be left
			l.left, l.pending, l.last, l.steady = obs, 0, nil, false
		}
	}
}

// read takes note of a change that two reads show. One read alone may change
// what the next shows, so the contents have to come twice before that.
func (u *updates) read(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	asked, _ := uriOf(obs.Request)
	l := u.lines[asked]
	if l == nil || l.confirmed == nil || !isFirstResponse(s, obs) || l.leaving && l.left == nil {
		return
	}
	same := l.last != nil && bytes.Equal(wire.At(l.last.Message.Result(), "/contents"), wire.At(obs.Message.Result(), "/contents"))
	switch {
	case l.last == nil || same:
		l.steady = same
	case l.left != nil:
		if !l.told(l.last.Event.Seq, obs.Event.Seq) {
			out.CameUp(updatesStop) // it changed, and nobody said so
		}
	case l.steady:
		l.changes = append(l.changes, &observedChange{by: obs, steadyAt: l.last.Event.Seq, confirmed: l.confirmed})
		l.steady = false
	default:
		l.steady = false
	}
	l.last = obs
}

func (u *updates) updated(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !s.Began() || s.Era() != spec.Handshake {
		return
	}
	about, _ := wire.Text(wire.At(obs.Message.Params(), "/uri"))
	for _, l := range u.ordered {
		if covers(l.uri, about) {
			l.notified = append(l.notified, obs.Event.Seq)
		}
	}
	d := verdict.Deviation{Seen: rules.Excerpt(obs.Message.Raw), At: rules.At(obs.Event)}
	if !s.ServerDeclared("resources.subscribe") {
		d.Requirement, d.Summary = updateUndeclared, "The server sends a resource update without declaring subscriptions."
		d.Permitted, d.At = "no updates, or the capability resources.subscribe", rules.At(s.Initialize.Responses[0].Event, obs.Event)
		out.Deviates(d)
		return
	}
	out.CameUp(updateUndeclared)
	if about == "" {
		return // it can't be told what it is about, which is a matter of its shape
	}
	if !u.asked {
		d.Requirement, d.Summary, d.Permitted = updateUnsubscribed, "The server sends a resource update without a subscription.", "updates only of what was subscribed to"
		out.Deviates(d)
		return
	}
	out.CameUp(updateUnsubscribed)
	u.judgeLate(obs, about, d, out)
}

// crossing is how long after the end of a subscription an update may have been
// on its way still.
const crossing = 100 * time.Millisecond

// judgeLate judges an update of what is not subscribed to any more. One that was on
// its way may cross the answer, so something asked for after that must have
// been answered before the update came, and some time must have passed.
func (u *updates) judgeLate(obs *rules.Observation, about string, d verdict.Deviation, out *rules.Reporter) {
	l := u.lines[about]
	if l == nil || l.left == nil || obs.Event.At-l.left.Event.At < crossing || u.fence < l.left.Event.Seq {
		return
	}
	for _, other := range u.ordered {
		if other != l && other.left == nil && covers(other.uri, about) {
			return
		}
	}
	d.Requirement, d.Summary, d.Permitted = updatesStop, "The server sends a resource update after the subscription ended.", "no more updates of the resource"
	d.At = rules.At(l.left.Request.Event, l.left.Event, obs.Event)
	out.Deviates(d)
}

// covers reports whether a subscription may stand for updates of the URI: they
// may name something below what was subscribed to.
func covers(subscribed, about string) bool { return strings.HasPrefix(about, subscribed) }

// told reports whether an update came between two positions.
func (l *subscriptionState) told(from, to int) bool {
	return slices.ContainsFunc(l.notified, func(at int) bool { return from < at && at < to })
}

// upTo is the position up to which an update tells of the change: those that
// come later are of another subscription.
func (c *observedChange) upTo() int {
	if c.until == nil {
		return math.MaxInt
	}
	return c.until.Seq
}

// end judges changes that reads showed: the update may come at any time, also
// before the read that shows the change. One that comes later stands for all
// changes before it.
func (u *updates) end(s *rules.Session, out *rules.Reporter) {
	if !s.ServerDeclared("resources.subscribe") {
		return
	}
	for _, l := range u.ordered {
		for _, c := range l.changes {
			switch {
			case l.told(c.steadyAt, c.upTo()):
				out.CameUp(updateSent)
			case u.fence > c.by.Event.Seq && c.hadTime(s):
				out.Deviates(verdict.Deviation{
					Requirement: updateSent,
					Summary:     "The server sends no update of a changed, subscribed resource.",
					Permitted:   "notifications/resources/updated",
					Seen:        "other contents than before, twice the same: " + rules.Excerpt(c.by.Message.Raw),
					At:          rules.At(c.confirmed, c.by.Event),
				})
			}
		}
	}
}

// hadTime reports whether the server had the time to tell of the change while the
// subscription was in force.
func (c *observedChange) hadTime(s *rules.Session) bool {
	if c.until != nil {
		return c.until.At-c.by.Event.At >= verdict.NoticeTime
	}
	return isAnsweredLater(s, c.by.Event)
}
