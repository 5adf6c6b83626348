package engine

import (
	"cmp"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Over stdio each server is a process, and starting one costs time. So cases that do not share a
// conversation form chains: each case of a chain reuses the servers that earlier cases left
// running, see opener.Continue. Cases that wait are chained separately, so those chains are mostly
// idle. With a slow server, chains would take longer than starting more servers.
const (
	maxWaitingChains = 4
	maxOtherChains   = 2
	// minChainCases is the minimum number of cases in a chain if there are several chains.
	minChainCases = 3
)

// chained holds the cases of a revision that form chains.
type chained struct{ waiting, other []*suite.Case }

// formsChain reports whether the case runs in a chain: it reuses servers of earlier cases, and
// later cases reuse its own.
func (r *offer) formsChain(c *suite.Case, rev spec.Revision) bool {
	return r.over == spec.Stdio && !c.Exclusive && !c.OwnServer && (rev.Era() == spec.Stateless || !r.isSlow)
}

// add adds a case to one of the two groups. Waiting cases use up the most servers, so the cases
// that start fresh ones, and leave them for reuse, join their group. A waiting case that can reuse
// any server joins the other group, and uses up a server that those cases leave.
func (h *chained) add(c *suite.Case) {
	if c.Waits && c.Reuses != suite.ReuseAny || needsServers(c) {
		h.waiting = append(h.waiting, c)
	} else {
		h.other = append(h.other, c)
	}
}

// needsServers reports whether one used server is not enough: the case needs fresh ones, or several.
func needsServers(c *suite.Case) bool { return c.Reuses == suite.ReuseNone || c.Servers > 1 }

// units returns the chains, and the cases that join the shared conversation instead. Those are the
// cases of the stateless era that do not wait: without a session, there is nothing that they could
// spoil.
func (h *chained) units(rev spec.Revision) (units []*unit, joining []*suite.Case) {
	waiting := makeChains(rev, h.waiting, maxWaitingChains)
	if rev.Era() == spec.Stateless {
		return waiting, inChainOrder(rev, h.other)
	}
	return slices.Concat(waiting, makeChains(rev, h.other, maxOtherChains)), nil
}

// makeChains distributes the cases among at most the given number of units.
func makeChains(rev spec.Revision, cases []*suite.Case, most int) []*unit {
	chains := make([]chain, min(most, (len(cases)+minChainCases-1)/minChainCases))
	for i, c := range inChainOrder(rev, cases) {
		spoils := c.Spoils(rev.Era())
		chainFor(chains, i, spoils || c.Reuses != suite.ReuseNone && c.Servers > 1).add(c, spoils)
	}
	out := make([]*unit, len(chains))
	for i, made := range chains {
		isChain := len(made.cases) > 1 // a single case needs no other server than its own
		out[i] = &unit{revision: rev, cases: made.cases, isChain: isChain, sharesConversation: isChain}
	}
	return out
}

// A chain is a unit in the making.
type chain struct {
	cases []*suite.Case
	fresh int // servers that its cases start for themselves and leave for reuse
	spent int // servers that its cases spoil
}

func (h *chain) add(c *suite.Case, spoils bool) {
	h.cases = append(h.cases, c)
	switch servers := max(1, c.Servers); {
	case !spoils && c.Reuses == suite.ReuseNone:
		h.fresh += servers
	case spoils && c.Reuses != suite.ReuseNone:
		h.spent += servers
	}
}

// left returns how many servers are left for cases that spoil them. Every chain starts at least
// one.
func (h *chain) left() int { return max(1, h.fresh) - h.spent }

// chainFor returns the chain to which the case with this index is added. Cases are dealt out in
// turn, but a case that uses up a server, or needs several at once, goes to the chain with the most
// servers left.
func chainFor(chains []chain, index int, usesMany bool) *chain {
	if !usesMany {
		return &chains[index%len(chains)]
	}
	best := &chains[0]
	for i := range chains {
		if h := &chains[i]; cmp.Or(cmp.Compare(h.left(), best.left()), cmp.Compare(len(best.cases), len(h.cases))) > 0 {
			best = h
		}
	}
	return best
}

// inChainOrder returns the cases in the order of a chain, see chainOrder.
func inChainOrder(rev spec.Revision, cases []*suite.Case) []*suite.Case {
	return slices.SortedStableFunc(slices.Values(cases), func(a, b *suite.Case) int { return cmp.Compare(chainOrder(rev, a), chainOrder(rev, b)) })
}

// chainOrder returns the rank of a case within its chain. First come the cases that start servers
// for themselves and leave them, then those that spoil none, and last those that spoil servers. Of
// these, the cases that can reuse the fewest servers come first.
func chainOrder(rev spec.Revision, c *suite.Case) int {
	switch spoils := c.Spoils(rev.Era()); {
	case !spoils && c.Reuses == suite.ReuseNone:
		return 0
	case !spoils:
		return 1
	case c.Reuses == suite.ReuseUncalled:
		return 2
	case c.Reuses == suite.ReuseUnspoiled:
		return 3
	default:
		return 4
	}
}
