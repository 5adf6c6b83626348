package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// A unit says what runs together, and how: the cases that share a conversation, or one case with
// servers of its own. Running a unit does not change it; a unitResult holds what a run of it shows.
type unit struct {
	revision           spec.Revision
	cases              []*suite.Case
	sharesConversation bool                // opens a conversation that its cases share or continue, even if it has no cases
	isChain            bool                // its cases continue conversations but share none, see makeChains
	conversation       *sharedConversation // the conversation that a lane continues; nil means the probe's conversation
	exclusive          bool                // no other server runs at the same time
	ownProcess         bool                // runs on a process of its own, if the conversations of the run share one
	rerun              *rerun              // why the cases run again; nil for a unit of the plan
}

// A rerun is the reason why cases run again: to reproduce deviations, as a peer of such a retry, or
// because another unit may have disturbed them. If the conversations of the run share a process, a
// rerun gets a fresh one.
type rerun struct {
	number     int              // number of the retry, from 1, or 0 if this is no retry; in a retry requests get more time
	candidates []*candidate     // the deviations that a retry tries to reproduce
	during     *suite.Case      // the case during which the deviations were seen, or nil
	dialer     transport.Dialer // the dialer that a retry shares with its peers, see retryAmongPeers; nil for a fresh process
}

// rerunUnit returns a unit that runs the given cases in the revision of u. The cases share new
// conversations or servers in the same way as those of u.
func (u *unit) rerunUnit(cases []*suite.Case, exclusive bool, why *rerun) *unit {
	return &unit{revision: u.revision, cases: cases, sharesConversation: u.sharesConversation, isChain: u.isChain, exclusive: exclusive, rerun: why}
}

// withCases returns a unit like u with other cases.
func (u *unit) withCases(cases []*suite.Case) *unit {
	out := *u
	out.cases = cases
	return &out
}

// isLane reports whether the unit is a lane: it opens or continues a conversation that its cases
// share, unlike a chain. If only some of the cases share it, these come first.
func (u *unit) isLane() bool { return u.sharesConversation && !u.isChain }

// isPlanned reports whether the unit belongs to the plan and has no process of its own.
func (u *unit) isPlanned() bool { return u.rerun == nil && !u.ownProcess }

// beginsWithConversation reports whether the unit begins with a conversation that the unit itself
// opens or continues, rather than a case. A chain does not need one if its first case starts a
// server for itself.
func (u *unit) beginsWithConversation() bool {
	return u.sharesConversation && !(u.isChain && len(u.cases) > 0 && u.cases[0].Reuses == suite.ReuseNone)
}

// takesInventory reports whether the unit first takes the inventory. A lane that continues the
// probe's conversation does not, because there the inventory was taken after the probe.
func (u *unit) takesInventory() bool {
	return u.isLane() && (u.conversation != nil || u.rerun != nil || u.ownProcess)
}

// reusesServers reports whether some cases of the unit reuse the servers of earlier cases, see
// opener.Continue. These are the cases that do not share the unit's conversation.
func (u *unit) reusesServers() bool {
	return u.sharesConversation && slices.ContainsFunc(u.cases, func(c *suite.Case) bool { return !c.SharesConversation })
}

// isBusy reports whether the run counts as busy until the unit is done. A unit is not busy if it
// has only cases that wait, or cases that are in a chain only because they need its servers.
// Exclusive units are not busy either, because they run when no other unit does.
func (u *unit) isBusy() bool {
	counts := func(c *suite.Case) bool {
		return c.SharesConversation || !c.Waits && !(u.isChain && needsServers(c))
	}
	return !u.exclusive && (len(u.cases) == 0 || slices.ContainsFunc(u.cases, counts))
}

// occasion returns the occasion of a conversation of the unit, see Recorded.Occasion.
func (u *unit) occasion(c *client.Conversation) string {
	name, suffix := "shared", ""
	if u.rerun != nil && u.rerun.number > 0 {
		suffix = "-again"
	}
	switch used := casesOf(c); {
	case u.rerun != nil && u.rerun.during != nil:
		name = u.rerun.during.ID
	case !u.sharesConversation:
		name = u.cases[0].ID
	case len(used) == 1:
		name = used[0]
	}
	return name + suffix
}
