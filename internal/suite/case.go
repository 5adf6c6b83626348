// Package suite is the language in which suites are written: a case is a
// value, T is its handle on the server, and every statement about the server
// names the requirement it is about.
package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A Case is one active check: it provokes a server and reports what it
// observed.
type Case struct {
	// ID is made of words and never changes: area.what-is-checked.
	ID string
	// Title says what the case does, in one line.
	Title string
	// Requirements are the catalogue ids that the case judges.
	Requirements []string
	// Provokes are the requirements that rules judge in the traffic for which
	// the case is made: ids, or beginnings of ids that end with a dot. Where
	// one of them is selected, the case is run.
	Provokes []string
	// Needs lists the server capabilities without which the case does not
	// apply, as tools or resources.subscribe.
	Needs []string
	// Revisions narrows the revisions to run in; by default all in which
	// one of the requirements exists that it judges or provokes.
	Revisions []spec.Revision
	// SharesConversation: the case leaves the conversation as it found it, so
	// that it may share one with other cases.
	SharesConversation bool
	// Unchecked: the case itself judges whether the server still responds, so the
	// shared conversation is not checked first.
	Unchecked bool
	// Exclusive: timing matters; nothing else runs meanwhile.
	Exclusive bool
	// OwnServer: the case compares its own sessions, which other clients would
	// disturb. If the run can start a server for this case alone, it does.
	OwnServer bool
	// Waits: the case waits for a second, or for seconds on a server that
	// deviates, so it is started first.
	Waits bool
	// Races are the orders of messages that the case tries, each with all that
	// permitted responses.
	Races []Race
	// Run provokes and judges. The context ends with the case's time.
	Run func(ctx context.Context, t *T)
}

// Area returns the area of the specification that the case belongs to: the first
// word of its id, or that of the first id that it judges or provokes.
func (c *Case) Area() string {
	for _, id := range slices.Concat([]string{c.ID}, c.Requirements, c.Provokes) {
		if area := spec.AreaOf(id); slices.Contains(spec.Areas(), area) {
			return area
		}
	}
	return spec.AreaOf(c.ID)
}

// AppliesTo reports whether the case has something to judge, or to provoke, in
// revision r over transport t.
func (c *Case) AppliesTo(r spec.Revision, t spec.Transport) bool {
	if len(c.Revisions) > 0 && !slices.Contains(c.Revisions, r) {
		return false
	}
	return c.ProvokesAny(r, t, func(*spec.Requirement) bool { return true }) || slices.ContainsFunc(c.Requirements, func(id string) bool {
		q := spec.Requirements().Lookup(id)
		return q != nil && q.AppliesTo(r, t)
	})
}

// ProvokesAny reports whether the case provokes a requirement that exists in
// revision r over transport t and is wanted.
func (c *Case) ProvokesAny(r spec.Revision, t spec.Transport, wanted func(*spec.Requirement) bool) bool {
	if len(c.Revisions) > 0 && !slices.Contains(c.Revisions, r) {
		return false
	}
	return slices.ContainsFunc(c.Provokes, func(id string) bool {
		return slices.ContainsFunc(requirementsOf(id), func(q *spec.Requirement) bool { return q.AppliesTo(r, t) && wanted(q) })
	})
}

// ProvokesID reports whether the traffic of the case is made for the requirement
// with this id.
func (c *Case) ProvokesID(requirement string) bool {
	return slices.ContainsFunc(c.Provokes, func(id string) bool {
		return id == requirement || strings.HasSuffix(id, ".") && strings.HasPrefix(requirement, id)
	})
}

// Touches reports whether the case judges the requirement with this id, or its
// traffic is made for it.
func (c *Case) Touches(requirement string) bool {
	return slices.Contains(c.Requirements, requirement) || c.ProvokesID(requirement)
}

// requirementsOf returns the requirement with this id, or those whose ids begin with it
// where it ends with a dot.
func requirementsOf(id string) []*spec.Requirement {
	if !strings.HasSuffix(id, ".") {
		if q := spec.Requirements().Lookup(id); q != nil {
			return []*spec.Requirement{q}
		}
		return nil
	}
	var out []*spec.Requirement
	for _, q := range spec.Requirements().All() {
		if strings.HasPrefix(q.ID, id) {
			out = append(out, q)
		}
	}
	return out
}

// Check returns an error that says what is wrong with the declaration of the
// case, or nil.
func (c *Case) Check() error {
	switch {
	case c.ID == "" || c.Title == "" || c.Run == nil || len(c.Requirements)+len(c.Provokes) == 0:
		return fmt.Errorf("case %q: id, title, run, and requirements that it judges or provokes must be set", c.ID)
	case c.SharesConversation && c.Exclusive:
		return fmt.Errorf("case %s: a case that shares a conversation can't be exclusive", c.ID)
	}
	for _, id := range c.Requirements {
		if spec.Requirements().Lookup(id) == nil {
			return fmt.Errorf("case %s: the catalogue has no requirement %s", c.ID, id)
		}
	}
	for _, id := range c.Provokes {
		if len(requirementsOf(id)) == 0 {
			return fmt.Errorf("case %s provokes %s, which the catalogue does not have", c.ID, id)
		}
	}
	return nil
}
