package stdio

import (
	"errors"
	"sync"
)

// alive holds every server that was started and is not yet known to be gone.
var alive = registry{peers: map[peer]struct{}{}}

type registry struct {
	mu     sync.Mutex
	peers  map[peer]struct{}
	closed bool // KillAll was called
}

// add starts a server and lists it. Both happen under the lock, so that no
// server can slip past a KillAll.
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
	if len(r.peers) == 0 {
		r.killOrphans()
	}
}

// leads tells whether the process is one that was started as a server. It is
// for who holds the lock.
func (r *registry) leads(pid int) bool {
	for p := range r.peers {
		if p, ok := p.(*process); ok && p.cmd.Process.Pid == pid {
			return true
		}
	}
	return false
}

// KillAll kills every server that this package started and that is still
// alive, with all processes of its group, and lets no other be started. It is
// the last resort before the harness itself ends: on a crash, or on a second
// interrupt.
func KillAll() {
	alive.mu.Lock()
	defer alive.mu.Unlock()
	alive.closed = true
	for p := range alive.peers {
		p.kill()
	}
	alive.killOrphans()
}

// Live returns the number of servers that are alive.
func Live() int {
	alive.mu.Lock()
	defer alive.mu.Unlock()
	return len(alive.peers)
}
