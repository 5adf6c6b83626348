package verdict

import (
	"maps"
	"slices"
)

// A Spot is a position in a conversation.
type Spot struct {
	Conversation any  // comparable, and different for each conversation
	Position     int  // of an event in its transcript
	Ends         bool // the server ended there by itself
}

// A Sighting is one place at which a finding was seen.
type Sighting struct {
	// Spot is nil if unknown: such a finding may have any cause.
	Spot *Spot
	// Pointer is the JSON pointer (RFC 6901) into the message at the spot, "" if unknown.
	Pointer string
	// Case is the id of the running case, "" for none.
	Case string
	// Said reports that the case itself made the observation. A case judges only
	// the responses it provoked, while a rule judges the whole conversation.
	Said bool
	// Common reports that the evidence includes the error that every request gets.
	Common bool
	// Received counts the messages of the server while the case ran.
	Received int
}

// Group marks findings with a common cause, judging only by their evidence:
// the exit of one process, or one message. Each finding of a group gets the
// id of its root in Group, which is the most severe of them, and the first of
// equals. A finding with a cause of its own has no group.
func (p *Report) Group(sightings map[Key][]Sighting) {
	all := make([]appearance, len(p.Findings))
	for i := range p.Findings {
		all[i] = appearanceOf(sightings[p.Findings[i].Key()])
	}
	var roots []int
	for i := range p.Findings { // the most severe first
		f := &p.Findings[i]
		at := slices.IndexFunc(roots, func(root int) bool {
			r := &p.Findings[root]
			return r.Revision == f.Revision && r.Transport == f.Transport && all[root].sameCause(all[i])
		})
		if at < 0 {
			roots = append(roots, i)
			continue
		}
		root := &p.Findings[roots[at]]
		root.Group, f.Group = root.ID, root.ID
	}
}

// appearance is where and how a finding was seen.
type appearance struct {
	pointers map[Spot]string // into the message at each spot, "" where none is known
	cases    map[Spot]string // that ran
	said     bool
	common   bool // it was seen at the error that every request gets, and nowhere else
	received int  // while its cases ran, the fewest
}

func appearanceOf(seen []Sighting) appearance {
	a := appearance{pointers: map[Spot]string{}, cases: map[Spot]string{}}
	a.common = len(seen) > 0 && !slices.ContainsFunc(seen, func(s Sighting) bool { return !s.Common })
	for _, s := range seen {
		if s.Spot == nil {
			return appearance{common: a.common}
		}
		if s.Said {
			a.said = true
			if len(a.pointers) == 0 || s.Received < a.received {
				a.received = s.Received
			}
		}
		a.pointers[*s.Spot] = s.Pointer
		a.cases[*s.Spot] = s.Case
	}
	return a
}

// sameCause reports whether two findings have one cause: they were seen at the
// same ends of a process and nowhere else, at the error that every request gets,
// at the same value of one message, or in the same messages and no others. What
// is known to be about two values of a message has two causes.
func (a appearance) sameCause(b appearance) bool {
	if a.common && b.common {
		return true
	}
	shared, value := 0, false
	for spot, pointer := range a.pointers {
		other, both := b.pointers[spot]
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
		return shared == len(a.pointers) && shared == len(b.pointers)
	}
}

// several is how many messages of the server have to come while a case runs, so
// that it means something that two judges object to the same one of them.
const several = 3

// within reports whether a rule, which looks everywhere, saw while the case ran
// each of the messages that the case names, and no others.
func (a appearance) within(rule appearance, shared int) bool {
	if shared != len(a.pointers) || a.received < several {
		return false
	}
	own := slices.Collect(maps.Values(a.cases))
	for spot, during := range rule.cases {
		if _, both := a.pointers[spot]; !both && slices.Contains(own, during) {
			return false
		}
	}
	return true
}

func (a appearance) onlyEnds() bool {
	for spot := range a.pointers {
		if !spot.Ends {
			return false
		}
	}
	return true
}
