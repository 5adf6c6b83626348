package serverfeatures

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func changeRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.resource-changes-declared",
			Title:        "a server that announces changes to the list of resources declares listChanged",
			Requirements: []string{resourcesChanged24, resourcesChanged25},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.Notification(spec.MethodResourcesChanged): judgeChangeDeclared}}),
		},
		{
			ID:           "rule.resource-changes-told",
			Title:        "a server that declares resources.listChanged announces changes to the list",
			Requirements: []string{resourcesChangeSent, resourcesListenAnnounced},
			Start: func() rules.Fold {
				c := &changedLists{}
				return rules.Fold{Shared: readsLedger, OnMessage: rules.MergeHandlers(c.subscriptions.handlers(), rules.Handlers{
					rules.Notification(spec.MethodResourcesChanged): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
						c.announced = append(c.announced, obs.Event.Seq)
					},
				}, onPages(c.notePage)), AtEnd: c.end}
			},
		},
		{
			ID:           "rule.resource-updates-delivered",
			Title:        "a subscription to a resource brings an update when the resource has changed",
			Requirements: []string{updateDelivered},
			Start: func() rules.Fold {
				d := &deliveredUpdates{last: map[string]*resourceReads{}}
				return rules.Fold{OnMessage: rules.MergeHandlers(d.subscriptions.handlers(), rules.Handlers{
					rules.ResultOf(spec.MethodResourcesRead):        d.noteRead,
					rules.Notification(spec.MethodResourcesUpdated): d.noteUpdate,
				}), AtEnd: d.end}
			},
		},
	}
}

func judgeChangeDeclared(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !s.Began() || s.Era() != spec.Handshake {
		return
	}
	requirement := resourcesChanged24
	if out.Judges(resourcesChanged25) {
		requirement = resourcesChanged25
	}
	if s.ServerDeclared("resources.listChanged") {
		out.MarkObserved(requirement)
		return
	}
	out.Report(verdict.Deviation{
		Requirement: requirement,
		Summary:     "The server sends resources/list_changed without declaring it.",
		Permitted:   "no such notification, or the capability resources.listChanged",
		Seen:        rules.Excerpt(obs.Message.Raw),
		At:          rules.PositionsOf(s.Initialize.Responses[0].Event, obs.Event),
		Earlier:     "/result/capabilities",
	})
}

// changedLists compares each complete walk with the one before.
type changedLists struct {
	before    *completeWalk
	announced []int // the positions of the notifications
	// subscriptions are the subscriptions of the stateless era.
	subscriptions subscriptions
	// unannounced are the changes that were seen before any notification of them.
	unannounced []unannouncedChange
}

type completeWalk struct {
	pages []*page
	uris  []string // sorted
}

type unannouncedChange struct{ from, to *completeWalk }

func (c *changedLists) notePage(s *rules.Session, p *page, out *rules.Reporter) {
	if p.method != spec.MethodResourcesList || p.refused || p.hasNext || !s.ServerDeclared("resources.listChanged") {
		return
	}
	chain := p.pagesFromFirst()
	uris, ok := ledgers.Of(s).itemKeys(spec.MethodResourcesList)
	if chain == nil || !ok {
		return
	}
	slices.Sort(uris)
	now := &completeWalk{chain, slices.Compact(uris)}
	before := c.before
	c.before = now
	if before == nil || slices.Equal(before.uris, now.uris) {
		return
	}
	if slices.ContainsFunc(c.announced, func(at int) bool { return at > before.startPosition() }) {
		out.MarkObserved(resourcesChangeSent)
		out.MarkObserved(resourcesListenAnnounced)
	} else {
		c.unannounced = append(c.unannounced, unannouncedChange{before, now})
	}
}

func (w *completeWalk) startPosition() int           { return w.pages[0].request.Event.Seq }
func (w *completeWalk) lastEvent() *transcript.Event { return w.pages[len(w.pages)-1].event }

