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
				a := &subscribedURIs{confirmed: map[string]bool{}}
				return rules.Fold{Shared: readsLedger, OnMessage: rules.Handlers{
					rules.ResultOf(spec.MethodResourcesSubscribe):   a.judgeSubscribe,
					rules.ErrorTo(spec.MethodResourcesSubscribe):    a.judgeSubscribe,
					rules.ResultOf(spec.MethodResourcesUnsubscribe): a.judgeUnsubscribe,
					rules.ErrorTo(spec.MethodResourcesUnsubscribe):  a.judgeUnsubscribe,
				}}
			},
		},
		{
			ID:           "rule.updates-wanted",
			Title:        "updates go only to subscribers, while the subscription exists",
			Requirements: []string{updateUndeclared, updateUnsubscribed, updatesStop, updateSent},
			Start: func() rules.Fold {
				u := &updates{byURI: map[string]*subscriptionState{}}
				return rules.Fold{OnMessage: rules.Handlers{
					rules.ResultOf(""): u.noteResponse,
					rules.ErrorTo(""):  u.noteResponse,
					rules.ClientRequest(spec.MethodResourcesSubscribe):   u.noteSubscribe,
					rules.ResultOf(spec.MethodResourcesSubscribe):        u.noteConfirmed,
					rules.ClientRequest(spec.MethodResourcesUnsubscribe): u.noteUnsubscribe,
					rules.ResultOf(spec.MethodResourcesUnsubscribe):      u.noteUnsubscribed,
					rules.ResultOf(spec.MethodResourcesRead):             u.judgeRead,
					rules.Notification(spec.MethodResourcesUpdated):      u.judgeUpdate,
				}, AtEnd: u.end}
			},
		},
	}
}

// subscribedURIs judges whether subscription requests are served. Another rule checks that a
// successful result is empty.
type subscribedURIs struct {
	confirmed map[string]bool // URIs whose subscription the server confirmed
}

func (a *subscribedURIs) judgeSubscribe(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	requestedURI, ok := uriOf(obs.Request)
	if !ok || !isFirstResponse(s, obs) {
		return
	}
	d := verdict.Deviation{Requirement: subscribeConfirmed, Permitted: "{}, or an object with only _meta", Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Request.Event, obs.Event)}
	_, listed := ledgers.Of(s).listedResource(requestedURI)
	switch {
	case !s.ServerDeclared("resources.subscribe"):
		judgeUnsupported(s, obs, d, out)
	case !obs.Message.IsError():
		a.confirmed[requestedURI] = true
		out.MarkObserved(subscribeConfirmed)
	case listed:
		d.Summary = "The server refuses a subscription to a listed resource."
		out.Report(d)
	}
}

// judgeUnsupported judges a subscription request to a server that declares resources but not
// subscriptions.
func judgeUnsupported(s *rules.Session, obs *rules.Observation, d verdict.Deviation, out *rules.Reporter) {
	switch {
	case !s.ServerDeclared("resources") || !out.RequireInterpretable(obs, rules.PingControl(), subscribeRefused):
	case obs.Message.IsError():
		out.MarkObserved(subscribeRefused)
	default:
		d.Requirement, d.Summary, d.Permitted = subscribeRefused, "The server accepts a subscription without declaring subscriptions.", "an error, or the capability resources.subscribe"
		s.ShowDeclared(&d)
		out.Report(d)
	}
}

func (a *subscribedURIs) judgeUnsubscribe(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	requestedURI, ok := uriOf(obs.Request)
	if !ok || !isFirstResponse(s, obs) || !a.confirmed[requestedURI] {
		return
	}
	d := verdict.Deviation{Requirement: unsubscribed, Permitted: "{}, or an object with only _meta", Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Request.Event, obs.Event)}
	if obs.Message.IsError() {
		d.Summary = "The server refuses to end a subscription that it accepted."
		if code, _ := obs.Message.ErrorCode(); code == int64(spec.CodeMethodNotFound) {
			d.Weight = verdict.OnlyNote // only the schema has the method, no page of the specification
		}
		out.Report(d)
		return
	}
	out.MarkObserved(unsubscribed)
	delete(a.confirmed, requestedURI)
}

