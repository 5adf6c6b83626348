package serverfeatures

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// uniqueNames looks for names that occur twice. The same item on two pages is judged by the rules
// on pagination.
func (f *feature) uniqueNames() rules.Fold {
	return rules.Fold{Shared: readsCatalog, OnMessage: rules.Handlers{rules.ResultOf(f.method): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		p, ok := catalogs.Of(s).listState(f.method).partOfResult(s, obs)
		if !ok {
			return
		}
		onPage := map[string]bool{}
		for _, i := range p.items {
			if !i.text { // another rule judges a name that is not a string
				continue
			}
			name := i.key
			again, at := onPage[name], []*transcript.Event{p.event}
			onPage[name] = true
			if !again && p.walk != nil {
				if before := p.walk.items[name]; before != nil && string(before) != string(i.raw) {
					again, at = true, append(slices.Clone(p.walk.pages), p.event)
				}
			}
			for _, id := range f.uniqueIDs {
				if !again {
					out.MarkObserved(id)
					continue
				}
				out.Report(verdict.Deviation{
					Requirement: id,
					Summary:     "The server lists two " + f.things + " with the same name.",
					Permitted:   "a name of its own for each " + f.thing,
					Seen:        "the name " + rules.Excerpt(wire.Quote(name)) + " twice",
					At:          rules.PositionsOf(at...),
				})
			}
		}
	}}}
}

// undeclaredChanges judges change notifications from a server that does not declare listChanged. It
// judges at the end, because a notification before the response to initialize may turn out to be
// declared.
func (f *feature) undeclaredChanges() rules.Fold {
	var announced []*transcript.Event
	alive := false
	return rules.Fold{
		OnMessage: rules.Handlers{
			rules.Notification(f.changed): func(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
				if s.Initialize != nil {
					announced = append(announced, obs.Event)
				}
			},
			rules.ResultOf(""): func(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) { alive = alive || isRegular(s, obs) },
		},
		AtEnd: func(s *rules.Session, out *rules.Reporter) {
			if !s.Began() {
				return
			}
			capability := f.capability + ".listChanged"
			for _, id := range f.onlyIfDeclared {
				for _, e := range announced {
					if s.ServerDeclared(capability) {
						out.MarkObserved(id)
						continue
					}
					out.Report(verdict.Deviation{
						Requirement: id,
						Summary:     "The server sends " + f.things + "/list_changed without declaring it.",
						Permitted:   capability + ": true in the answer to initialize, or no such notification",
						Seen:        rules.Excerpt(e.Raw),
						At:          rules.PositionsOf(s.Declaration.Responses[0].Event, e),
						Earlier:     "/result/capabilities",
					})
				}
				if alive && len(announced) == 0 && !s.ServerDeclared(capability) {
					out.MarkObserved(id)
				}
			}
		},
	}
}

// listChange is a difference between two walks through a list.
type listChange struct{ before, after *listWalk }

// unannouncedChanges compares each complete walk with the one before. The notification may come
// before or after the walk that shows the change.
func (f *feature) unannouncedChanges() rules.Fold {
	var last *listWalk
	var seen []listChange
	var announced []int
	l := &subscriptions{}
	// compare looks at the last complete walk, which stays the same until the next one ends.
	compare := func(s *rules.Session) {
		w := catalogs.Of(s).listState(f.method).latest
		if last != nil && w != last && w.begun > last.begun && !haveEqualNames(last, w) {
			seen = append(seen, listChange{last, w})
		}
		last = w
	}
	return rules.Fold{
		Shared: readsCatalog,
		OnMessage: rules.MergeHandlers(rules.Handlers{
			rules.ResultOf(f.method): func(s *rules.Session, _ *rules.Observation, _ *rules.Reporter) { compare(s) },
			rules.Notification(f.changed): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
				announced = append(announced, obs.Event.Seq)
			},
		}, l.handlers()),
		AtEnd: func(s *rules.Session, out *rules.Reporter) {
			compare(s)
			if !s.ServerDeclared(f.capability + ".listChanged") {
				return
			}
			requirement, unreachable := f.announced, s.Exchanges().RefusedAllGets()
			for _, c := range seen {
				if s.Era() == spec.Stateless { // only subscribers are notified
					_, subscribed := l.openDuring(spec.FilterMember(f.changed), "", c.before.begun, c.after.pages[len(c.after.pages)-1].Seq)
					requirement, unreachable = f.announcedOnListen, !subscribed
				}
				if len(announced) > 0 && announced[len(announced)-1] > c.before.begun {
					out.MarkObserved(requirement)
					continue
				}
				if unreachable || !isAnsweredLater(s, c.after.pages[len(c.after.pages)-1]) {
					continue
				}
				out.Report(verdict.Deviation{
					Requirement: requirement,
					Summary:     "The server sends no notification of a changed list of " + f.things + ".",
					Permitted:   f.changed + " for each change, because listChanged is declared",
					Seen:        rules.Excerpt(firstDifference(c.before, c.after)),
					At:          rules.PositionsOf(append(slices.Clone(c.before.pages), c.after.pages...)...),
				})
			}
		},
	}
}

func haveEqualNames(a, b *listWalk) bool {
	return maps.EqualFunc(a.items, b.items, func(_, _ jsontext.Value) bool { return true })
}

// firstDifference describes an item that is in only one of the two walks. It returns "" if there is
// none.
func firstDifference(before, after *listWalk) string {
	for _, name := range slices.Sorted(maps.Keys(after.items)) {
		if before.items[name] == nil {
			return string(wire.Quote(name)) + " is new"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.items)) {
		if after.items[name] == nil {
			return string(wire.Quote(name)) + " is gone"
		}
	}
	return ""
}
