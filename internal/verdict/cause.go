package verdict

import (
	"maps"
	"slices"
)

// A Spot is a position in a conversation.
type Spot struct {
	Conversation any  // comparable, and different for each conversation
	Position     int  // the position of an event in its transcript
	Ends         bool // the server ended at this position, although the client did not stop it
}

// An Occurrence is one observation of the deviation of a finding.
type Occurrence struct {
	// Spot is nil if unknown; the finding may then have any cause.
	Spot *Spot
	// Pointer is the JSON pointer (RFC 6901) of the offending value in the message at Spot, "" if
	// unknown.
	Pointer string
	// Case is the id of the case that was running, or "".
	Case string
	// ByCase reports whether the case itself made the observation. A case judges
	// only the responses that it provoked; a rule judges the whole conversation.
	ByCase bool
	// Common reports whether the evidence shows an error, or the result {}, that the server
	// returns for every request.
	Common bool
	// Received is how many messages the server sent while the case ran.
	Received int
}

// groupByCause marks findings that have a common cause according to their evidence (see
// hasSameCause). The root of a group is its most severe finding, or the first of equally severe
// ones; the field Group of each finding in the group is set to the root's id. A finding that shares
// its cause with no other has no group. The function also marks as a crash each finding that was
// seen only where the server ended.
func (p *Report) groupByCause(occurrences map[Key][]Occurrence) {
	all := make([]appearance, len(p.Findings))
	for i := range p.Findings {
		f := &p.Findings[i]
		all[i] = appearanceOf(occurrences[f.Key()])
		if endsServer(occurrences[f.Key()]) {
			f.MarkCrash()
		}
	}
	var roots []int
	for i := range p.Findings { // the most severe first
		f := &p.Findings[i]
		at := slices.IndexFunc(roots, func(root int) bool {
			r := &p.Findings[root]
			return r.Revision == f.Revision && r.Transport == f.Transport && all[root].hasSameCause(all[i])
		})
		if at < 0 {
			roots = append(roots, i)
			continue
		}
		root := &p.Findings[roots[at]]
		root.Group, f.Group = root.ID, root.ID
	}
}

// An appearance combines the occurrences of a finding.
type appearance struct {
	pointers map[Spot]string // the pointer of the offending value at each spot, "" if unknown
	cases    map[Spot]string // the case that ran at each spot
	said     bool            // a case, not only a rule, reported the finding
	common   bool            // the finding was seen only at a response that every request gets
	received int             // messages received during the case that received the fewest
}

func appearanceOf(seen []Occurrence) appearance {
	a := appearance{pointers: map[Spot]string{}, cases: map[Spot]string{}}
	a.common = len(seen) > 0 && !slices.ContainsFunc(seen, func(s Occurrence) bool { return !s.Common })
	for _, s := range seen {
		if s.Spot == nil {
			return appearance{common: a.common}
		}
		if s.ByCase {
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

// endsServer reports whether a finding was seen only where the server ended. Occurrences without a
// spot do not count.
func endsServer(seen []Occurrence) bool {
	ends := false
	for _, s := range seen {
		if s.Spot != nil && !s.Spot.Ends {
			return false
		}
		ends = ends || s.Spot != nil
	}
	return ends
}

// hasSameCause reports whether two findings have one cause. That is so if both were seen
//   - only at an error, or at the result {}, that every request gets,
//   - only where the server ended, at least once in the same place,
//   - at the same value of one message, or
//   - in the same set of messages; if a case reported one finding and a rule the other, isWithin
//     decides instead.
//
// Findings about different values of a message have different causes.
func (a appearance) hasSameCause(b appearance) bool {
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
	case a.hasOnlyEnds() && b.hasOnlyEnds(), value:
		return true
	case a.said && !b.said:
		return a.isWithin(b, shared)
	case b.said && !a.said:
		return b.isWithin(a, shared)
	default:
		return shared == len(a.pointers) && shared == len(b.pointers)
	}
}

// several is the minimum number of messages that the server must send during a case for isWithin to
// apply, because with fewer, a case and a rule may report the same message by chance.
const several = 3

// isWithin reports whether, while the case ran, the rule objected to exactly the messages to which
// the case objects, and the server sent enough messages, see several. What the rule reports during
// other cases does not matter. shared is the number of spots that both findings have.
func (a appearance) isWithin(rule appearance, shared int) bool {
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

func (a appearance) hasOnlyEnds() bool {
	for spot := range a.pointers {
		if !spot.Ends {
			return false
		}
	}
	return true
}
