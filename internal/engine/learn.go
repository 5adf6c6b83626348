package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/locks"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// learnRoles sets how the inventories learn the roles of unknown tools: by calls
// in the newest revision of the era, because a tool asks for input in another way
// in each, once, when a case first needs a role that no tool is known to play.
func (r *prober) learnRoles() {
	if r.s.gate.one {
		return // the result is not worth one more start, as servers run one at a time
	}
	for _, era := range []spec.Era{spec.Handshake, spec.Stateless} {
		revisions := spec.InEra(era, r.offer.revisions)
		if len(revisions) == 0 {
			continue
		}
		var learned []inventory.Learned
		once := locks.NewOnce()
		for _, rev := range revisions {
			r.offer.inventories[rev].LearnBy(func() []inventory.Learned {
				once.Do(func() { learned = r.learnRolesIn(slices.Max(revisions)) })
				return learned
			})
		}
	}
}

// learnRolesIn makes the calls on a separate server, if one can be started, so
// that what they change does not affect other conversations.
func (r *prober) learnRolesIn(rev spec.Revision) []inventory.Learned {
	dialer := r.s.o.Dialer
	if sharer, ok := dialer.(transport.Sharer); ok && !sharer.Single() {
		fresh, stop := sharer.Fresh()
		defer stop()
		dialer = fresh
	}
	conv, err := r.s.dialBy(r.s.time, dialer, r.s.o.clientOptions(rev))
	if err != nil {
		return nil
	}
	defer conv.Record.Release()
	defer r.s.end(conv, probing, false)
	if conv.Handshake(r.s.time) != nil || whyUnresponsive(r.s.time, conv) != "" {
		return nil
	}
	return r.offer.inventories[rev].Learn(r.s.time, conv)
}
