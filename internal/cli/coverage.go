package cli

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites"
)

// state is how far the project covers a requirement.
type state int

const (
	judged  state = iota // a case or a rule judges the requirement
	open                 // the requirement is a permission, which no server can break
	notYet               // the requirement could be judged, but no check exists
	outside              // the requirement cannot be observed from outside the server
)

// requirementCoverage is the coverage of one requirement.
type requirementCoverage struct {
	q          *spec.Requirement
	state      state
	judges     []string
	faults     []string
	variations []string               // for a permission, the ids of the legal variations that do what it permits
	reason     string                 // why no check judges the requirement or, for a permission, why it has no variations
	cases      map[string]*suite.Case // all cases, by id
}

// coverage maps requirements to the checks that judge them and the faults that
// prove those checks.
type coverage struct {
	judges, faults map[string][]string
	cases          map[string]*suite.Case // all cases, by id
}

func newCoverage() *coverage {
	c := &coverage{judges: judgesByRequirement(), faults: map[string][]string{}, cases: map[string]*suite.Case{}}
	for _, one := range suites.Cases() {
		c.cases[one.ID] = &one
	}
	for _, f := range faults.All() {
		if !f.Legal {
			c.faults[f.Requirement] = append(c.faults[f.Requirement], f.ID)
		}
	}
	return c
}

func (c *coverage) lookup(q *spec.Requirement) *requirementCoverage {
	s := &requirementCoverage{q: q, judges: c.judges[q.ID], faults: c.faults[q.ID], cases: c.cases}
	for _, name := range q.Variations {
		s.variations = append(s.variations, "legal/"+name)
	}
	switch {
	case len(s.judges) > 0:
		s.state = judged
	case q.Testable == spec.No:
		s.state = outside
	case q.Level == spec.May:
		s.state, s.reason = open, q.NoVariation
	default:
		s.state, s.reason = notYet, q.NotJudged
	}
	return s
}

// stateIn returns the state in a revision. A requirement that is judged in one revision may be
// notYet in another one, because some cases do not run in every revision.
func (s *requirementCoverage) stateIn(r spec.Revision) state {
	if s.state == judged && !slices.ContainsFunc(s.judges, func(id string) bool { return s.runsIn(id, r) }) {
		return notYet
	}
	return s.state
}

// runsIn reports whether the check with the id runs in a revision. It is always true for a rule,
// because rules read every transcript.
func (s *requirementCoverage) runsIn(id string, r spec.Revision) bool {
	c := s.cases[id]
	return c == nil || slices.ContainsFunc(spec.Transports(), func(t spec.Transport) bool { return c.AppliesTo(r, t) })
}

// judgedByText returns the checks that judge the requirement, or the reason why no check
// does.
func (s *requirementCoverage) judgedByText() string {
	switch s.state {
	case judged:
		return strings.Join(s.judges, " ")
	case open:
		return "nothing: it is a permission"
	case notYet:
		return "not yet: " + s.reason
	default:
		return "nothing: it cannot be observed as a whole from outside"
	}
}

// text returns on one line which checks judge the requirement, which faults prove that these checks
// work, and which legal variations do what the requirement permits.
func (s *requirementCoverage) text() string {
	text := s.judgedByText()
	if len(s.faults) > 0 {
		text += " · proven by " + strings.Join(s.faults, " ")
	}
	if len(s.variations) > 0 {
		text += " · used by " + strings.Join(s.variations, " ")
	}
	return text
}
