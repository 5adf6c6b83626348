package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Sighting is one place where a finding was seen.
type Sighting struct {
	// Events are those of the conversation, the same slice for each sighting in it.
	Events    []*transcript.Event
	Deviation *verdict.Deviation
	// Case is the case in which it was seen, "" for none.
	Case string
	// Said: the case itself says so. It looks at what it brought about alone,
	// while a rule sees the same wherever it comes up.
	Said bool
	// Common: part of what shows it is the error that every request gets.
	Common bool
}

// Group tells which findings have one cause, by what shows them and nothing
// else: the end of one process, or one message. Each finding of a group gets
// the id of the root, which is the heaviest of them, and the first of equally
// heavy ones. What stands alone has no group.
func Group(findings []verdict.Finding, seen func(f *verdict.Finding) []Sighting) {
	all := make([]appearance, len(findings))
	for i := range findings {
		all[i] = appearanceOf(seen(&findings[i]))
	}
	order := make([]int, len(findings))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(findings[b].Outcome, findings[a].Outcome)
	})
	var roots []int
	for _, i := range order {
		at := slices.IndexFunc(roots, func(root int) bool {
			return findings[root].Revision == findings[i].Revision && findings[root].Transport == findings[i].Transport && all[root].sameCause(all[i])
		})
		if at < 0 {
			roots = append(roots, i)
			continue
		}
		id := findings[roots[at]].ID
		findings[roots[at]].Group, findings[i].Group = id, id
	}
}

// appearance is where and how a finding was seen.
type appearance struct {
	// spots has the pointer into the message at each of them, "" where none
	// is known.
	spots map[spot]string
	cases map[spot]string // and the case that ran
	said  bool
	// common: it was seen at the error that every request gets, and nowhere else.
	common bool
	heard  int // messages of the server while its cases ran, the fewest
}

// spot is a position in a conversation, of which the first event tells it
// from others.
type spot struct {
	conversation *transcript.Event
	position     int
	ends         bool // the server ended there by itself
}

func appearanceOf(seen []Sighting) appearance {
	a := appearance{spots: map[spot]string{}, cases: map[spot]string{}}
	a.common = slices.ContainsFunc(seen, func(s Sighting) bool { return s.Common }) &&
		!slices.ContainsFunc(seen, func(s Sighting) bool { return !s.Common && len(s.Events) > 0 })
	for _, s := range seen {
		p, ok := s.spot()
		if !ok {
			return appearance{common: a.common} // nobody knows whether that has another cause
		}
		if s.Said {
			a.said = true
			if n := heardAround(s.Events, p.position); len(a.spots) == 0 || n < a.heard {
				a.heard = n
			}
		}
		a.spots[p] = s.Deviation.Pointer
		a.cases[p] = s.Case
	}
	return a
}

// spot returns where the deviation was seen: at the request where that got no
// answer, and at the end of the process where that is why.
func (s *Sighting) spot() (p spot, ok bool) {
	if len(s.Deviation.At) == 0 {
		return p, false
	}
	at := s.Deviation.At[len(s.Deviation.At)-1]
	if at < 0 || at >= len(s.Events) {
		return p, false
	}
	if e := s.Events[at]; e.Kind == transcript.GaveUp && e.Of >= 0 && e.Of < at {
		at = e.Of
	}
	p = spot{conversation: s.Events[0], position: at}
	if end := endAfter(s.Events, at); end >= 0 {
		p.position, p.ends = end, true
	}
	return p, true
}

// endAfter returns the position at which the server ended by itself, where the
// one given is that, or something sent after which the server said no more; -1
// otherwise.
func endAfter(events []*transcript.Event, at int) int {
	end := slices.IndexFunc(events, func(e *transcript.Event) bool {
		return e.Kind == transcript.OutputClosed || e.Kind == transcript.Exited
	})
	switch {
	case end < 0:
		return -1
	case slices.ContainsFunc(events[:end], func(e *transcript.Event) bool {
		return e.Kind == transcript.InputClosed || e.Kind == transcript.Signalled
	}):
		return -1
	case at >= end:
		if k := events[at].Kind; k != transcript.OutputClosed && k != transcript.Exited {
			return -1
		}
		return end
	case events[at].Kind != transcript.Sent:
		return -1
	case slices.ContainsFunc(events[at:end], func(e *transcript.Event) bool { return e.Kind == transcript.Received }):
		return -1
	}
	return end
}

