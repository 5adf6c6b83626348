// Package suite has the types that suites use. A Case describes one check, and a T gives the check
// access to the server. Every observation about the server names a requirement.
package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A Case is one active check: it sends messages that provoke reactions of the server, and reports
// what it observed.
type Case struct {
	// ID is a dotted name, usually area.what-is-checked, which never changes.
	ID string
	// Title says what the case does, in one line.
	Title string
	// Requirements are the ids of the requirements that the case itself judges.
	Requirements []string
	// Provokes are the requirements that rules judge in the traffic of the
	// case: ids, or prefixes of ids that end with a dot. If one of them is
	// selected, the case runs.
	Provokes []string
	// Needs lists the server capabilities without which the case does not
	// apply, such as tools or resources.subscribe.
	Needs []string
	// OnlyOver is the only transport over which the case runs, even if its requirements also exist
	// over others; "" means no limit.
	OnlyOver spec.Transport
	// Revisions lists the revisions in which the case may run. If it is empty, the case runs in
	// every revision that has one of the requirements in Requirements or Provokes.
	Revisions []spec.Revision
	// SharesConversation reports whether the case leaves the conversation as it found it, so that
	// other cases can use the same conversation.
	SharesConversation bool
	// Quick reports whether quick runs include the case although it does not
	// share a conversation, because many requirements depend on its traffic.
	Quick bool
	// Unchecked reports whether the case begins without a check that the server still responds in
	// the shared conversation, because the case itself judges that.
	Unchecked bool
	// Exclusive reports whether no other case may run at the same time, for example because timing
	// matters.
	Exclusive bool
	// OwnServer reports whether the case compares several sessions, which other clients of the
	// server would disturb. If the run can start a server for this case alone, it does.
	OwnServer bool
	// Waits reports whether the case waits about a second, or several seconds if the server
	// deviates. Such cases start first.
	Waits bool
	// Rounds is how many responses the case waits for, one after the other. The duration of the
	// case depends on this number.
	Rounds Rounds
	// SpoilsServer reports whether the case ends its servers or leaves them in an unusual state.
	// Such a case runs after those that reuse each other's servers.
	SpoilsServer bool
	// SpoilsSession is like SpoilsServer, but for a case that changes only the state of its
	// sessions. The stateless era has no sessions.
	SpoilsSession bool
	// Reuses says which servers that earlier cases have used are suitable for this case.
	Reuses Reuse
	// Servers is how many servers the case uses at once; 0 means one.
	Servers int
	// Unauthenticated reports whether the case needs no conversation, so that it also runs if the
	// server requires a token that the run does not have.
	Unauthenticated bool
	// Races are the orders of messages that the case plays, each with its
	// permitted outcomes.
	Races []Race
	// Run provokes the server and judges its reactions. The context ends when the case's time is
	// over.
	Run func(ctx context.Context, t *T)
}

// Reuse says which servers that earlier cases have used are suitable for a case.
type Reuse int

const (
	// ReuseUnspoiled is for servers that no case has spoiled.
	ReuseUnspoiled Reuse = iota
	// ReuseUncalled is for unspoiled servers that have run no tool: no client called one, or every
	// call was refused.
	ReuseUncalled
	// ReuseAny is for all servers that still respond.
	ReuseAny
	// ReuseNone is for a case that starts its own servers. Unless the case spoils them, it runs
	// before the cases that reuse servers, which can then reuse its servers.
	ReuseNone
)

// Rounds is how many responses a case waits for, one after the other, over each transport, if the
// server offers everything. 0 means unknown.
type Rounds struct{ Stdio, HTTP int }

// Over returns the number of responses over transport t.
func (r Rounds) Over(t spec.Transport) int {
	if t == spec.Stdio {
		return r.Stdio
	}
	return r.HTTP
}

// Area returns the area of the specification that the case belongs to: the first word of its id or,
// if that is not an area, the first area among the first words of its Requirements and Provokes. If
// there is none, it returns the first word of the id.
func (c *Case) Area() string {
	for _, id := range slices.Concat([]string{c.ID}, c.Requirements, c.Provokes) {
		if area := spec.AreaOf(id); slices.Contains(spec.Areas(), area) {
			return area
		}
	}
	return spec.AreaOf(c.ID)
}

// SpoilsServers reports whether, in the given era, the case leaves its servers in a state in which
// no other case should reuse them.
func (c *Case) SpoilsServers(e spec.Era) bool {
	return c.SpoilsServer || c.SpoilsSession && e == spec.Handshake
}

// AppliesTo reports whether the case, or a rule on its traffic, has something to judge in revision
// r over transport t.
func (c *Case) AppliesTo(r spec.Revision, t spec.Transport) bool {
	if len(c.Revisions) > 0 && !slices.Contains(c.Revisions, r) {
		return false
	}
	return c.ProvokesAny(r, t, func(*spec.Requirement) bool { return true }) || slices.ContainsFunc(c.Requirements, func(id string) bool {
		q := spec.Requirements().Lookup(id)
		return q != nil && q.AppliesTo(r, t)
	})
}

// ProvokesAny reports whether the case may run in revision r and Provokes covers a requirement that
// exists there over transport t and for which wanted returns true.
func (c *Case) ProvokesAny(r spec.Revision, t spec.Transport, wanted func(*spec.Requirement) bool) bool {
	if len(c.Revisions) > 0 && !slices.Contains(c.Revisions, r) {
		return false
	}
	return slices.ContainsFunc(c.Provokes, func(id string) bool {
		return slices.ContainsFunc(requirementsOf(id), func(q *spec.Requirement) bool { return q.AppliesTo(r, t) && wanted(q) })
	})
}

// ProvokesID reports whether Provokes covers the requirement with this id.
func (c *Case) ProvokesID(requirement string) bool {
	return slices.ContainsFunc(c.Provokes, func(id string) bool {
		return id == requirement || strings.HasSuffix(id, ".") && strings.HasPrefix(requirement, id)
	})
}

// JudgesOrProvokes reports whether Requirements or Provokes covers the requirement with this id.
func (c *Case) JudgesOrProvokes(requirement string) bool {
	return slices.Contains(c.Requirements, requirement) || c.ProvokesID(requirement)
}

// requirementsOf returns the requirement with this id, or, if the id ends with
// a dot, those whose ids begin with it.
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

// Check returns an error if the declaration of the case is invalid.
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
