package verdict

import (
	"cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Security gathers what a report says about security.
type Security struct {
	Findings []string `json:"findings"` // ids of those with a CWE, in the order of the report
	// Each requirement that can be a weakness is counted once: as broken if a
	// finding of Findings is about it, as kept if it was kept in every revision, and
	// otherwise as not observed, unless it applies nowhere. If it has only findings
	// that are no weakness, it is not counted.
	Broken      int `json:"broken"`
	Kept        int `json:"kept"`
	NotObserved int `json:"notObserved"`
}

// Security returns what the report says about security.
func (p *Report) Security() Security {
	out := Security{Findings: []string{}}
	broken := map[string]bool{}
	for i := range p.Findings {
		if f := &p.Findings[i]; f.CWE > 0 {
			out.Findings = append(out.Findings, f.ID)
			broken[f.Requirement] = true
		}
	}
	out.Broken = len(broken)
	type seen struct{ kept, gap, other bool }
	all := map[string]seen{}
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		if q := spec.Requirements().Lookup(v.Requirement); q == nil || !q.IsSecurity() || broken[q.ID] {
			continue
		}
		s := all[v.Requirement]
		switch v.Outcome {
		case NotApplicable:
		case Kept:
			s.kept = true
		case NotObserved, Blocked, HarnessError:
			s.gap = true
		default:
			s.other = true
		}
		all[v.Requirement] = s
	}
	for _, s := range all {
		switch {
		case s.other:
		case s.gap:
			out.NotObserved++
		case s.kept:
			out.Kept++
		}
	}
	return out
}

// MarkCrash gives the finding, which is that the server ended, the CWE of that. Over
// SSE it does not: there only the client's own stream is known to have ended.
func (f *Finding) MarkCrash() {
	if f.Transport != spec.SSE {
		f.CWE = cmp.Or(f.CWE, spec.CrashCWE)
	}
}
