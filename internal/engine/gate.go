package engine

import "sync"

// waitersPerWorker bounds the servers alive at once: so many for each one
// that works, as most wait for silence or for their exit.
const waitersPerWorker = 4

// gate bounds the servers that work and that live at once, and lets one work
// with no other alive.
type gate struct {
	work  chan struct{}
	live  chan struct{}
	alone sync.RWMutex
	// one: the server tolerates no second copy of itself.
	one bool
}

func newGate(jobs int) *gate {
	return &gate{work: make(chan struct{}, jobs), live: make(chan struct{}, jobs*waitersPerWorker)}
}

// pass is the right to have servers.
type pass struct {
	g      *gate
	single bool
	once   sync.Once
}

// enter waits for the right to work; alone means that no other server lives
// meanwhile.
func (g *gate) enter(alone bool) *pass {
	p := &pass{g: g, single: alone || g.one}
	if p.single {
		g.alone.Lock()
	} else {
		g.alone.RLock()
	}
	g.live <- struct{}{}
	g.work <- struct{}{}
	return p
}

// idle lets others work while this one's servers wait; the function it
// returns ends that.
func (p *pass) idle() func() {
	<-p.g.work
	return func() { p.g.work <- struct{}{} }
}

// rest says that the work is done; servers may still live.
func (p *pass) rest() { <-p.g.work }

// leave says that no server lives any more. Call rest first.
func (p *pass) leave() {
	p.once.Do(func() {
		<-p.g.live
		if p.single {
			p.g.alone.Unlock()
		} else {
			p.g.alone.RUnlock()
		}
	})
}

// drain waits until no server lives.
func (g *gate) drain() {
	g.alone.Lock()
	defer g.alone.Unlock()
}
