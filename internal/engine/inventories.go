package engine

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/locks"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// probedConversations are the results of the probe, with an open conversation in each revision that
// the server speaks, and the pass for all these conversations.
type probedConversations struct {
	pass    *pass
	results []*probed
}

// An inventoryTaker takes the inventories of a server, in the conversations that the probe has
// opened.
type inventoryTaker struct {
	s     *session
	offer *offer // the inventories are stored here
	open  *openConversations
}

func newInventoryTaker(s *session, o *offer) *inventoryTaker {
	return &inventoryTaker{s: s, offer: o, open: &openConversations{}}
}

// take takes an inventory in each revision. It returns the conversations that stay open for the
// cases. There are none if found is nil, or if servers run one at a time.
func (r *inventoryTaker) take(ctx context.Context, found *probedConversations) *openConversations {
	if found == nil {
		return r.open
	}
	pass, results := found.pass, found.results
	r.offer.inventories = map[spec.Revision]*inventory.Inventory{}
	r.open.byRevision = map[spec.Revision]*sharedConversation{}
	if r.s.gate.isSingle {
		r.s.endProbed(results...)
		pass.finishWork()
		pass.leave()
		r.takeOneByOne(ctx)
		return r.open
	}
	r.takeTogether(ctx, results)
	r.retakeInventories(ctx)
	r.s.endProbed(slices.DeleteFunc(slices.Clone(results), func(p *probed) bool { return r.offer.inventories[p.revision] != nil })...)
	pass.finishWork()
	pass.markLongRunning()
	r.open.pass = pass
	spoken := slices.DeleteFunc(slices.Clone(results), func(p *probed) bool { return !p.isSpoken() })
	r.offer.isSlow = len(spoken) > 0 && !slices.ContainsFunc(spoken, func(p *probed) bool { return !p.conv.IsSlow() })
	r.s.gate.setMaxAlive(maxAlive(r.s.o.Jobs, r.s.transport(), r.offer.isSlow))
	r.learnRoles()
	return r.open
}

// takeTogether takes the inventories in the conversations of the probe, all at the same time. In a
// revision in which the server is unresponsive, the inventory is empty.
func (r *inventoryTaker) takeTogether(ctx context.Context, results []*probed) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	known := maps.Clone(r.offer.unresponsive)
	for _, p := range results {
		if !slices.Contains(r.offer.revisions, p.revision) {
			continue
		}
		why := known[p.revision]
		wg.Go(func() {
			if why == "" {
				why = whyUnresponsive(ctx, p.conv)
			}
			offered := inventory.Empty()
			if why == "" {
				offered = inventory.Take(ctx, p.conv, r.s.o.Policy)
			}
			shared := &sharedConversation{conv: p.conv}
			if p.stop != nil { // the units of this revision have processes of their own
				r.s.endProbed(p)
				shared = &sharedConversation{}
			}
			mu.Lock()
			defer mu.Unlock()
			if why != "" {
				r.offer.setUnresponsive(p.revision, why)
			}
			r.offer.inventories[p.revision] = offered
			r.open.byRevision[p.revision] = shared
		})
	}
	wg.Wait()
}

// takeOneByOne takes the inventories one server at a time.
func (r *inventoryTaker) takeOneByOne(ctx context.Context) {
	for _, rev := range r.offer.revisions {
		pass := r.s.gate.enter(true, 0)
		offered := inventory.Empty()
		if conv, err := r.s.dial(ctx, r.s.o.clientOptions(rev)); err == nil {
			if conv.Handshake(ctx) == nil && whyUnresponsive(ctx, conv) == "" {
				offered = inventory.Take(ctx, conv, r.s.o.Policy)
			}
			r.s.endProbe(conv)
		}
		r.offer.inventories[rev] = offered
		r.open.byRevision[rev] = &sharedConversation{}
		pass.finishWork()
		pass.leave()
	}
}

// retakeInventories takes the inventories again, each on its own process, if the shared process
// exited meanwhile. A single inventory may have caused the exit.
func (r *inventoryTaker) retakeInventories(ctx context.Context) {
	sharer, ok := r.s.dialer.(transport.Sharer)
	if !ok || !r.haveAllEnded() {
		return
	}
	for rev := range r.open.byRevision {
		d, stop := sharer.FreshDialer()
		conv, err := r.s.dialWith(ctx, d, r.s.o.clientOptions(rev))
		if err != nil {
			stop()
			continue
		}
		if conv.Handshake(ctx) == nil && whyUnresponsive(ctx, conv) == "" {
			delete(r.offer.unresponsive, rev)
			r.offer.inventories[rev] = inventory.Take(ctx, conv, r.s.o.Policy)
		}
		r.s.endProbe(conv)
		stop()
	}
}

// haveAllEnded reports whether there are shared conversations and all of them
// have ended.
func (r *inventoryTaker) haveAllEnded() bool {
	for _, s := range r.open.byRevision {
		if s.conv == nil || s.conv.Alive() {
			return false
		}
	}
	return len(r.open.byRevision) > 0
}

// learnRoles sets how the inventories learn which roles unknown tools can play. The tools are
// called once in each era, because tools request input differently in each. The calls use the era's
// newest revision, and are made when a case first needs a role for which no tool is known.
func (r *inventoryTaker) learnRoles() {
	if r.s.gate.isSingle {
		return // servers run one at a time, and one more start would take too long
	}
	for _, era := range []spec.Era{spec.Handshake, spec.Stateless} {
		revisions := spec.RevisionsInEra(era, r.offer.revisions)
		if len(revisions) == 0 {
			continue
		}
		var learned []inventory.Learned
		once := locks.NewOnce()
		for _, rev := range revisions {
			r.offer.inventories[rev].SetLearned(func() []inventory.Learned {
				once.Do(func() { learned = r.learnRolesIn(slices.Max(revisions)) })
				return learned
			})
		}
	}
}

// learnRolesIn calls the unknown tools in a conversation of its own, on a separate server if one
// can be started, so that the calls do not affect other conversations.
func (r *inventoryTaker) learnRolesIn(rev spec.Revision) []inventory.Learned {
	dialer, stop := separateDialer(r.s.dialer)
	defer stop()
	ctx := r.s.limit.run
	conv, err := r.s.dialWith(ctx, dialer, r.s.o.clientOptions(rev))
	if err != nil {
		return nil
	}
	defer conv.Record.Release()
	defer r.s.endProbe(conv)
	if conv.Handshake(ctx) != nil || whyUnresponsive(ctx, conv) != "" {
		return nil
	}
	return r.offer.inventories[rev].Learn(ctx, conv)
}
