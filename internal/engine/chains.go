package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Over stdio a server costs the start of a process, so cases that do not share a conversation
// form chains: each case of a chain goes on with the servers that earlier ones left, see
// opener.Continue. Cases that wait have chains of their own, which do little else. With a slow
// server that would take longer than to start more of them.
const (
	waitingChains = 4
	otherChains   = 2
	// leastChain is how many cases a chain has at least, if there is more than one.
	leastChain = 3
)

// chained holds the cases of a revision that form chains.
type chained struct{ waiting, other []*suite.Case }

// formsChain reports whether the case goes on with servers of others and leaves its own to them.
func (r *offer) formsChain(c *suite.Case, rev spec.Revision) bool {
	return r.over == spec.Stdio && !c.Exclusive && !c.OwnServer && (rev.Era() == spec.Stateless || !r.isSlow)
}

func (h *chained) add(c *suite.Case) {
	if c.Waits {
		h.waiting = append(h.waiting, c)
	} else {
		h.other = append(h.other, c)
	}
}

// units returns the chains. In the stateless era there is no session to spoil, so that those
// that do not wait go on in the shared conversation.
func (h *chained) units(shared *unit) []*unit {
	if shared.revision.Era() == spec.Stateless {
		shared.cases = slices.Concat(shared.cases, inChainOrder(h.other))
		return chains(shared.revision, h.waiting, waitingChains)
	}
	return slices.Concat(chains(shared.revision, h.waiting, waitingChains), chains(shared.revision, h.other, otherChains))
}

// chains distributes the cases among at most so many units, so that those that spoil servers are in
// as many of them as possible: the first in a chain can use a server that earlier cases left.
func chains(rev spec.Revision, cases []*suite.Case, most int) []*unit {
	cases = inChainOrder(cases)
	out := make([]*unit, min(most, (len(cases)+leastChain-1)/leastChain))
	for i := range out {
		u := &unit{revision: rev, isChain: true, sharesConversation: true}
		for j := i; j < len(cases); j += len(out) {
			u.cases = append(u.cases, cases[j])
		}
		if u.cases = inChainOrder(u.cases); len(u.cases) == 1 { // it needs no other server than its own
			u = &unit{revision: rev, cases: u.cases}
		}
		out[i] = u
	}
	return out
}

// inChainOrder returns the cases that leave their servers as they were, and then the others.
func inChainOrder(cases []*suite.Case) []*suite.Case {
	return slices.SortedStableFunc(slices.Values(cases), func(a, b *suite.Case) int { return compareBool(a.SpoilsServer, b.SpoilsServer) })
}
