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
func (r *offer) learnRoles() {
	if r.gate.one {
		return // the result is not worth one more start, as servers run one at a time
	}
	for _, era := range []spec.Era{spec.Handshake, spec.Stateless} {
		revisions := spec.InEra(era, r.revisions)
		if len(revisions) == 0 {
			continue
		}
		var learned []inventory.Learned
		once := locks.NewOnce()
		for _, rev := range revisions {
			r.inventories[rev].LearnBy(func() []inventory.Learned {
				once.Do(func() { learned = r.learnRolesIn(slices.Max(revisions)) })
				return learned
			})
		}
	}
}

// learnRolesIn makes the calls on a separate server, if one can be started, so
// that what they change does not affect other conversations.
func (r *offer) learnRolesIn(rev spec.Revision) []inventory.Learned {
	dialer := r.o.Dialer
	if sharer, ok := dialer.(transport.Sharer); ok && !sharer.Single() {
		fresh, stop := sharer.Fresh()
		defer stop()
		dialer = fresh
	}
	conv, err := r.dialBy(r.time, dialer, r.o.clientOptions(rev))
	if err != nil {
		return nil
	}
	defer conv.Record.Release()
	defer r.end(conv, probing, false)
	if conv.Handshake(r.time) != nil || whyUnresponsive(r.time, conv) != "" {
		return nil
	}
	return r.inventories[rev].Learn(r.time, conv)
}
