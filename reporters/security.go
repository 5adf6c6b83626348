package reporters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// securityView is the section about security, in the form that all reports share:
// it refers to the findings and does not repeat them.
type securityView struct {
	counts     verdict.Security
	weaknesses []weakness // the most severe first
}

// A weakness is a CWE, with the requirements whose findings are about it.
type weakness struct {
	cwe          int // 0 for findings about security that no CWE describes
	outcome      verdict.Outcome
	requirements []weakRequirement
}

type weakRequirement struct {
	id      string
	outcome verdict.Outcome
	known   bool
	finding string // the id of the first of its findings
}

// securityOf returns the section of a report, or nil if the report says nothing
// about security.
func securityOf(r *verdict.Report) *securityView {
	s := &securityView{counts: verdict.SecurityOf(r)}
	if s.counts.WithFindings+s.counts.Kept+s.counts.NotObserved == 0 {
		return nil
	}
	for _, e := range allEntries(r) {
		if e.IsSecurity() && len(e.ids) > 0 {
			s.add(&e)
		}
	}
	slices.SortStableFunc(s.weaknesses, func(a, b weakness) int {
		return cmp.Or(cmp.Compare(b.outcome, a.outcome), cmp.Compare(a.cwe, b.cwe))
	})
	return s
}

func (s *securityView) add(e *entry) {
	at := slices.IndexFunc(s.weaknesses, func(w weakness) bool { return w.cwe == e.CWE })
	if at < 0 {
		at = len(s.weaknesses)
		s.weaknesses = append(s.weaknesses, weakness{cwe: e.CWE})
	}
	w := &s.weaknesses[at]
	w.outcome = max(w.outcome, e.Outcome)
	if !slices.ContainsFunc(w.requirements, func(q weakRequirement) bool { return q.id == e.Requirement && q.known == (e.Known != "") }) {
		w.requirements = append(w.requirements, weakRequirement{e.Requirement, e.Outcome, e.Known != "", e.ids[0]})
	}
}

// String returns how many requirements about security have findings, were kept, and were not
// observed.
func (s *securityView) String() string {
	if s.counts.WithFindings == 0 {
		return fmt.Sprintf("%s kept, %d not observed", countWithNoun(s.counts.Kept, "requirement"), s.counts.NotObserved)
	}
	return fmt.Sprintf("%s with findings, %d kept, %d not observed", countWithNoun(s.counts.WithFindings, "requirement"), s.counts.Kept, s.counts.NotObserved)
}

// name returns the number and the name of the weakness.
func (w *weakness) name() string {
	if w.cwe == 0 {
		return "no CWE"
	}
	return spec.WeaknessName(w.cwe)
}

// listRequirements returns the requirements on one line.
func (w *weakness) listRequirements() string {
	out := make([]string, len(w.requirements))
	for i := range w.requirements {
		out[i] = w.requirements[i].id + w.remark(&w.requirements[i])
	}
	return strings.Join(out, ", ")
}

// remark returns a phrase that says how a requirement differs from the weakness: it has another
// outcome, or its finding is known. The phrase begins with a space. It is "" if there is no
// difference.
func (w *weakness) remark(q *weakRequirement) string {
	switch {
	case q.known:
		return " (known)"
	case q.outcome != w.outcome:
		return " (" + q.outcome.String() + ")"
	}
	return ""
}

// lines returns the section as text, the counts first.
func (s *securityView) lines() []string {
	out := []string{"security: " + s.String()}
	for i := range s.weaknesses {
		w := &s.weaknesses[i]
		out = append(out, fmt.Sprintf("%s: %s: %s", w.outcome, w.name(), w.listRequirements()))
	}
	return out
}

// securityLines returns the section on the console.
func (c *Console) securityLines(r *verdict.Report) []string {
	s := securityOf(r)
	if s == nil {
		return nil
	}
	out := WrapLine("security: "+s.String(), c.foldWidth(), 2)
	for i := range s.weaknesses {
		w := &s.weaknesses[i]
		look := outcomeStyles[w.outcome]
		lead := "  " + c.paint(look.color, look.mark) + " " + w.name() + ": "
		if c.foldWidth() == 0 {
			out = append(out, lead+Visible(w.listRequirements()))
			continue
		}
		out = append(out, appendWrapped(lead, width("  "+look.mark+" "+w.name()+": "), splitWords(Visible(w.listRequirements())), c.foldWidth(), 4)...)
	}
	return out
}
