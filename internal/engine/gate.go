package engine

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// waitersPerWorker bounds the servers alive at once, or the sessions with one:
// so many for each one that works, as most wait for an answer, for silence, or
// for their exit.
const waitersPerWorker = 4

// Sessions with one server at a URL cost neither a process nor its start: with
// few workers there are twice as many, up to what four workers have anyway.
const (
	sessionsPerWorker = 2 * waitersPerWorker
	manySessions      = 4 * waitersPerWorker
)

// mostAlive bounds the servers alive at once, or the sessions with one.
func mostAlive(jobs int, over spec.Transport) int {
	most := jobs * waitersPerWorker
	if over == spec.Stdio {
		return most
	}
	return max(most, min(jobs*sessionsPerWorker, manySessions))
}

// gate bounds the servers that work and that live at once, and lets one work
// with no other alive.
type gate struct {
	live  chan struct{}
	alone sync.RWMutex
	// one: the server tolerates no second copy of itself.
	one bool
	// lasting, when set, is closed once a pass has left that lasts for most of
	// the run. Who wants to be alone waits for that first: behind one who waits
	// for the lock nobody else gets in, and the pass may last until they did.
	lasting chan struct{}

	jobs    int
	mu      sync.Mutex
	fewer   *sync.Cond // working, entered or what the budget holds has become less
	working int
	entered int // passes that have not left, without the one that lasts
	// budget, where it is pressed, lets one enter only when none is in: what
	// others hold is let go when they leave. Nil bounds nothing.
	budget *transcript.Budget
}

func newGate(jobs, alive int) *gate {
	g := &gate{live: make(chan struct{}, alive), jobs: jobs}
	g.fewer = sync.NewCond(&g.mu)
	return g
}

// pass is the right to have servers.
type pass struct {
	g      *gate
	single bool
	once   sync.Once

	works, rested bool // by g.mu
	lasts         bool
}

// enter waits for the right to work; alone means that no other server lives
// meanwhile.
func (g *gate) enter(alone bool) *pass {
	p := &pass{g: g, single: alone || g.one}
	if p.single {
		if g.lasting != nil && !g.one {
			<-g.lasting
		}
		g.alone.Lock()
	} else {
		g.alone.RLock()
	}
	g.live <- struct{}{}
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.working >= g.jobs || g.entered > 0 && g.budget.Pressed() {
		g.fewer.Wait()
	}
	g.entered++
	p.acquire()
	return p
}

// idle lets others work while this one's servers wait; the function it
// returns ends that, which of several waits the first does. It never waits for
// a place, for what follows an answer may have to follow at once: instead none
// enters until fewer work than may.
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

// last says that the pass lasts for most of the run. Call it before others
// enter.
func (p *pass) last() {
	p.g.mu.Lock()
	p.g.entered--
	p.g.mu.Unlock()
	p.lasts = true
	p.g.lasting = make(chan struct{})
}

// finishWork says that the work is done; servers may still live.
func (p *pass) finishWork() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.release()
	p.rested = true
}

// acquire and yield are for who holds the gate's lock.
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

// leave says that no server lives any more. Call rest first.
func (p *pass) leave() {
	p.once.Do(func() {
		<-p.g.live
		if p.lasts {
			close(p.g.lasting)
		} else {
			p.g.countLeft()
		}
		if p.single {
			p.g.alone.Unlock()
		} else {
			p.g.alone.RUnlock()
		}
	})
}

// countLeft counts a pass that has left. Whoever waits for work or for room looks
// again.
func (g *gate) countLeft() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entered--
	g.fewer.Broadcast()
}

// drain waits until no server lives.
func (g *gate) drain() {
	g.alone.Lock()
	defer g.alone.Unlock()
}
