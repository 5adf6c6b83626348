package pagination

import (
	"context"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/client"
)

// rounds sends the requests of several lists together: each round has the next requests of every
// list that is still being requested, in the order of the lists.
type rounds struct {
	c *client.Conversation

	mu      sync.Mutex
	all     []*listing
	over    map[*listing]bool
	waiting map[*listing]*turn
}

// turn is a list's part of a round.
type turn struct {
	requests [][]byte
	replies  chan []*client.Reply
}

// runInRounds runs f for all lists at the same time, and sends their requests in rounds.
func runInRounds(ctx context.Context, c *client.Conversation, all []*listing, f func(ctx context.Context, l *listing)) {
	r := &rounds{c: c, all: all, over: map[*listing]bool{}, waiting: map[*listing]*turn{}}
	var running sync.WaitGroup
	for _, l := range all {
		l.rounds = r
		running.Go(func() {
			defer r.endPart(ctx, l)
			f(ctx, l)
		})
	}
	running.Wait()
}

// send sends the requests of a list in the next round, and returns its replies.
func (r *rounds) send(ctx context.Context, l *listing, requests [][]byte) []*client.Reply {
	t := &turn{requests, make(chan []*client.Reply, 1)}
	r.mu.Lock()
	r.waiting[l] = t
	r.next(ctx)
	r.mu.Unlock()
	return <-t.replies
}

// endPart removes a list from the rounds, so that the others no longer wait for it.
func (r *rounds) endPart(ctx context.Context, l *listing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over[l] = true
	r.next(ctx)
}

// next does the next round once every list waits for it. The caller holds r.mu, so that no list can
// join or leave meanwhile.
func (r *rounds) next(ctx context.Context) {
	if len(r.waiting) == 0 || len(r.waiting)+len(r.over) < len(r.all) {
		return
	}
	var requests [][]byte
	for _, l := range r.all {
		if t := r.waiting[l]; t != nil {
			requests = append(requests, t.requests...)
		}
	}
	replies := r.c.DoAll(ctx, requests)
	for _, l := range r.all {
		if t := r.waiting[l]; t != nil {
			t.replies <- replies[:len(t.requests)]
			replies = replies[len(t.requests):]
		}
	}
	clear(r.waiting)
}
