// Package locks has locks that can be held while waiting for a server. They work like those of
// package sync, but Lock blocks on a channel. In a bubble of testing/synctest, time does not
// advance while a goroutine blocks on a lock of package sync; on a channel it does.
package locks

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// An RWMutex is like a sync.RWMutex. Callers acquire it in the order of their calls.
type RWMutex struct{ shares *semaphore.Weighted }

// The shares that readers and writers acquire.
const (
	one = 1
	all = math.MaxInt64
)

// NewRWMutex returns an unlocked RWMutex.
func NewRWMutex() *RWMutex { return &RWMutex{semaphore.NewWeighted(all)} }

// Lock waits until no other caller holds the lock.
func (m *RWMutex) Lock() { m.acquire(all) }

// Unlock releases a lock that Lock acquired.
func (m *RWMutex) Unlock() { m.shares.Release(all) }

// RLock waits until no writer holds the lock, and until writers that waited before this call
// have released it.
func (m *RWMutex) RLock() { m.acquire(one) }

// RUnlock releases a lock that RLock acquired.
func (m *RWMutex) RUnlock() { m.shares.Release(one) }

// RLocker returns a Locker whose methods are RLock and RUnlock.
func (m *RWMutex) RLocker() sync.Locker { return reader{m} }

func (m *RWMutex) acquire(shares int64) {
	_ = m.shares.Acquire(context.Background(), shares) // it fails only if its context ends
}

type reader struct{ m *RWMutex }

// Lock implements sync.Locker.
func (r reader) Lock() { r.m.RLock() }

// Unlock implements sync.Locker.
func (r reader) Unlock() { r.m.RUnlock() }

// A Once is like a sync.Once.
type Once struct {
	begun atomic.Bool
	done  chan struct{}
}

// NewOnce returns a Once whose Do was not called yet.
func NewOnce() *Once { return &Once{done: make(chan struct{})} }

// Do calls f if this is the first call of Do. Any other call waits until the first has returned.
func (o *Once) Do(f func()) {
	if !o.begun.CompareAndSwap(false, true) {
		<-o.done
		return
	}
	defer close(o.done)
	f()
}
