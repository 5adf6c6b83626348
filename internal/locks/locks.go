// Package locks has locks for holders that wait for a server. They do what those of package sync
// do, but whoever waits for one waits for a channel. In a bubble of testing/synctest, time stands
// still while a goroutine waits for a lock of package sync, and does not for a channel.
package locks

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// An RWMutex is like a sync.RWMutex. Callers enter in the order of their calls.
type RWMutex struct{ shares *semaphore.Weighted }

// How many shares a holder acquires.
const (
	one = 1
	all = math.MaxInt64
)

// NewRWMutex returns an unlocked RWMutex.
func NewRWMutex() *RWMutex { return &RWMutex{semaphore.NewWeighted(all)} }

// Lock waits until no other caller holds the lock.
func (m *RWMutex) Lock() { m.acquire(all) }

// Unlock ends what Lock began.
func (m *RWMutex) Unlock() { m.shares.Release(all) }

// RLock waits until no caller of Lock holds the lock, or has asked for it earlier.
func (m *RWMutex) RLock() { m.acquire(one) }

// RUnlock ends what RLock began.
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

// Do calls f if this is the first call, and waits until the first call has returned.
func (o *Once) Do(f func()) {
	if !o.begun.CompareAndSwap(false, true) {
		<-o.done
		return
	}
	defer close(o.done)
	f()
}
