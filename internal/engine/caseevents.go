package engine

import (
	"iter"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// caseParts splits the events of a conversation where its cases begin. For each part it yields the
// id of the case, or "" if no case was running, and the part's events.
func caseParts(events []*transcript.Event) iter.Seq2[string, []*transcript.Event] {
	return func(yield func(string, []*transcript.Event) bool) {
		id, from := "", 0
		for i, e := range events {
			if e.Kind != transcript.CaseBegan {
				continue
			}
			if i > from && !yield(id, events[from:i]) {
				return
			}
			id, from = e.Detail, i
		}
		if from < len(events) {
			yield(id, events[from:])
		}
	}
}

// casePartAt returns the part of the events (see caseParts) that contains the position, or the last
// part if the position is beyond the events. id is the id of the part's case, or "" if no case was
// running.
func casePartAt(events []*transcript.Event, position int) (id string, part []*transcript.Event) {
	for id, part = range caseParts(events) {
		if position <= part[len(part)-1].Seq {
			break
		}
	}
	return id, part
}

// caseAt returns the case that was running at the last of the positions or, if there are none, at
// the end of the conversation. It returns nil if no case was running.
func (u *unit) caseAt(events []*transcript.Event, at []int) *suite.Case {
	if !u.sharesConversation {
		return u.cases[0]
	}
	last := len(events)
	if len(at) > 0 {
		last = at[len(at)-1]
	}
	id, _ := casePartAt(events, last)
	if i := slices.IndexFunc(u.cases, func(c *suite.Case) bool { return c.ID == id }); i >= 0 {
		return u.cases[i]
	}
	return nil
}

// idOf returns the id of a case, or "" for nil.
func idOf(c *suite.Case) string {
	if c == nil {
		return ""
	}
	return c.ID
}

// caseStart returns the position at which the case last began in a conversation that earlier cases
// may have used, too, or 0 if the events do not mark where it began.
func caseStart(c *suite.Case, events []*transcript.Event) int {
	start := 0
	for id, part := range caseParts(events) {
		if id == c.ID {
			start = part[0].Seq
		}
	}
	return start
}

// eventsOfCase returns the events of a conversation that belong to the case with the id: all,
// unless cases share the conversation.
func eventsOfCase(events []*transcript.Event, shared bool, id string) []*transcript.Event {
	if !shared {
		return events
	}
	var out []*transcript.Event
	for of, part := range caseParts(events) {
		if of == id {
			out = append(out, part...)
		}
	}
	return out
}

// receivedDuringCase returns how many messages the server sent during the case that was running at
// the given position.
func receivedDuringCase(events []*transcript.Event, at int) int {
	n := 0
	_, part := casePartAt(events, at)
	for _, e := range part {
		if e.Kind == transcript.Received {
			n++
		}
	}
	return n
}
