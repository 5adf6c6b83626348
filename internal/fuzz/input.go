package fuzz

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// deriveSeed combines two numbers into a seed that is never 0, and not negative when it is
// converted to an int.
func deriveSeed(seed, n uint64) uint64 {
	return generate.HashNumber(seed*0x9e3779b97f4a7c15+(n+1)*0xbf58476d1ce4e5b9)>>2 | 1
}

// inputs generates the inputs of a search.
type inputs struct {
	seed       uint64
	most       int // the maximum number of operations of a script, 0 for no limit
	transport  spec.Transport
	servers    []*ServerInfo
	overhead   time.Duration // see search.overhead
	novelty    *novelty
	repetition *repetition
}

// next returns the input with index n in the whole search.
func (g *inputs) next(n uint64) input {
	seed, revisions := deriveSeed(g.seed, n), uint64(len(g.servers))
	in := input{server: g.servers[n%revisions], seed: seed}
	if g.repetition.isDue(n / revisions) {
		in.script = in.server.Offer.Repetition(n / revisions).Example(int(seed)) //nolint:gosec // a seed of deriveSeed fits into an int
		return in
	}
	if round := n / revisions; round%roundsPerCycle < roundsPerCycle-1 {
		return g.enumerate(in, round/roundsPerCycle*(roundsPerCycle-1)+round%roundsPerCycle, n%revisions)
	}
	switch percent := seed >> 8 % 100; {
	case percent < 65:
		in.validity = generate.ValidOnly
	case percent < 83:
		in.validity = generate.InvalidParams
	default:
		in.validity = generate.Malformed
	}
	scripts := generate.Scripts{
		Offer: in.server.Offer, Validity: in.validity, Operations: g.operationCount(seed >> 16), Conversations: g.conversationCount(seed >> 24),
		Seeds: g.novelty.seeds(in.validity),
	}
	in.script = scripts.Script().Example(int(seed)) //nolint:gosec // a seed of deriveSeed fits into an int
	return in
}

// enumerate adds to an input a script from the enumeration of what one revision permits. Most
// scripts of a search are enumerated, and short. Random scripts are longer and find the unexpected,
// but leave systematic gaps.
func (g *inputs) enumerate(in input, index, revision uint64) input {
	e := generate.Enumeration{Index: index, Seed: deriveSeed(g.seed, revision^1<<32), Scale: 1}
	if g.overhead > 100*time.Millisecond {
		e.Scale = 4
	}
	in.validity = e.Validity()
	scripts := generate.Scripts{Offer: in.server.Offer, Validity: in.validity, Conversations: g.conversationCount(in.seed >> 24), Enumeration: &e}
	in.script = scripts.Script().Example(int(in.seed)) //nolint:gosec // a seed of deriveSeed fits into an int
	if g.most > 0 && len(in.script.Operations) > g.most {
		in.script.Operations = in.script.Operations[:g.most]
	}
	return in
}

// operationCount returns the number of operations of a random script. It is higher if the server is
// slow to start.
func (g *inputs) operationCount(seed uint64) int {
	lengths := []int{4, 10, 25, 40, 60, 80, 120, 240}
	shortest := 0
	switch {
	case g.overhead > 100*time.Millisecond:
		shortest = 4
	case g.overhead > 5*time.Millisecond:
		shortest = 2
	}
	n := lengths[shortest+int(seed%uint64(len(lengths)-shortest))] //nolint:gosec // small
	if g.most > 0 {
		n = min(n, g.most)
	}
	return n
}

// conversationCount returns the number of conversations of a script. Over stdio it is usually one,
// because each conversation needs a process.
func (g *inputs) conversationCount(seed uint64) int {
	percent := seed % 100
	if g.transport == spec.Stdio {
		percent /= 2
	}
	switch {
	case percent < 48:
		return 1
	case percent < 75:
		return 2
	case percent < 90:
		return 3
	default:
		return 8
	}
}

// newLimiter returns a function that waits until one more request may be sent, or nil if perSecond
// sets no limit.
func newLimiter(perSecond float64) func(context.Context) {
	if perSecond <= 0 {
		return nil
	}
	limit := rate.NewLimiter(rate.Limit(perSecond), 1)
	return func(ctx context.Context) {
		if limit.Wait(ctx) != nil { // the deadline is earlier than the request's turn
			<-ctx.Done()
		}
	}
}
