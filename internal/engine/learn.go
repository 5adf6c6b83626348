package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/locks"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// learnRoles sets how the inventories learn which roles unknown tools can play.
// The tools are called once, when a case first needs a role for which no tool is
// known, in the newest revision of each era: tools request input differently in
// each era.
func (r *prober) learnRoles() {
	if r.s.gate.isSingle {
		return // servers run one at a time, so one more start would take too long
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
	conv, err := r.s.dialWith(r.s.time, dialer, r.s.o.clientOptions(rev))
	if err != nil {
		return nil
	}
	defer conv.Record.Release()
	defer r.s.end(conv, probeOccasion, false)
	if conv.Handshake(r.s.time) != nil || whyUnresponsive(r.s.time, conv) != "" {
		return nil
	}
	return r.offer.inventories[rev].Learn(r.s.time, conv)
}
