package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Over stdio each server is a process, and starting one costs time. So cases that do not share a
// conversation form chains: each case of a chain reuses the servers that earlier cases left, see
// opener.Continue. Cases that wait form separate chains, which mostly wait. With a slow server,
// chains would take longer than starting more servers.
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

func (h *chained) add(c *suite.Case) {
	if c.Waits {
		h.waiting = append(h.waiting, c)
	} else {
		h.other = append(h.other, c)
	}
}

// units returns the chains. In the stateless era there is no session that a case could spoil, so
// the cases that do not wait join the shared conversation instead.
func (h *chained) units(rev spec.Revision) (units []*unit, joining []*suite.Case) {
	waiting := makeChains(rev, h.waiting, maxWaitingChains)
	if rev.Era() == spec.Stateless {
		return waiting, inChainOrder(h.other)
	}
	return slices.Concat(waiting, makeChains(rev, h.other, maxOtherChains)), nil
}

// makeChains distributes the cases among at most the given number of units. Cases that spoil servers
// go into as many different units as possible, because only the first one in a chain can reuse a
// server.
func makeChains(rev spec.Revision, cases []*suite.Case, most int) []*unit {
	cases = inChainOrder(cases)
	out := make([]*unit, min(most, (len(cases)+minChainCases-1)/minChainCases))
	for i := range out {
		var chain []*suite.Case
		for j := i; j < len(cases); j += len(out) {
			chain = append(chain, cases[j])
		}
		isChain := len(chain) > 1 // a single case needs no other server than its own
		out[i] = &unit{revision: rev, cases: inChainOrder(chain), isChain: isChain, sharesConversation: isChain}
	}
	return out
}

// inChainOrder returns the cases in the order of a chain: those that spoil their servers come last.
func inChainOrder(cases []*suite.Case) []*suite.Case {
	return slices.SortedStableFunc(slices.Values(cases), func(a, b *suite.Case) int { return compareBool(a.SpoilsServer, b.SpoilsServer) })
}