// updates tracks subscriptions and the notifications for them.
type updates struct {
	isRequested bool                          // any subscription was requested, whatever the response
	fence       int                           // the position of the newest request that was answered: the server has read everything before it
	byURI       map[string]*subscriptionState // by URI
	ordered     []*subscriptionState
}

// subscriptionState is the state of the subscriptions to one URI.
type subscriptionState struct {
	uri string
	// pending counts the subscription requests without a response, whose subscriptions may already
	// be in force.
	pending   int
	confirmed *transcript.Event  // the result that put the last subscription in force
	leaving   bool               // an unsubscribe was sent
	left      *rules.Observation // the result of the unsubscribe request
	// What reads of the URI showed during the subscription: the last read, whether the read before
	// it returned the same contents, and the changes that followed two equal reads.
	last    *rules.Observation
	steady  bool
	changes []*observedChange
	// notified has the positions of updates for the URI or below it.
	notified []int
}

// observedChange is a change that a read showed.
type observedChange struct {
	shownBy   *rules.Observation
	steadyAt  int               // the position of the last read before the change
	confirmed *transcript.Event // the subscription in force
	// until is the request that ends the subscription or begins another; nil if there is none. A
	// server may drop updates that it has not sent by then.
	until *transcript.Event
}

// endChanges records in each open change that its subscription ended at e.
func (l *subscriptionState) endChanges(e *transcript.Event) {
	for _, c := range l.changes {
		if c.until == nil {
			c.until = e
		}
	}
}

func (u *updates) stateOf(uri string) *subscriptionState {
	l := u.byURI[uri]
	if l == nil {
		l = &subscriptionState{uri: uri}
		u.byURI[uri] = l
		u.ordered = append(u.ordered, l)
	}
	return l
}

func (u *updates) noteResponse(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	u.fence = max(u.fence, obs.Request.Event.Seq)
}

func (u *updates) noteSubscribe(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	u.isRequested = true
	if requestedURI, ok := uriOf(obs.Request); ok {
		l := u.stateOf(requestedURI)
		l.pending++
		l.leaving, l.left = false, nil
		l.endChanges(obs.Event)
		l.last, l.steady = nil, false
	}
}

func (u *updates) noteConfirmed(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	if requestedURI, ok := uriOf(obs.Request); ok && isFirstResponse(s, obs) {
		u.stateOf(requestedURI).confirmed = obs.Event
	}
}

func (u *updates) noteUnsubscribe(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	if requestedURI, ok := uriOf(obs.Request); ok {
		l := u.stateOf(requestedURI)
		l.leaving = true
		l.endChanges(obs.Event)
	}
}

func (u *updates) noteUnsubscribed(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	if requestedURI, ok := uriOf(obs.Request); ok && isFirstResponse(s, obs) {
		l := u.stateOf(requestedURI)
		if l.leaving && l.pending == 1 && l.confirmed != nil { // with several subscriptions, one may remain
			l.left, l.pending, l.last, l.steady = obs, 0, nil, false
		}
	}
}

// judgeRead records a change between two reads. Reading itself may change the contents, so the two
// reads before the change must have returned equal contents.
func (u *updates) judgeRead(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	requestedURI, _ := uriOf(obs.Request)
	l := u.byURI[requestedURI]
	if l == nil || l.confirmed == nil || !isFirstResponse(s, obs) || l.leaving && l.left == nil {
		return
	}
	same := l.last != nil && bytes.Equal(l.last.Message.ResultAt("/contents"), obs.Message.ResultAt("/contents"))
	switch {
	case l.last == nil || same:
		l.steady = same
	case l.left != nil:
		if !l.wasUpdatedBetween(l.last.Event.Seq, obs.Event.Seq) {
			out.MarkObserved(updatesStop) // the resource changed, and no update was sent
		}
	case l.steady:
		l.changes = append(l.changes, &observedChange{shownBy: obs, steadyAt: l.last.Event.Seq, confirmed: l.confirmed})
		l.steady = false
	default:
		l.steady = false
	}
	l.last = obs
}

