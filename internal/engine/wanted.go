package engine

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// wanting keeps what a case lacked.
func (r *execution) wanting(c *suite.Case, rev spec.Revision, wants []suite.Want) {
	if len(wants) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wants[instance{c.ID, rev}] = wants
}

// wanted returns what a case lacked that judges the requirement, or is made
// for it.
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

// lack tells of a verdict that was not observed which line of the
// configuration file would change that.
func (r *execution) lack(v *verdict.Verdict) {
	if v.Outcome != verdict.NotObserved {
		return
	}
	if w, ok := r.wanted(v.Requirement, v.Revision); ok {
		v.Lacks = w.Under + ": {" + w.Line + "}"
		if v.Reason == unseen {
			v.Reason = unseen + ": " + w.Text()
		}
	}
}
