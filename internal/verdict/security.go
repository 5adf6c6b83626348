package verdict

import (
	"cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Security summarizes what a report says about security, in all areas.
type Security struct {
	Findings []string `json:"findings"` // ids of the findings about security, in the order of the report
	// Each requirement about security is counted once, whatever the revision: in WithFindings if
	// one of Findings is about it; otherwise in NotObserved if it was not judged in some revision
	// in which it applies; otherwise in Kept.
	WithFindings int `json:"withFindings"`
	Kept         int `json:"kept"`
	NotObserved  int `json:"notObserved"`
}

// IsSecurity reports whether the finding is about security.
func (f *Finding) IsSecurity() bool {
	return spec.IsSecurity(f.Requirement, f.CWE)
}

// SecurityOf returns the security summary of a report. It does not count requirements that do not
// apply, or that have findings, but none about security.
func SecurityOf(p *Report) Security {
	out := Security{Findings: []string{}}
	broken := map[string]bool{}
	for i := range p.Findings {
		if f := &p.Findings[i]; f.IsSecurity() {
			out.Findings = append(out.Findings, f.ID)
			broken[f.Requirement] = true
		}
	}
	worst := map[string]Outcome{} // NotObserved or Kept; Note if the requirement is not counted
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		q := spec.Requirements().Lookup(v.Requirement)
		if q == nil || !spec.IsSecurity(q.ID, q.Weakness()) || broken[q.ID] {
			continue
		}
		before, known := worst[q.ID]
		switch o := v.Outcome; {
		case o == NotApplicable:
		case o >= Note && o != HarnessError:
			worst[q.ID] = Note
		case before == Note:
		case o != Kept:
			worst[q.ID] = NotObserved
		case !known:
			worst[q.ID] = Kept
		}
	}
	for _, o := range worst {
		switch o {
		case Kept:
			out.Kept++
		case NotObserved:
			out.NotObserved++
		default:
		}
	}
	out.WithFindings = len(broken)
	return out
}

// MarkCrash sets the CWE of the finding to that of a crash, unless it has one. Call it only if the
// server was seen to end. Over SSE MarkCrash does nothing, because there the client knows only that
// its own stream has ended.
func (f *Finding) MarkCrash() {
	if f.Transport != spec.SSE {
		f.CWE = cmp.Or(f.CWE, spec.CrashCWE)
	}
}
