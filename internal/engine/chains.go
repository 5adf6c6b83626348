package engine

import (
	"cmp"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Over stdio each server is a process, and starting one costs time. So cases that do not share a
// conversation form chains: each case of a chain reuses the servers that earlier cases of the chain
// left running, see opener.Continue. Cases that wait have chains of their own, which are mostly
// idle. In the handshake era a slow server gets no chains, because they would take longer than
// starting more servers.
const (
	maxWaitingChains = 4
	maxOtherChains   = 2
	// minChainCases is the minimum number of cases in a chain if there are several chains.
	minChainCases = 3
)

// chained holds the cases of a revision that form chains.
type chained struct{ waiting, other []*suite.Case }

// formsChain reports whether the case runs in a chain: it reuses servers of earlier cases, and
// later cases reuse its servers.
func (r *offer) formsChain(c *suite.Case, rev spec.Revision) bool {
	return r.over == spec.Stdio && !c.Exclusive && !c.OwnServer && (rev.Era() == spec.Stateless || !r.isSlow)
}

// add adds a case to h.waiting or h.other. Waiting cases use up the most servers. So the cases that
// start fresh servers, and leave them for reuse, join h.waiting, too. But a waiting case that can
// reuse any server joins h.other, where it uses up a server that was left there.
func (h *chained) add(c *suite.Case) {
	if c.Waits && c.Reuses != suite.ReuseAny || needsServers(c) {
		h.waiting = append(h.waiting, c)
	} else {
		h.other = append(h.other, c)
	}
}

// needsServers reports whether one used server is not enough for the case: it needs fresh ones, or
// several.
func needsServers(c *suite.Case) bool { return c.Reuses == suite.ReuseNone || c.Servers > 1 }

// units returns the chains, and the cases that join the shared conversation instead. In the
// stateless era these are the cases of h.other, because without a session there is nothing that
// they could spoil.
func (h *chained) units(rev spec.Revision) (units []*unit, joining []*suite.Case) {
	waiting := makeChains(rev, h.waiting, maxWaitingChains)
	if rev.Era() == spec.Stateless {
		return waiting, inChainOrder(rev, h.other)
	}
	return slices.Concat(waiting, makeChains(rev, h.other, maxOtherChains)), nil
}

// makeChains distributes the cases among chains. The parameter most is the maximum number of
// chains.
func makeChains(rev spec.Revision, cases []*suite.Case, most int) []*unit {
	chains := make([]chain, min(most, (len(cases)+minChainCases-1)/minChainCases))
	for i, c := range inChainOrder(rev, cases) {
		spoils := c.SpoilsServers(rev.Era())
		chainFor(chains, i, spoils || c.Reuses != suite.ReuseNone && c.Servers > 1).add(c, spoils)
	}
	out := make([]*unit, len(chains))
	for i, made := range chains {
		isChain := len(made.cases) > 1 // a single case has no servers to reuse
		out[i] = &unit{revision: rev, cases: made.cases, isChain: isChain, sharesConversation: isChain}
	}
	return out
}

// A chain is a unit to which cases are still being added.
type chain struct {
	cases []*suite.Case
	fresh int // how many servers its cases start for themselves and leave for reuse
	spent int // how many servers its cases spoil
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

// serversLeft returns how many servers remain for cases that spoil servers. Every chain starts at
// least one.
func (h *chain) serversLeft() int { return max(1, h.fresh) - h.spent }

// chainFor returns the chain to which to add the case with the given index. Cases are distributed
// in turn. But if usesMany is set, because the case uses up a server or needs several at once, the
// case goes to the chain with the most servers left.
func chainFor(chains []chain, index int, usesMany bool) *chain {
	if !usesMany {
		return &chains[index%len(chains)]
	}
	best := &chains[0]
	for i := range chains {
		if h := &chains[i]; cmp.Or(cmp.Compare(h.serversLeft(), best.serversLeft()), cmp.Compare(len(best.cases), len(h.cases))) > 0 {
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
// for themselves and leave them, then those that reuse servers without spoiling them, and last
// those that spoil servers. Of the latter, the cases that can reuse the fewest servers come first.
func chainOrder(rev spec.Revision, c *suite.Case) int {
	switch spoils := c.SpoilsServers(rev.Era()); {
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
