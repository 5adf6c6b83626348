package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// wanting keeps what a case lacked.
func (r *run) wanting(c *suite.Case, rev spec.Revision, wants []suite.Want) {
	if len(wants) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wants == nil {
		r.wants = map[instance][]suite.Want{}
	}
	r.wants[instance{c.ID, rev}] = wants
}

// wanted returns what a case lacked that judges the requirement, or is made
// for it.
func (r *run) wanted(requirement string, rev spec.Revision) (suite.Want, bool) {
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
func (r *run) lack(v *verdict.Verdict) {
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

// endless says which lists had no end that was reached. An empty cursor is
// often meant as the end, and has rules of its own.
func (r *run) endless() {
	var texts []string
	for _, rev := range r.revisions {
		v := r.stock[rev]
		if v == nil {
			continue
		}
		for _, method := range slices.Sorted(maps.Keys(v.Incomplete)) {
			text := fmt.Sprintf("%s: %s; entries after that were not judged", method, v.Incomplete[method])
			if why := v.Incomplete[method]; why != inventory.NoResult && why != inventory.EmptyCursor && !slices.Contains(texts, text) {
				texts = append(texts, text)
				r.notice(text)
			}
		}
	}
}

// strangers tells what the user names and the server does not offer.
func (r *run) strangers() {
	var all []*inventory.Inventory
	for _, rev := range r.revisions {
		if v := r.stock[rev]; v != nil && r.deaf[rev] == "" {
			all = append(all, v)
		}
	}
	for _, text := range r.o.Policy.Strangers(all) {
		r.notice(text)
	}
}
