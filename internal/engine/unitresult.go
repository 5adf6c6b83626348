package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A unitResult is what a run of a unit has shown.
type unitResult struct {
	unit            *unit
	observations    []caseObservation
	ruleResults     []ruleResult
	conversations   []*client.Conversation // that the rules judged
	exchangedByCase map[string]string      // a summary of the messages of each case by its id, see exchangesOf

	isDisturbed    bool // a process that it shared with other units exited
	hasFailedStart bool // a server of the unit did not start
	hasExited      bool // its own process exited unexpectedly
}

// of returns the result as one of a unit of the plan, which ran again.
func (r *unitResult) of(u *unit) *unitResult {
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
	// during holds the case in which each deviation was seen, or nil.
	during []*suite.Case
}

// records returns the records by which the unit was judged, each once.
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
