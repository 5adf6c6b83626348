package locks

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestHoldersMayWait checks that time goes on in a bubble in which callers wait for a holder that
// itself waits, and in which order they enter.
func TestHoldersMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, began := NewRWMutex(), time.Now()
		var all sync.WaitGroup
		for i, x := range []struct {
			lock    sync.Locker
			entered time.Duration
		}{
			{m.RLocker(), 0}, {m.RLocker(), 0}, {m, time.Hour}, {m.RLocker(), 2 * time.Hour}, {m, 3 * time.Hour},
		} {
			all.Go(func() {
				x.lock.Lock()
				defer x.lock.Unlock()
				if got := time.Since(began); got != x.entered {
					t.Errorf("caller %d entered after %v, want %v", i, got, x.entered)
				}
				<-time.After(time.Hour)
			})
			synctest.Wait()
		}
		all.Wait()
	})
}

func TestOnceWaitsForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, began, calls := NewOnce(), time.Now(), 0
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				o.Do(func() {
					calls++
					<-time.After(time.Hour)
				})
				if got := time.Since(began); got != time.Hour {
					t.Errorf("Do returned after %v", got)
				}
			})
		}
		all.Wait()
		if calls != 1 {
			t.Errorf("the function ran %d times", calls)
		}
	})
}
