package engine

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// finish records that a case ran to its end, and which fixtures it lacked.
func (r *execution) finish(c *suite.Case, rev spec.Revision, wants []suite.Want) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished[instance{c.ID, rev}] = true
	if len(wants) > 0 {
		r.wants[instance{c.ID, rev}] = wants
	}
}

// leaveOutUnfinished marks the verdicts, which count no findings yet, on requirements that were
// kept so far, of a run that ended early: a case that judges or provokes them and did not run to
// its end might have broken them.
func (r *execution) leaveOutUnfinished(verdicts []verdict.Verdict) {
	for i := range verdicts {
		if v := &verdicts[i]; v.Outcome == verdict.Kept && r.unfinished(v.Requirement, v.Revision) != nil {
			v.Outcome = verdict.NotObserved
		}
	}
}

// unfinished returns a planned case that judges or provokes the requirement and
// did not run to its end, or nil.
func (r *execution) unfinished(requirement string, rev spec.Revision) *suite.Case {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range r.plan.units {
		for _, c := range u.cases {
			if u.revision == rev && !r.finished[instance{c.ID, rev}] && c.Touches(requirement) {
				return c
			}
		}
	}
	return nil
}

// wanted returns the fixtures that cases lacked which judge or provoke the
// requirement.
func (r *execution) wanted(requirement string, rev spec.Revision) (suite.Want, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.o.Cases {
		c := &r.o.Cases[i]
		wants := r.wants[instance{c.ID, rev}]
		if len(wants) > 0 && c.Touches(requirement) {
			return wants[0], true
		}
	}
	return suite.Want{}, false
}

// explainGap adds to a verdict that was not observed the line of the
// configuration file that would change it. If the run ended before a case that
// might have shown it, that is the reason instead.
func (r *execution) explainGap(v *verdict.Verdict, ended string) {
	if v.Outcome != verdict.NotObserved {
		return
	}
	if ended != "" {
		if c := r.unfinished(v.Requirement, v.Revision); c != nil {
			if v.Gap != verdict.Explained {
				v.Reason, v.Gap = "the run ended before the case "+c.ID+" finished", verdict.Explained
			}
			return
		}
	}
	if w, ok := r.wanted(v.Requirement, v.Revision); ok {
		v.Lacks = w.Setting
		if v.Gap == verdict.NeverCameUp {
			v.Reason, v.Gap = unseen+": "+w.Text(), verdict.Explained
		}
	}
}
