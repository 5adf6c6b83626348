package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// rates are the typical times of a server. With the number of rounds of a case they give an
// estimate of how long the case takes.
type rates struct {
	response time.Duration // the time to respond to a request
	start    time.Duration // the time to start over stdio; 0 over other transports
	over     spec.Transport
}

const (
	// minResponseTime is the shortest time of a round, because the client needs time even if the
	// server responds at once.
	minResponseTime = time.Millisecond
	// unknownRounds is the assumed number of rounds of a case that does not state its number.
	unknownRounds = 6
	// waitTime is how long a case with suite.Case.Waits is assumed to wait.
	waitTime = time.Second
)

// cost estimates how long the case takes in the unit, including the start of a server if it needs
// one. In a chain, cases that spoil servers come one after another, so each of them is assumed to
// start a server.
func (r rates) cost(u *unit, c *suite.Case) time.Duration {
	if c.SharesConversation || u.sharesConversation && !c.SpoilsServers(u.revision.Era()) {
		return r.workTime(c)
	}
	return r.start + r.workTime(c)
}

// workTime estimates how long the case takes once its server has started.
func (r rates) workTime(c *suite.Case) time.Duration {
	d := time.Duration(cmp.Or(c.Rounds.Over(r.over), unknownRounds)) * r.response
	if c.Waits {
		d += waitTime
	}
	return d
}

// unitCost estimates how long the unit takes.
func (r rates) unitCost(u *unit) time.Duration {
	var sum time.Duration
	for _, c := range u.cases {
		sum += r.cost(u, c)
	}
	return sum
}

// A load is the time that a unit still takes.
type load struct {
	left time.Duration
	runs bool // the unit has begun
}

// makespan returns how long it takes until the last of the loads ends. The loads that run have a
// slot. The other loads, in the order of the slice, get the slots that become free.
func makespan(slots int, loads []load) time.Duration {
	var busy []time.Duration // how long until each slot becomes free
	for _, l := range loads {
		if l.runs {
			busy = append(busy, l.left)
		}
	}
	for len(busy) < max(1, slots) {
		busy = append(busy, 0)
	}
	for _, l := range loads {
		if !l.runs {
			busy[slices.Index(busy, slices.Min(busy))] += l.left
		}
	}
	return slices.Max(busy)
}

// orderUnits orders the units. Those that share a conversation stay first. Of the others, the
// longest starts first, so that it does not run alone at the end, and exclusive ones come last. If
// the run is likely to reach its time limit, units are instead ordered by the number of
// requirements that they judge per second, most first, and so are the cases of each unit.
func (p *planner) orderUnits(ctx context.Context, out *plan) {
	rates := p.rates()
	value := func(u *unit) float64 { return rates[u.revision].unitCost(u).Seconds() }
	if out.isShortOfTime(ctx, p.slots, rates) {
		value = out.judgedPerSecond(p.o.Cases, rates)
		for i, u := range out.units {
			out.units[i] = u.withCases(arrangeCases(u.revision, u.cases, func(c *suite.Case) float64 { return value(&unit{revision: u.revision, cases: []*suite.Case{c}}) }))
		}
	}
	slices.SortStableFunc(out.units, func(a, b *unit) int {
		if a.isLane() || b.isLane() {
			return compareBool(b.isLane(), a.isLane())
		}
		return cmp.Or(compareBool(a.exclusive, b.exclusive), cmp.Compare(value(b), value(a)), strings.Compare(string(b.revision), string(a.revision)))
	})
}

// compareBool is like cmp.Compare for bools: false comes first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// arrangeCases returns the cases of a unit in this order: first those that share a conversation,
// then by their rank in a chain (see chainOrder), then by their value, highest first.
func arrangeCases(rev spec.Revision, cases []*suite.Case, value func(*suite.Case) float64) []*suite.Case {
	return slices.SortedStableFunc(slices.Values(cases), func(a, b *suite.Case) int {
		return cmp.Or(compareBool(b.SharesConversation, a.SharesConversation), cmp.Compare(chainOrder(rev, a), chainOrder(rev, b)), cmp.Compare(value(b), value(a)))
	})
}

// judgedPerSecond returns a function that returns how many requirements a unit judges per second.
// cases are all cases of the run, because some only provoke what rules judge.
func (p *plan) judgedPerSecond(cases []suite.Case, rates map[spec.Revision]rates) func(*unit) float64 {
	judged := map[instance]int{}
	for _, each := range p.casePairs {
		judged[instance{each.judge, each.revision}]++
	}
	for _, each := range p.rulePairs {
		for i := range cases {
			if c := &cases[i]; c.ProvokesID(each.requirement.ID) {
				judged[instance{c.ID, each.revision}]++
			}
		}
	}
	return func(u *unit) float64 {
		n := 0
		for _, c := range u.cases {
			n += judged[instance{c.ID, u.revision}]
		}
		return float64(n) / max(rates[u.revision].unitCost(u), minResponseTime).Seconds()
	}
}

// expectedShare is a fraction of the remaining time. A run that is expected to need more than that
// fraction counts as short of time; the margin is there because the estimate is rough.
const expectedShare = 0.7

// isShortOfTime reports whether the run is likely to reach its time limit, which is the deadline of
// ctx.
func (p *plan) isShortOfTime(ctx context.Context, slots int, rates map[spec.Revision]rates) bool {
	end, limited := ctx.Deadline()
	if !limited {
		return false
	}
	expected := p.makespan(slots, func(u *unit) load { return load{left: rates[u.revision].unitCost(u)} })
	return expected.Seconds() > expectedShare*time.Until(end).Seconds()
}

// makespan returns how long it takes until the last unit ends, if as many units run at once as
// there are slots, and then the exclusive ones run one after another. The second argument returns
// the load of a unit; more holds further loads.
func (p *plan) makespan(slots int, of func(*unit) load, more ...load) time.Duration {
	loads, alone := more, time.Duration(0)
	for _, u := range p.units {
		switch l := of(u); {
		case u.exclusive:
			alone += l.left
		case l.left > 0:
			loads = append(loads, l)
		}
	}
	return makespan(slots, loads) + alone
}
