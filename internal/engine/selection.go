package engine

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// A Selection selects what is judged. Call Compile before use.
type Selection struct {
	// Labels is an expression in Ginkgo's label language about the labels that the function Labels
	// returns; "" selects everything.
	Labels string
	// Focus holds ids of requirements, cases and rules, or regular expressions for them; at least
	// one must match. Empty matches everything.
	Focus []string
	// Profiles limit what is judged to the requirements of these profiles, each only in the
	// profile's revisions and over its transports; empty means all requirements.
	Profiles []*spec.Profile

	labelFilter types.LabelFilter
	exact       []string
	focus       []*regexp.Regexp
}

// A SelectionError reports an invalid or empty selection.
type SelectionError struct{ Reason string }

func (e *SelectionError) Error() string { return e.Reason }

// Compile compiles the expressions. The error is a SelectionError.
func (s *Selection) Compile() error {
	var err error
	if s.labelFilter, err = types.ParseLabelFilter(s.Labels); err != nil {
		return &SelectionError{fmt.Sprintf("invalid --label-filter %q; join labels with &&, || and !, as in 'lifecycle && MUST': %s", s.Labels, explainFilterError(err))}
	}
	s.exact, s.focus = nil, nil
	for _, f := range s.Focus {
		re, err := regexp.Compile(f)
		if err != nil {
			return &SelectionError{fmt.Sprintf("invalid --focus %q: not a regular expression: %v", f, err)}
		}
		if spec.Requirements().Lookup(f) != nil {
			s.exact = append(s.exact, f)
			continue
		}
		s.focus = append(s.focus, re)
	}
	return nil
}

// Admits reports whether a case or rule is selected to judge requirement q. judge is the id of the
// case or rule, and area its area.
func (s *Selection) Admits(judge, area string, q *spec.Requirement, r spec.Revision, t spec.Transport) bool {
	if !s.mayAdmit(judge, area, q, r, t) {
		return false
	}
	if len(s.Focus) == 0 {
		return true
	}
	return slices.Contains(s.exact, q.ID) || slices.ContainsFunc(s.focus, func(re *regexp.Regexp) bool {
		return re.MatchString(q.ID) || re.MatchString(judge)
	})
}

// mayAdmit is like Admits, but ignores Focus.
func (s *Selection) mayAdmit(judge, area string, q *spec.Requirement, r spec.Revision, t spec.Transport) bool {
	if len(s.Profiles) > 0 && !slices.ContainsFunc(s.Profiles, func(p *spec.Profile) bool { return p.AppliesTo(r, t) && p.Has(q.ID) }) {
		return false
	}
	return s.labelFilter(Labels(judge, area, q, r, t))
}

// narrows reports whether a focus or labels limit what is judged.
func (s *Selection) narrows() bool { return len(s.Focus) > 0 || s.Labels != "" }

// Labels returns the labels of a case or rule, the judge, together with a requirement that it
// judges: the given area and that of the requirement, the ids of the requirement and the judge, the
// first word of the judge's id, the level, the revision and the transport. A requirement about
// security, in whatever area, also has the label of the security area and its CWE.
func Labels(judge, area string, q *spec.Requirement, r spec.Revision, t spec.Transport) []string {
	labels := []string{area, q.ID, judge, string(q.Level), string(r), transportLabel(t)}
	more := []string{q.Area, spec.AreaOf(judge)}
	n := q.Weakness()
	if spec.IsSecurity(q.ID, n) {
		more = append(more, spec.AreaSecurity)
	}
	if n > 0 {
		more = append(more, fmt.Sprintf("CWE-%d", n))
	}
	for _, more := range more {
		if more != "" && !slices.Contains(labels, more) {
			labels = append(labels, more)
		}
	}
	return labels
}

// transportLabel returns the label of a transport. The label has a prefix, because two areas have
// the names of transports.
func transportLabel(t spec.Transport) string { return "over-" + string(t) }

// explainFilterError returns the message of a Ginkgo error, without the coloured excerpt of the
// filter that precedes the last line.
func explainFilterError(err error) string {
	var g types.GinkgoError
	if errors.As(err, &g) {
		return g.Message[strings.LastIndexByte(g.Message, '\n')+1:]
	}
	return err.Error()
}

