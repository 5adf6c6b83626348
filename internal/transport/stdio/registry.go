package stdio

import (
	"errors"
	"sync"
)

// alive holds every server that was started and is not yet known to be gone.
var alive = newRegistry(system{})

type registry struct {
	mu     sync.Mutex
	peers  map[peer]struct{}
	closed bool // KillAll was called

	// What follows is about processes that servers start, see orphans.go.
	table    processTable
	adopting bool            // orphans become our children
	alone    bool            // and there were none before: those without a mark are of servers
	token    string          // what the names of servers begin with; "" without Adopt
	outsider string          // the name of what is no server
	started  int             // servers that were named
	owners   map[string]bool // the names of those that are alive
	ended    family          // processes of those that are not
	lost     family          // those that can't be killed
	left     []leftover      // those that LeftBehind is to name
}

func newRegistry(t processTable) *registry {
	return &registry{peers: map[peer]struct{}{}, table: t, owners: map[string]bool{}, ended: family{}, lost: family{}}
}

// add starts a server and lists it. Both happen under the lock, so that no
// server can slip past a KillAll, and none is taken for an orphan.
func (r *registry) add(start func() (peer, error)) (peer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errors.New("no server is started any more: all are being killed")
	}
	p, err := start()
	if err == nil {
		r.peers[p] = struct{}{}
	}
	return p, err
}

func (r *registry) remove(p peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.peers, p)
}

// KillAll kills every server that this package started and that is still
// alive, with all processes of its group and, after Adopt, all others that it
// started, and lets no other be started. It is the last resort before the
// harness itself ends: on a crash, or on a second interrupt.
func KillAll() {
	alive.mu.Lock()
	alive.closed = true
	for p := range alive.peers {
		p.kill()
	}
	alive.mu.Unlock()
	alive.endOrphans()
}

// Live returns the number of servers that are alive.
func Live() int {
	alive.mu.Lock()
	defer alive.mu.Unlock()
	return len(alive.peers)
}
