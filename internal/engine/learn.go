package engine

import (
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// learnRoles sets how the inventories of all revisions learn the roles of
// unknown tools: by calls in the newest revision, once, when a case first looks
// for a role that no tool is known to play.
func (r *offer) learnRoles() {
	if len(r.revisions) == 0 || r.gate.one {
		return // what calls show is not worth a start of its own after all others
	}
	newest := slices.Max(r.revisions)
	learned := sync.OnceValue(func() []inventory.Learned { return r.learnRolesIn(newest) })
	for _, v := range r.inventories {
		v.LearnBy(learned)
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
