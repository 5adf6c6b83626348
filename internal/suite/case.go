// Package suite is the language in which suites are written: a case is a
// value, T is its handle on the server, and every statement about the server
// names the requirement it is about.
package suite

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Case is one active check: it provokes a server and says what it saw.
type Case struct {
	// ID is made of words and never changes: area.what-is-checked.
	ID string
	// Title says what is done, in one line.
	Title string
	// Requirements are the catalogue ids that the case judges.
	Requirements []string
	// Needs lists the server capabilities without which the case does not
	// apply, as tools or resources.subscribe.
	Needs []string
	// Revisions narrows the revisions to run in; by default all in which
	// one of the requirements exists.
	Revisions []spec.Revision
	// Asks: the case only asks, and leaves the conversation as it found it,
	// so that it may share one with others.
	Asks bool
	// Exclusive: timing matters; nothing else runs meanwhile.
	Exclusive bool
	// Waits: the case waits for seconds on a server that deviates, so it is
	// started first.
	Waits bool
	// Run provokes and judges. The context ends with the case's time.
	Run func(ctx context.Context, t *T)
}

// Area is the part of the id before the first dot.
func (c *Case) Area() string {
	for i := range c.ID {
		if c.ID[i] == '.' {
			return c.ID[:i]
		}
	}
	return c.ID
}

// AppliesTo tells whether the case has something to judge in revision r over
// transport t.
func (c *Case) AppliesTo(r spec.Revision, t spec.Transport) bool {
	if len(c.Revisions) > 0 && !slices.Contains(c.Revisions, r) {
		return false
	}
	return slices.ContainsFunc(c.Requirements, func(id string) bool {
		q := spec.Requirements().Lookup(id)
		return q != nil && q.AppliesTo(r, t)
	})
}

// Check says what is wrong with the case as it is declared, or nil.
func (c *Case) Check() error {
	switch {
	case c.ID == "" || c.Title == "" || c.Run == nil || len(c.Requirements) == 0:
		return fmt.Errorf("case %q: id, title, requirements and run must be set", c.ID)
	case c.Asks && c.Exclusive:
		return fmt.Errorf("case %s: a case that shares a conversation can't be exclusive", c.ID)
	}
	for _, id := range c.Requirements {
		if spec.Requirements().Lookup(id) == nil {
			return fmt.Errorf("case %s: the catalogue has no requirement %s", c.ID, id)
		}
	}
	return nil
}
