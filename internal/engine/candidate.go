package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// candidate is a deviation that may become a finding.
type candidate struct {
	key    verdict.Key
	during *suite.Case // the case that was running; nil before the first case of the shared conversation, and after the last
	from   *unitResult // the result of the unit that showed the deviation
	verdict.Deviation
	outcome      verdict.Outcome
	record       *transcript.Transcript // the conversation that showed the deviation, or nil
	retries      verdict.Retries
	isDiscounted bool     // applyDiscount was called, and has set retries.EachTime
	peers        []string // the ids of the cases that must run concurrently to reproduce the deviation
	needsOthers  bool     // the deviation recurred only after other cases had used the same conversation or servers
}

func (r *unitResult) newCandidate(k verdict.Key, during *suite.Case, d verdict.Deviation, record *transcript.Transcript) *candidate {
	q := spec.Requirements().Lookup(d.Requirement)
	return &candidate{key: k, during: during, from: r, Deviation: d, outcome: d.Outcome(q, k.Revision), record: record}
}

// shortWaits are, for each record, the positions that belong to a wait for which the client took less
// time than a request has: that of the request, and that at which the client gave up.
type shortWaits map[*transcript.Transcript]map[int]bool

// shows reports whether the evidence of the deviation shows such a wait. It reads each record once,
// because many deviations share one.
func (w shortWaits) shows(c *candidate) bool {
	if c.record == nil {
		return false
	}
	positions, known := w[c.record]
	if !known {
		positions = map[int]bool{}
		for _, e := range c.record.From(0) {
			if e.Kind == transcript.GaveUp && e.Short {
				positions[e.Seq], positions[e.Of] = true, true
			}
		}
		w[c.record] = positions
	}
	return slices.ContainsFunc(c.At, func(at int) bool { return positions[at] })
}

// precedesCases reports whether the deviation was seen before the first case of its conversation
// began. Every run shows such a deviation, whichever cases it selects.
func (c *candidate) precedesCases() bool {
	if c.record == nil || len(c.At) == 0 {
		return false
	}
	last := slices.Max(c.At)
	return !slices.ContainsFunc(c.record.From(0), func(e *transcript.Event) bool {
		return e.Kind == transcript.CaseBegan && e.Detail != "" && e.Seq < last
	})
}