func (u *updates) judgeUpdate(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !s.Began() || s.Era() != spec.Handshake {
		return
	}
	updatedURI, _ := wire.Text(obs.Message.ParamAt("/uri"))
	for _, l := range u.ordered {
		if coversUpdate(l.uri, updatedURI) {
			l.notified = append(l.notified, obs.Event.Seq)
		}
	}
	d := verdict.Deviation{Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Event)}
	if !s.ServerDeclared("resources.subscribe") {
		d.Requirement, d.Summary = updateUndeclared, "The server sends a resource update without declaring subscriptions."
		d.Permitted, d.At = "no updates, or the capability resources.subscribe", rules.PositionsOf(s.Initialize.Responses[0].Event, obs.Event)
		d.Earlier = "/result/capabilities"
		out.Report(d)
		return
	}
	out.MarkObserved(updateUndeclared)
	if updatedURI == "" {
		return // the URI is missing or malformed; the rules on shapes judge that
	}
	if !u.isRequested {
		d.Requirement, d.Summary, d.Permitted = updateUnsubscribed, "The server sends a resource update without a subscription.", "updates only for subscribed resources"
		out.Report(d)
		return
	}
	out.MarkObserved(updateUnsubscribed)
	u.judgeLateUpdate(obs, updatedURI, d, out)
}

// transitTime is how long after the end of a subscription an update may still be in transit.
const transitTime = 100 * time.Millisecond

// judgeLateUpdate judges an update after the subscription ended. The server may have sent the
// update before the response to resources/unsubscribe, but on another stream. So the update counts
// only if a request sent after that response was answered before the update came, and if
// transitTime has passed.
func (u *updates) judgeLateUpdate(obs *rules.Observation, updatedURI string, d verdict.Deviation, out *rules.Reporter) {
	l := u.byURI[updatedURI]
	if l == nil || l.left == nil || obs.Event.At-l.left.Event.At < transitTime || u.fence < l.left.Event.Seq {
		return
	}
	for _, other := range u.ordered {
		if other != l && other.left == nil && coversUpdate(other.uri, updatedURI) {
			return
		}
	}
	d.Requirement, d.Summary, d.Permitted = updatesStop, "The server sends a resource update after the subscription ended.", "no more updates of the resource"
	d.At = rules.PositionsOf(l.left.Request.Event, l.left.Event, obs.Event)
	out.Report(d)
}

// coversUpdate reports whether a subscription covers updates of the URI: an update may name a
// resource below the subscribed URI.
func coversUpdate(subscribed, updatedURI string) bool {
	return strings.HasPrefix(updatedURI, subscribed)
}

// wasUpdatedBetween reports whether an update came between two positions.
func (l *subscriptionState) wasUpdatedBetween(from, to int) bool {
	return slices.ContainsFunc(l.notified, func(at int) bool { return from < at && at < to })
}

// updateLimit returns the position before which an update may announce the change. Later updates
// belong to another subscription.
func (c *observedChange) updateLimit() int {
	if c.until == nil {
		return math.MaxInt
	}
	return c.until.Seq
}

// end judges the changes that reads showed. The update for a change may come at any time, even
// before the read that shows the change. A later update covers all changes before it.
func (u *updates) end(s *rules.Session, out *rules.Reporter) {
	if !s.ServerDeclared("resources.subscribe") {
		return
	}
	for _, l := range u.ordered {
		for _, c := range l.changes {
			switch {
			case l.wasUpdatedBetween(c.steadyAt, c.updateLimit()):
				out.MarkObserved(updateSent)
			case u.fence > c.shownBy.Event.Seq && c.hadTime(s):
				out.Report(verdict.Deviation{
					Requirement: updateSent,
					Summary:     "The server sends no update of a changed, subscribed resource.",
					Permitted:   "notifications/resources/updated",
					Seen:        "the contents changed after two equal reads: " + rules.Excerpt(c.shownBy.Message.Raw),
					At:          rules.PositionsOf(c.confirmed, c.shownBy.Event),
				})
			}
		}
	}
}

// hadTime reports whether the server had enough time to announce the change while the
// subscription was in force.
func (c *observedChange) hadTime(s *rules.Session) bool {
	if c.until != nil {
		return c.until.At-c.shownBy.Event.At >= verdict.NoticeTime
	}
	return isAnsweredLater(s, c.shownBy.Event)
}