// end judges the changes that were not announced in time. A notification may come late, so the
// conversation must have continued for a while.
func (c *changedLists) end(s *rules.Session, out *rules.Reporter) {
	for _, x := range c.unannounced {
		switch {
		case slices.ContainsFunc(c.announced, func(at int) bool { return at > x.from.startPosition() }):
			out.MarkObserved(resourcesChangeSent)
			out.MarkObserved(resourcesListenAnnounced)
		case s.Era() == spec.Handshake && s.Exchanges().RefusedAllGets(), s.Era() == spec.Stateless && !c.isSubscribed(x):
		case isAnsweredLater(s, x.to.lastEvent()):
			first, last := x.from.pages[0], x.to.pages[len(x.to.pages)-1]
			requirement := resourcesChangeSent
			if s.Era() == spec.Stateless {
				requirement = resourcesListenAnnounced
			}
			out.Report(verdict.Deviation{
				Requirement: requirement,
				Summary:     "The server sends no notification of a changed resource list.",
				Permitted:   "notifications/resources/list_changed",
				Seen:        fmt.Sprintf("a list of %d resources, then one of %d, not all the same", len(x.from.uris), len(x.to.uris)),
				At:          rules.PositionsOf(first.request.Event, first.event, last.request.Event, last.event),
			})
		}
	}
}

// isSubscribed reports whether a subscription to the list was open while it changed.
func (c *changedLists) isSubscribed(x unannouncedChange) bool {
	_, ok := c.subscriptions.openDuring(spec.FilterMember(spec.MethodResourcesChanged), "", x.from.startPosition(), x.to.lastEvent().Seq)
	return ok
}

// deliveredUpdates compares the reads of each resource, and records the updates that the server
// sends.
type deliveredUpdates struct {
	subscriptions subscriptions
	last          map[string]*resourceReads
	order         []*resourceReads
	announced     []resourceUpdate
}

// resourceReads tracks the reads of one resource: the last read, whether its contents equalled
// those of the read before, and the changes after that. A read itself may change the contents, so a
// change counts only after two reads with equal contents.
type resourceReads struct {
	uri     string
	last    *rules.Observation
	steady  bool
	changes []resourceChange
}

// resourceChange is a change between two reads.
type resourceChange struct{ before, after *rules.Observation }

type resourceUpdate struct {
	uri      string
	position int
}

func (d *deliveredUpdates) noteRead(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	requestedURI, ok := uriOf(obs.Request)
	if !ok || s.Era() != spec.Stateless || !isFirstResponse(s, obs) {
		return
	}
	r := d.last[requestedURI]
	if r == nil {
		r = &resourceReads{uri: requestedURI}
		d.last[requestedURI] = r
		d.order = append(d.order, r)
	}
	same := r.last != nil && bytes.Equal(r.last.Message.ResultAt("/contents"), obs.Message.ResultAt("/contents"))
	if r.last != nil && !same && r.steady {
		r.changes = append(r.changes, resourceChange{r.last, obs})
	}
	r.last, r.steady = obs, same
}

func (d *deliveredUpdates) noteUpdate(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	updatedURI, _ := wire.Text(obs.Message.ParamAt("/uri"))
	d.announced = append(d.announced, resourceUpdate{updatedURI, obs.Event.Seq})
}

// end judges whether the server announced each change that the reads show. It judges at the end,
// because an update may come after the read that shows the change.
func (d *deliveredUpdates) end(s *rules.Session, out *rules.Reporter) {
	for _, r := range d.order {
		for _, c := range r.changes {
			subscription, ok := d.subscriptions.openDuring("resourceSubscriptions", r.uri, c.before.Event.Seq, c.after.Event.Seq)
			announced := slices.ContainsFunc(d.announced, func(u resourceUpdate) bool { return coversUpdate(r.uri, u.uri) && u.position > c.before.Event.Seq })
			switch {
			case !ok || !s.ServerDeclared("resources.subscribe"):
			case announced:
				out.MarkObserved(updateDelivered)
			case isAnsweredLater(s, c.after.Event) && subscription.endPosition() > c.after.Event.Seq:
				out.Report(verdict.Deviation{
					Requirement: updateDelivered,
					Summary:     "The server sends no update of a changed resource to its subscription.",
					Permitted:   "notifications/resources/updated on the subscription",
					Seen:        "the contents changed after two equal reads: " + rules.Excerpt(c.after.Message.Raw),
					At:          rules.PositionsOf(subscription.request.Event, c.before.Event, c.after.Event),
				})
			}
		}
	}
}

// isAnsweredLater reports whether the server answered a request that was sent long enough after the
// event for the server to announce a change in between.
func isAnsweredLater(s *rules.Session, e *transcript.Event) bool {
	for _, req := range slices.Backward(s.ClientRequests()) {
		if req.Event.Seq <= e.Seq || req.Event.At-e.At < verdict.NoticeTime {
			return false // requests before this one were sent even sooner after e, or before it
		}
		if len(req.Responses) > 0 {
			return true
		}
	}
	return false
}
