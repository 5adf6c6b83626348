package engine

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/spec"
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
