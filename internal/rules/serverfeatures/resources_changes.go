package serverfeatures

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func changeRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.resource-changes-declared",
			Title:        "a server that notifies of changed resource lists declares it",
			Requirements: []string{resourcesChanged24, resourcesChanged25},
			Start:        rules.Stateless(rules.Fold{OnMessage: rules.Handlers{rules.Notification(spec.MethodResourcesChanged): judgeChangeDeclared}}),
		},
		{
			ID:           "rule.resource-changes-told",
			Title:        "a server that declares resources.listChanged notifies of changes",
			Requirements: []string{resourcesChangeSent},
			Start: func() rules.Fold {
				c := &changedLists{}
				return rules.Fold{Shared: readsLedger, OnMessage: mergeHandlers(rules.Handlers{
					rules.Notification(spec.MethodResourcesChanged): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
						c.told = append(c.told, obs.Event.Seq)
					},
				}, onPages(c.page)), AtEnd: c.end}
			},
		},
	}
}

func judgeChangeDeclared(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !s.Began() || s.Era() != spec.Handshake {
		return
	}
	requirement := resourcesChanged24
	if s.Revision().AtLeast(spec.V20250618) {
		requirement = resourcesChanged25
	}
	if s.ServerDeclared("resources.listChanged") {
		out.CameUp(requirement)
		return
	}
	out.Deviates(verdict.Deviation{
		Requirement: requirement,
		Summary:     "The server sends resources/list_changed without declaring it.",
		Permitted:   "no such notification, or the capability resources.listChanged",
		Seen:        rules.Excerpt(obs.Message.Raw),
		At:          rules.At(s.Initialize.Responses[0].Event, obs.Event),
	})
}

// changedLists compares each complete walk with the one before.
type changedLists struct {
	before *completeWalk
	told   []int // the positions of the notifications
	// silent are the changes of which nothing was said before they were seen.
	silent []silentChange
}

type completeWalk struct {
	pages []*page
	uris  []string // sorted
}

type silentChange struct{ from, to *completeWalk }

func (c *changedLists) page(s *rules.Session, p *page, out *rules.Reporter) {
	if p.method != spec.MethodResourcesList || p.refused || p.hasNext || !s.ServerDeclared("resources.listChanged") || s.Era() != spec.Handshake {
		return
	}
	chain := p.chain()
	uris, ok := ledgers.Of(s).keys(spec.MethodResourcesList)
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
	if slices.ContainsFunc(c.told, func(at int) bool { return at > before.begun() }) {
		out.CameUp(resourcesChangeSent)
	} else {
		c.silent = append(c.silent, silentChange{before, now})
	}
}

func (w *completeWalk) begun() int               { return w.pages[0].asked.Event.Seq }
func (w *completeWalk) ended() *transcript.Event { return w.pages[len(w.pages)-1].event }

// end judges the changes of which nothing was said in time: a notification
// may come late, so that the conversation has to have gone on.
func (c *changedLists) end(s *rules.Session, out *rules.Reporter) {
	for _, x := range c.silent {
		switch {
		case slices.ContainsFunc(c.told, func(at int) bool { return at > x.from.begun() }):
			out.CameUp(resourcesChangeSent)
		case isGetRefused(s):
		case isAnsweredLater(s, x.to.ended()):
			first, last := x.from.pages[0], x.to.pages[len(x.to.pages)-1]
			out.Deviates(verdict.Deviation{
				Requirement: resourcesChangeSent,
				Summary:     "The server sends no notification of a changed resource list.",
				Permitted:   "notifications/resources/list_changed",
				Seen:        fmt.Sprintf("%d resources before, %d after, not all the same", len(x.from.uris), len(x.to.uris)),
				At:          rules.At(first.asked.Event, first.event, last.asked.Event, last.event),
			})
		}
	}
}

// isAnsweredLater reports whether a request was answered that was sent so long after
// the event that the server had the time to tell of a change.
func isAnsweredLater(s *rules.Session, e *transcript.Event) bool {
	return slices.ContainsFunc(s.ClientRequests(), func(req *rules.Request) bool {
		return req.Event.Seq > e.Seq && req.Event.At-e.At >= verdict.NoticeTime && len(req.Responses) > 0
	})
}
