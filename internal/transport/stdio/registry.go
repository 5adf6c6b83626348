package stdio

import (
	"errors"
	"sync"
)

// alive holds every server that was started and has not ended yet.
var alive = newRegistry(system{})

type registry struct {
	mu     sync.Mutex
	peers  map[peer]struct{}
	closed bool // KillAll was called

	// The fields below are about processes that servers start, see orphans.go.
	table    processTable
	adopting bool            // orphans become our children
	alone    bool            // adopting, and AdoptOrphans found no children: orphans without a mark belong to servers
	token    string          // the prefix of all owner names; "" without AdoptOrphans
	outsider string          // the name in place of an owner name for commands that are not servers
	started  int             // how many servers were given an owner name
	owners   map[string]bool // the owner names of the living servers
	ended    processSet      // processes of servers that have exited
	lost     processSet      // processes that can't be killed
	left     []leftover      // processes that TakeLeftovers will list
}

func newRegistry(t processTable) *registry {
	return &registry{peers: map[peer]struct{}{}, table: t, owners: map[string]bool{}, ended: processSet{}, lost: processSet{}}
}

// add starts a server and lists it. Both happen under the lock, so that
// KillAll misses no server, and no server is mistaken for an orphan.
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

// KillAll kills every living server that this package started, with all processes of its group and,
// after AdoptOrphans, all other processes that the server started. It also prevents new servers
// from starting. It is the last resort before the harness exits on a crash or a second interrupt.
func KillAll() {
	alive.mu.Lock()
	alive.closed = true
	for p := range alive.peers {
		p.kill()
	}
	alive.mu.Unlock()
	alive.endOrphans()
}

// LiveCount returns the number of living servers.
func LiveCount() int {
	alive.mu.Lock()
	defer alive.mu.Unlock()
	return len(alive.peers)
}
