package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A Sighting is a deviation with the conversation in which it was seen.
type Sighting struct {
	// Events are the events of the conversation. All sightings in a conversation share the slice.
	Events    []*transcript.Event
	Deviation *verdict.Deviation
	// Case is the id of the case during which the deviation was seen, or "".
	Case string
	// ByCase reports whether the case itself reported the deviation. A case looks only at what it
	// caused, while a rule sees the whole conversation.
	ByCase bool
	// Common reports whether the evidence shows an error, or the result {}, that the server
	// returns for every request.
	Common bool
}

// Occurrence returns the sighting in the form that reports use to group findings.
func (s *Sighting) Occurrence() verdict.Occurrence {
	out := verdict.Occurrence{Pointer: s.Deviation.Pointer, Case: s.Case, ByCase: s.ByCase, Common: s.Common}
	if out.Spot = s.spot(); out.Spot != nil && s.ByCase {
		out.Received = receivedDuringCase(s.Events, out.Spot.Position)
	}
	return out
}

// EndsServer reports whether the server exited by itself at the sighting.
func (s *Sighting) EndsServer() bool {
	spot := s.spot()
	return spot != nil && spot.Ends
}

// spot returns the position of the deviation in its conversation. If no response came, that is the
// position of the request; if the server's exit is the cause, that of the exit. It returns nil if
// the position is not known.
func (s *Sighting) spot() *verdict.Spot {
	if len(s.Deviation.At) == 0 {
		return nil
	}
	at := s.Deviation.At[len(s.Deviation.At)-1]
	if at < 0 || at >= len(s.Events) {
		return nil
	}
	if e := s.Events[at]; e.Kind == transcript.GaveUp && e.Of >= 0 && e.Of < at {
		at = e.Of
	}
	if end := endAfter(s.Events, at); end >= 0 {
		return &verdict.Spot{Conversation: s.Events[0], Position: end, Ends: true}
	}
	return &verdict.Spot{Conversation: s.Events[0], Position: at}
}

// endAfter returns the position at which the server exited by itself, if the given position is that
// of the exit, or of a message of the client after which the server sent nothing. Otherwise it
// returns -1.
func endAfter(events []*transcript.Event, at int) int {
	end := slices.IndexFunc(events, (*transcript.Event).IsServerEnd)
	switch {
	case end < 0:
		return -1
	case slices.ContainsFunc(events[:end], func(e *transcript.Event) bool {
		return e.Kind == transcript.InputClosed || e.Kind == transcript.Signalled
	}):
		return -1
	case at >= end:
		if !events[at].IsServerEnd() {
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

// addSightings adds every sighting of a deviation in a conversation to the report that b builds.
func (r *reporting) addSightings(b *verdict.Builder) {
	events := map[*transcript.Transcript][]*transcript.Event{}
	for _, result := range r.results {
		for d := range result.deviations() {
			if d.record == nil {
				continue
			}
			if events[d.record] == nil {
				events[d.record] = d.record.From(0)
			}
			s := Sighting{Events: events[d.record], Deviation: d.Deviation, Case: idOf(d.during), ByCase: d.isByCase()}
			s.Common = r.discounts.IsSameError(d.revision, s.Events, s.Deviation.At)
			b.AddOccurrence(d.key(r.offer.over), s.Occurrence())
		}
	}
}

// callOnSighting calls Options.OnSighting for each finding of the report for which there is a
// conversation that shows it.
func (r *reporting) callOnSighting(p *verdict.Report) {
	if r.o.OnSighting == nil {
		return
	}
	chosen := map[verdict.Key]*candidate{} // the candidates whose evidence the report quotes
	for _, c := range r.found {
		chosen[c.key] = c
	}
	for i := range p.Findings {
		f := &p.Findings[i]
		if c := chosen[f.Key()]; c != nil && c.record != nil {
			r.o.OnSighting(f.ID, Sighting{Events: c.record.From(0), Deviation: &c.Deviation, Case: c.caseID(), ByCase: c.caseID() == c.key.Judge})
		}
	}
}