// checkSelected returns an error if the selection is empty in every revision.
func (o *Options) checkSelected() error {
	candidates, over := o.wantedRevisions(), o.Dialer.Transport()
	if o.mayAddStateless() {
		candidates = append(candidates, spec.StatelessRevisions()...)
	}
	for _, r := range candidates {
		if len(o.pairs(r)) > 0 {
			return nil
		}
	}
	if others := o.otherTransports(); len(others) > 0 {
		return &SelectionError{fmt.Sprintf("what the filters select is judged only over %s; this run is over %s", strings.Join(others, " and "), over)}
	}
	return &SelectionError{"no requirement, case or rule matches the filters; mcp-conform list shows all"}
}

// otherTransports returns the transports over which the requirements that the selection names or
// matches are judged. It returns nil if the run's transport is one of them.
func (o *Options) otherTransports() []string {
	var out []string
	for _, t := range spec.Transports() {
		if slices.ContainsFunc(spec.HandshakeRevisions(), func(r spec.Revision) bool {
			return t.IsDefinedIn(r) && slices.ContainsFunc(spec.Requirements().All(), func(q *spec.Requirement) bool {
				return q.AppliesTo(r, t) && o.Selection.Admits(q.ID, q.Area, q, r, t)
			})
		}) {
			out = append(out, string(t))
		}
	}
	if slices.Contains(out, string(o.Dialer.Transport())) {
		return nil
	}
	return out
}

// mayAddStateless reports whether the probe may add the stateless revision to those of
// wantedRevisions.
func (o *Options) mayAddStateless() bool {
	return len(o.Revisions) == 0 && o.Dialer.Transport().IsDefinedIn(spec.V20260728)
}

// wantedRevisions returns the revisions to request from the server, newest first: those of
// Options.Revisions or, if there are none, the handshake revisions that define the transport. In
// the latter case the probe adds the stateless revision if the server lists it.
func (o *Options) wantedRevisions() []spec.Revision {
	var out []spec.Revision
	for _, r := range spec.Revisions() {
		byDefault := r.Era() == spec.Handshake && o.Dialer.Transport().IsDefinedIn(r)
		if len(o.Revisions) == 0 && byDefault || slices.Contains(o.Revisions, r) {
			out = append(out, r)
		}
	}
	slices.Reverse(out)
	return out
}

// A pair is a case or rule with one of the requirements that it judges, in one revision.
type pair struct {
	judge       string // the id of the case or rule
	area        string
	requirement *spec.Requirement
	revision    spec.Revision
	caseIndex   int // -1 for a rule
}

// pairs returns the selected pairs in revision r.
func (o *Options) pairs(r spec.Revision) []pair {
	var out []pair
	add := func(judge, area string, requirements []string, index int) {
		for _, id := range requirements {
			q := spec.Requirements().Lookup(id)
			if q != nil && q.AppliesTo(r, o.Dialer.Transport()) && o.admits(judge, area, q, r) {
				out = append(out, pair{judge, area, q, r, index})
			}
		}
	}
	for i := range o.Cases {
		if c := &o.Cases[i]; c.AppliesTo(r, o.Dialer.Transport()) {
			add(c.ID, c.Area(), c.Requirements, i)
		}
	}
	for i := range o.Rules {
		add(o.Rules[i].ID, rulesArea, o.Rules[i].Requirements, -1)
	}
	return out
}

// rulesArea is the area of all rules.
const rulesArea = "rules"

// admits is like Selection.Admits, but a focus that matches a case also selects what rules judge in
// the traffic of the case. That does not apply if the focus also names requirements by their ids.
func (o *Options) admits(judge, area string, q *spec.Requirement, r spec.Revision) bool {
	over := o.Dialer.Transport()
	if o.Selection.Admits(judge, area, q, r, over) {
		return true
	}
	if area != rulesArea || len(o.Selection.exact) > 0 || !o.Selection.mayAdmit(judge, area, q, r, over) {
		return false
	}
	return slices.ContainsFunc(o.Cases, func(c suite.Case) bool {
		return c.ProvokesID(q.ID) && slices.ContainsFunc(o.Selection.focus, func(re *regexp.Regexp) bool { return re.MatchString(c.ID) })
	})
}

// provokes reports whether the selection includes a requirement that rules judge in the traffic of
// the case.
func (o *Options) provokes(c *suite.Case, rev spec.Revision) bool {
	over := o.Dialer.Transport()
	return c.ProvokesAny(rev, over, func(q *spec.Requirement) bool {
		return o.Selection.Admits(c.ID, c.Area(), q, rev, over)
	})
}
