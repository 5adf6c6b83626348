package engine

import (
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/locks"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// waitersPerWorker limits how many servers, or sessions with one server, exist
// for each one that works: most of them wait for a response, for silence, or
// for an exit. With few workers there are up to twice as many, no more than for
// four workers. Sessions with a server at a URL that is far away or slow need
// neither a process nor work, so whenSlow times as many exist.
const (
	waitersPerWorker = 4
	fewWorkers       = 4
	whenSlow         = 2
)

// mostAlive limits how many servers, or sessions with one server, exist at
// once.
func mostAlive(jobs int, over spec.Transport, isSlow bool) int {
	few := min(2*jobs, fewWorkers)
	if isSlow && over != spec.Stdio {
		few *= whenSlow
	}
	return max(jobs, few) * waitersPerWorker
}

// gate limits how many servers work and how many exist at once, and lets an
// exclusive unit run with no other server.
type gate struct {
	// alone is locked by an exclusive pass, and read-locked by the others.
	alone *locks.RWMutex
	// one is set if no second copy of the server can run.
	one bool
	// longRunningLeft, if set, is closed when the pass that stays for most of the run
	// has left. Exclusive callers wait for it before they ask for the lock: once
	// they do, no other caller enters, and the pass may last until others have.
	longRunningLeft chan struct{}

	jobs    int
	mu      sync.Mutex
	fewer   *sync.Cond // signals that working, alive, waiting or the used part of the budget has decreased
	working int
	alive   int // passes that have not left
	// waiting are the ranks of the callers that wait for a slot.
	waiting     []int
	most        int // the maximum of alive
	longRunning int // 1 while the long-running pass has not left, else 0
	// budget, if pressed, lets a unit enter only when no other is in, because
	// the others release memory when they leave. Nil limits nothing.
	budget *transcript.Budget
}

func newGate(jobs, alive int) *gate {
	g := &gate{alone: locks.NewRWMutex(), most: alive, jobs: jobs}
	g.fewer = sync.NewCond(&g.mu)
	return g
}

// admit sets how many servers may exist at once from now on.
func (g *gate) admit(most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most = most
	g.fewer.Broadcast()
}

// slots returns how many servers, or sessions with one server, may exist at once.
func (g *gate) slots() int {
	if g.one {
		return 1
	}
	return g.most
}

// A pass is the permission to run servers.
type pass struct {
	g    *gate
	lock sync.Locker // of gate.alone, to write or to read
	once sync.Once

	works, rested bool // guarded by g.mu
	isLongRunning bool
}

// enter waits for a slot; of several callers the one with the lowest rank enters first.
// If alone is set, no other server exists until the pass is left.
func (g *gate) enter(alone bool, rank int) *pass {
	p := &pass{g: g, lock: g.alone.RLocker()}
	if alone || g.one {
		p.lock = g.alone
		if g.longRunningLeft != nil && !g.one {
			<-g.longRunningLeft
		}
	}
	p.lock.Lock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, rank)
	for slices.Min(g.waiting) < rank || g.working >= g.jobs || g.alive >= g.most || g.alive > g.longRunning && g.budget.IsHalfUsed() {
		g.fewer.Wait()
	}
	i := slices.Index(g.waiting, rank)
	g.waiting = slices.Delete(g.waiting, i, i+1)
	g.fewer.Broadcast() // the next may enter too
	g.alive++
	p.acquire()
	return p
}

// idle releases the slot while the run only waits for the server. The returned
// function acquires it again; of several concurrent waits, the first to end
// does so. That function never blocks, because the next message may have to
// follow at once: instead, no other unit enters while too many work.
func (p *pass) idle() func() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.release()
	return func() {
		p.g.mu.Lock()
		defer p.g.mu.Unlock()
		if !p.rested {
			p.acquire()
		}
	}
}

// markLongRunning marks the pass that stays for most of the run. It must be called before
// others enter.
func (p *pass) markLongRunning() {
	p.g.mu.Lock()
	p.g.longRunning = 1
	p.g.mu.Unlock()
	p.isLongRunning = true
	p.g.longRunningLeft = make(chan struct{})
}

// finishWork ends the work of the pass; its servers may still exist.
func (p *pass) finishWork() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.release()
	p.rested = true
}

// acquire takes a slot. It requires g.mu, as release does.
func (p *pass) acquire() {
	if !p.works {
		p.works = true
		p.g.working++
	}
}

func (p *pass) release() {
	if p.works {
		p.works = false
		p.g.working--
		p.g.fewer.Broadcast()
	}
}

// leave ends the pass. It must be called after finishWork, when no server of
// the pass exists any more.
func (p *pass) leave() {
	p.once.Do(func() {
		if p.isLongRunning {
			close(p.g.longRunningLeft)
		}
		p.g.countLeft(p.isLongRunning)
		p.lock.Unlock()
	})
}

// countLeft counts a pass that has left, and wakes those that wait for that.
func (g *gate) countLeft(lasted bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.alive--
	if lasted {
		g.longRunning = 0
	}
	g.fewer.Broadcast()
}

// drain waits until no server exists.
func (g *gate) drain() {
	g.alone.Lock()
	defer g.alone.Unlock()
}