// sameCause tells whether two findings have one cause: they were seen at the
// same ends of a process and nowhere else, at the error that every request gets,
// at the same value of one message, or in the same messages and no others. What is known to be about two values of a
// message has two causes.
func (a appearance) sameCause(b appearance) bool {
	if a.common && b.common {
		return true
	}
	shared, value := 0, false
	for p, pointer := range a.spots {
		other, both := b.spots[p]
		if !both {
			continue
		}
		if pointer != "" && other != "" && pointer != other {
			return false
		}
		shared++
		value = value || pointer != "" && pointer == other
	}
	switch {
	case shared == 0:
		return false
	case a.onlyEnds() && b.onlyEnds(), value:
		return true
	case a.said && !b.said:
		return a.within(b, shared)
	case b.said && !a.said:
		return b.within(a, shared)
	default:
		return shared == len(a.spots) && shared == len(b.spots)
	}
}

// within tells whether what a case says is what a rule, which looks everywhere,
// saw while the case ran: each of the messages, and no other of several.
func (a appearance) within(rule appearance, shared int) bool {
	if shared != len(a.spots) || a.heard < several {
		return false
	}
	own := slices.Collect(maps.Values(a.cases))
	for p, during := range rule.cases {
		if _, both := a.spots[p]; !both && slices.Contains(own, during) {
			return false
		}
	}
	return true
}

// several is how many messages of the server have to have come while a case ran,
// so that it means something that two judges object to the same one of them.
const several = 3

// heardAround counts the messages of the server while the case ran in which the
// position stands.
func heardAround(events []*transcript.Event, at int) int {
	n := 0
	for i, e := range events {
		switch {
		case e.Kind == transcript.Remark && strings.HasPrefix(e.Detail, caseMark) && i <= at:
			n = 0
		case e.Kind == transcript.Remark && strings.HasPrefix(e.Detail, caseMark):
			return n
		case e.Kind == transcript.Received:
			n++
		}
	}
	return n
}

func (a appearance) onlyEnds() bool {
	for p := range a.spots {
		if !p.ends {
			return false
		}
	}
	return true
}

// group tells which of the findings have one cause.
func (r *run) group(findings []verdict.Finding) {
	seen := map[string][]Sighting{} // by findingKey
	events := map[*transcript.Transcript][]*transcript.Event{}
	add := func(judge string, rev spec.Revision, s Sighting, record *transcript.Transcript) {
		if record == nil {
			return
		}
		if events[record] == nil {
			events[record] = record.From(0)
		}
		s.Events = events[record]
		s.Common = r.refusals.explains(rev, s.Events, s.Deviation.At)
		k := findingKey(judge, rev, s.Deviation.Requirement, s.Deviation.Summary)
		seen[k] = append(seen[k], s)
	}
	for _, u := range r.units {
		for i := range u.said {
			if s := &u.said[i]; s.Deviation != nil {
				add(s.by.ID, u.revision, Sighting{Deviation: s.Deviation, Case: s.by.ID, Said: true}, s.Record)
			}
		}
		for i := range u.ruled {
			rd := &u.ruled[i]
			for n := range rd.Deviations {
				during := ""
				if rd.during[n] != nil {
					during = rd.during[n].ID
				}
				add(rd.Rule, rd.Revision, Sighting{Deviation: &rd.Deviations[n], Case: during}, rd.record)
			}
		}
	}
	keyOf := func(f *verdict.Finding) string { return findingKey(f.Judge, f.Revision, f.Requirement, f.Summary) }
	Group(findings, func(f *verdict.Finding) []Sighting { return seen[keyOf(f)] })
	if r.o.Sighted == nil {
		return
	}
	chosen := map[string]*candidate{} // those of which the report has the evidence
	for _, c := range r.found {
		chosen[c.key()] = c
	}
	for i := range findings {
		f := &findings[i]
		if c := chosen[keyOf(f)]; c != nil && c.record != nil {
			said := c.during != nil && c.during.ID == c.judge
			r.o.Sighted(f.ID, Sighting{Events: c.record.From(0), Deviation: &c.Deviation, Case: c.caseID(), Said: said})
		}
	}
}
