package engine

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Over HTTP a session costs little, and cases that share one mostly wait. So
// there are up to maxLanes shared sessions, each with at least leastLane cases.
const (
	maxLanes  = 4
	leastLane = 8
)

// lanes divides the cases that share a conversation among several
// conversations, which run concurrently, if the server opens more sessions. The
// cases of an area stay together.
func (r *offer) lanes(ctx context.Context, shared *unit) []*unit {
	out := []*unit{shared}
	if r.transport() == spec.Stdio || r.gate.one || r.mixesResponses {
		return out
	}
	for n := min(maxLanes, len(shared.cases)/leastLane); len(out) < n; {
		s := r.openLane(ctx, shared.revision)
		if s == nil {
			break
		}
		out = append(out, &unit{revision: shared.revision, sharesConversation: true, takesInventory: true, conversation: s})
	}
	cases := shared.cases
	shared.cases = nil
	for lane, i := -1, 0; i < len(cases); i++ {
		if i == 0 || cases[i].Area() != cases[i-1].Area() {
			lane = (lane + 1) % len(out)
		}
		out[lane].cases = append(out[lane].cases, cases[i])
	}
	return out
}

// openLane opens one more conversation to share; nil if the server does not
// serve it.
func (r *offer) openLane(ctx context.Context, rev spec.Revision) *sharedConversation {
	o := r.o.clientOptions(rev)
	o.Pace, o.StartTimeout = r.paces[rev], r.patience()
	conv, err := r.dial(ctx, o)
	if err != nil {
		return nil
	}
	if conv.Handshake(ctx) != nil || whyUnresponsive(ctx, conv) != "" {
		r.end(conv, probing, false)
		return nil
	}
	return &sharedConversation{conv: conv}
}

// reusing holds the cases that go on with each other's servers: those that wait, which do
// little else, have a unit of their own. Those that end servers come last.
type reusing struct{ waiting, other, ending []*suite.Case }

// reusesServers reports whether one server serves many cases. In the stateless era there is
// no session to spoil; over HTTP a connection is cheap.
func (r *offer) reusesServers(rev spec.Revision) bool {
	return rev.Era() == spec.Stateless && r.transport() == spec.Stdio
}

func (r *reusing) add(c *suite.Case) {
	cases := &r.other
	switch {
	case c.EndsServer:
		cases = &r.ending
	case c.Waits:
		cases = &r.waiting
	}
	*cases = append(*cases, c)
}

// divide appends to the unit that shares a conversation the cases that go on with its
// server, and returns the unit of those that wait; nil if there are none.
func (r *reusing) divide(shared *unit) (waiting *unit) {
	shared.cases, shared.reusesServers = slices.Concat(shared.cases, r.other, r.ending), true
	switch len(r.waiting) {
	case 0:
		return nil
	case 1: // it needs no other server than its own
		return &unit{revision: shared.revision, cases: r.waiting}
	default:
		return &unit{revision: shared.revision, cases: r.waiting, sharesConversation: true, takesInventory: true, reusesServers: true, conversation: &sharedConversation{}}
	}
}
