package engine

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// finishedCases are the cases that ran to their end.
type finishedCases struct {
	mu    sync.Mutex
	all   map[instance]verdict.Outcome        // Kept, or the outcome with which the case stopped early
	wants map[instance][]suite.MissingSetting // the missing configuration that the cases reported
}

func newFinishedCases() *finishedCases {
	return &finishedCases{all: map[instance]verdict.Outcome{}, wants: map[instance][]suite.MissingSetting{}}
}

// add records that a case ran to its end, with its outcome and the configuration that it reported
// as missing.
func (f *finishedCases) add(c *suite.Case, rev spec.Revision, outcome verdict.Outcome, wants []suite.MissingSetting) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[instance{c.ID, rev}] = outcome
	if len(wants) > 0 {
		f.wants[instance{c.ID, rev}] = wants
	}
}

func (f *finishedCases) has(c *suite.Case, rev spec.Revision) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.all[instance{c.ID, rev}]
	return ok
}

// missingConfiguration returns the first missing configuration reported by a case that judges or
// provokes the requirement (see suite.Case), and whether there is one.
func (f *finishedCases) missingConfiguration(cases []suite.Case, requirement string, rev spec.Revision) (suite.MissingSetting, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range cases {
		c := &cases[i]
		wants := f.wants[instance{c.ID, rev}]
		if len(wants) > 0 && c.JudgesOrProvokes(requirement) {
			return wants[0], true
		}
	}
	return suite.MissingSetting{}, false
}

// leaveOutUnfinished corrects the verdicts of a run that ended early. A requirement that was kept
// so far becomes "not observed" if a case that judges or provokes it did not run to its end,
// because that case might have shown a deviation. Call it before findings are added to the
// verdicts.
func (r *reporting) leaveOutUnfinished(verdicts []verdict.Verdict) {
	for i := range verdicts {
		if v := &verdicts[i]; v.Outcome == verdict.Kept && r.unfinishedCase(v.Requirement, v.Revision) != nil {
			v.Outcome, v.Gap = verdict.NotObserved, verdict.NothingSaid
		}
	}
}

// unfinishedCase returns a planned case that judges or provokes the requirement and
// did not run to its end, or nil.
func (r *reporting) unfinishedCase(requirement string, rev spec.Revision) *suite.Case {
	for _, u := range r.plan.units {
		for _, c := range u.cases {
			if u.revision == rev && !r.finished.has(c, rev) && c.JudgesOrProvokes(requirement) {
				return c
			}
		}
	}
	return nil
}

// explainGap adds to a verdict "not observed" the setting that would make the requirement
// observable, if a case reported one. If the run ended early, and a case that judges or provokes
// the requirement did not finish, explainGap instead gives this as the reason, unless the verdict's
// own reason is already complete.
func (r *reporting) explainGap(v *verdict.Verdict) {
	if v.Outcome != verdict.NotObserved {
		return
	}
	if r.ended != "" {
		if c := r.unfinishedCase(v.Requirement, v.Revision); c != nil {
			if v.Gap != verdict.Explained {
				v.Reason, v.Gap = "the run ended before the case "+c.ID+" finished", verdict.Explained
			}
			return
		}
	}
	if w, ok := r.finished.missingConfiguration(r.o.Cases, v.Requirement, v.Revision); ok {
		v.Lacks = w.Setting
		if v.Gap == verdict.NeverCameUp {
			v.Reason, v.Gap = nothingSent+": "+w.Text(), verdict.Explained
		}
	}
}
