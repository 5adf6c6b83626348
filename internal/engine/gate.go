package engine

import (
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/locks"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// At any time most servers, or sessions with a server at a URL, only wait: for a response, for
// silence, or for an exit. So waitersPerWorker times as many may exist as may work. The number that
// may work is jobs, but at least the smaller of 2*jobs and fewWorkers is counted here. For a slow
// server at a URL this minimum is multiplied by whenSlow, because waiting for such a server costs
// neither a process nor CPU time.
const (
	waitersPerWorker = 4
	fewWorkers       = 4
	whenSlow         = 3
)

// maxAlive limits how many servers, or sessions with one server, exist at
// once.
func maxAlive(jobs int, over spec.Transport, isSlow bool) int {
	few := min(2*jobs, fewWorkers)
	if isSlow && over != spec.Stdio {
		few *= whenSlow
	}
	return max(jobs, few) * waitersPerWorker
}

// gate limits how many servers work and how many exist at once, and lets an
// exclusive unit run with no other server.
type gate struct {
	// alone is write-locked by an exclusive pass, and read-locked by the other passes.
	alone *locks.RWMutex
	// isSingle is set if no second copy of the server can run.
	isSingle bool
	// longRunningLeft, if set, is closed when the long-running pass has left. Exclusive callers
	// wait for that before they write-lock gate.alone, because a pending writer blocks new readers,
	// and the long-running pass may wait for such readers.
	longRunningLeft chan struct{}

	jobs    int
	mu      sync.Mutex
	fewer   *sync.Cond // signals that working, alive, waiting or the memory in use has decreased
	working int
	alive   int // passes that have not left
	// waiting are the ranks of the callers that wait for a slot.
	waiting     []int
	maxAlive    int // the maximum of alive
	longRunning int // 1 until the long-running pass has left, 0 without such a pass
	// budget is the memory budget of the run; nil means no limit. While half of it or more is used,
	// a unit enters only when no pass except the long-running one is active, because the others
	// release memory when they leave.
	budget *transcript.Budget
}

func newGate(jobs, alive int) *gate {
	g := &gate{alone: locks.NewRWMutex(), maxAlive: alive, jobs: jobs}
	g.fewer = sync.NewCond(&g.mu)
	return g
}

// setMaxAlive sets how many servers may exist at once from now on.
func (g *gate) setMaxAlive(most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.maxAlive = most
	g.fewer.Broadcast()
}

// slots returns how many servers, or sessions with one server, may exist at once.
func (g *gate) slots() int {
	if g.isSingle {
		return 1
	}
	return g.maxAlive
}

// A pass is the permission to run servers.
type pass struct {
	g    *gate
	lock sync.Locker // the write lock or the read lock of gate.alone
	once sync.Once

	isWorking, isFinished bool // guarded by g.mu
	isLongRunning         bool
}

// enter waits for a slot. If several callers wait, the one with the lowest rank enters first. If
// alone is set, no other server exists until the caller leaves the pass.
func (g *gate) enter(alone bool, rank int) *pass {
	p := &pass{g: g, lock: g.alone.RLocker()}
	if alone || g.isSingle {
		p.lock = g.alone
		if g.longRunningLeft != nil && !g.isSingle {
			<-g.longRunningLeft
		}
	}
	p.lock.Lock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, rank)
	for slices.Min(g.waiting) < rank || g.working >= g.jobs || g.alive >= g.maxAlive || g.alive > g.longRunning && g.budget.IsHalfUsed() {
		g.fewer.Wait()
	}
	i := slices.Index(g.waiting, rank)
	g.waiting = slices.Delete(g.waiting, i, i+1)
	g.fewer.Broadcast() // the next caller may enter, too
	g.alive++
	p.acquire()
	return p
}

// beginIdle releases the slot while the run only waits for the server. The returned function
// acquires it again; if several waits overlap, the first that ends does so. That function never
// blocks, because the next message may have to be sent at once. So more than g.jobs units may work
// for a while; during that time, enter admits no others.
func (p *pass) beginIdle() func() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.release()
	return func() {
		p.g.mu.Lock()
		defer p.g.mu.Unlock()
		if !p.isFinished {
			p.acquire()
		}
	}
}

// markLongRunning marks the pass as the one that stays for most of the run. It must be called
// before other passes enter.
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
	p.isFinished = true
}

// acquire takes a slot. The caller must hold g.mu, as for release.
func (p *pass) acquire() {
	if !p.isWorking {
		p.isWorking = true
		p.g.working++
	}
}

func (p *pass) release() {
	if p.isWorking {
		p.isWorking = false
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
		p.g.removePass(p.isLongRunning)
		p.lock.Unlock()
	})
}

// removePass subtracts a pass that has left, and wakes the callers that wait for a slot.
func (g *gate) removePass(wasLongRunning bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.alive--
	if wasLongRunning {
		g.longRunning = 0
	}
	g.fewer.Broadcast()
}

// drain waits until no server exists.
func (g *gate) drain() {
	g.alone.Lock()
	defer g.alone.Unlock()
}
