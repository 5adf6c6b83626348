package engine

import (
	"iter"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A unitResult is what a run of a unit has shown.
type unitResult struct {
	unit            *unit
	observations    []caseObservation
	ruleResults     []ruleResult
	conversations   []*client.Conversation // the conversations that the rules judged
	exchangedByCase map[string]string      // a summary of the messages of each case by its id, see exchangesOf

	isDisturbed    bool // a process that the unit shared with other units has exited by itself
	hasFailedStart bool // a server of the unit did not start
	hasExited      bool // the unit's own process exited unexpectedly
}

// asResultOf returns the result of a rerun as the result of u, the unit of the plan that ran again.
func (r *unitResult) asResultOf(u *unit) *unitResult {
	out := *r
	out.unit = u
	return &out
}

// withoutObservations returns the result without anything that could be judged.
func (r *unitResult) withoutObservations() *unitResult {
	out := *r
	out.observations, out.ruleResults = nil, nil
	return &out
}

// A caseObservation is an observation with the case that made it.
type caseObservation struct {
	by *suite.Case
	suite.Observation
}

// A ruleResult is the result of a rule for one conversation.
type ruleResult struct {
	rules.Result
	record *transcript.Transcript
	// during holds, for each deviation, the case during which it was seen, or nil.
	during []*suite.Case
}

// A shownDeviation is a deviation that a unit has shown.
type shownDeviation struct {
	*verdict.Deviation
	judge    string // the id of the case or rule that reported the deviation
	revision spec.Revision
	during   *suite.Case            // the case during which the deviation was seen, or nil
	record   *transcript.Transcript // the conversation that shows the deviation, or nil
}

// key returns the key of the finding that the deviation becomes.
func (d shownDeviation) key(over spec.Transport) verdict.Key {
	return d.Key(d.judge, d.revision, over)
}

// isByCase reports whether a case, not a rule, reported the deviation.
func (d shownDeviation) isByCase() bool { return idOf(d.during) == d.judge }

// deviations yields the deviations that cases and rules have reported.
func (r *unitResult) deviations() iter.Seq[shownDeviation] {
	return func(yield func(shownDeviation) bool) {
		for _, s := range r.observations {
			if s.Deviation != nil && !yield(shownDeviation{s.Deviation, s.by.ID, r.unit.revision, s.by, s.Record}) {
				return
			}
		}
		for i := range r.ruleResults {
			rd := &r.ruleResults[i]
			for n := range rd.Deviations {
				if !yield(shownDeviation{&rd.Deviations[n], rd.Rule, rd.Revision, rd.during[n], rd.record}) {
					return
				}
			}
		}
	}
}

// records returns the records of the conversations that the rules judged or to which an observation
// refers, each once.
func (r *unitResult) records() []*transcript.Transcript {
	var out []*transcript.Transcript
	add := func(record *transcript.Transcript) {
		if record != nil && !slices.Contains(out, record) {
			out = append(out, record)
		}
	}
	for _, rd := range r.ruleResults {
		add(rd.record)
	}
	for _, s := range r.observations {
		add(s.Record)
	}
	return out
}

// Keeping the traffic of a run takes much memory, so records that no evidence refers to are dropped.

// dropRecords releases all records of the unit. Call it only if no evidence refers to them.
func (r *unitResult) dropRecords() {
	for _, conv := range r.conversations {
		conv.Record.Release()
	}
}

// release releases the records of a judged unit to which no deviation refers. Of the other records,
// it thins those that the server flooded or, if memory is short, all: it drops the events far from
// all deviations.
func (r *unitResult) release(over spec.Transport, budget *transcript.Budget) {
	quoted := map[*transcript.Transcript][]int{}
	for _, c := range r.sightings(over) {
		if c.record != nil {
			quoted[c.record] = append(quoted[c.record], c.At...)
		}
	}
	for _, conv := range r.conversations {
		switch at, needed := quoted[conv.Record]; {
		case !needed:
			conv.Record.Release()
		case discount.IsFlooded(conv.Record.From(0)), budget.IsHalfUsed():
			conv.Record.Thin(at...)
		}
	}
}
