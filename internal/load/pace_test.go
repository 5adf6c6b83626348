package load

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPace checks that delays are caught up on immediately, up to mostLate.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		name string
		late time.Duration
		want int // requests that are sent immediately
	}{
		{"in time", 0, 1},
		{"a little late", time.Second, 11},
		{"much too late", time.Minute, 52},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPace(time.Now(), 100, 10, 0) // ten requests per second
				time.Sleep(c.late)
				from, at := time.Now(), 0
				for ; time.Since(from) == 0; at++ {
					p.wait(t.Context(), 1)
				}
				if at-1 != c.want {
					t.Errorf("%d requests were made immediately, want %d", at-1, c.want)
				}
				if next := time.Since(from); next > 100*time.Millisecond {
					t.Errorf("the next one came %v later", next)
				}
			})
		})
	}
}

// TestPaceOfWorkers checks that the workers send their requests one after another.
func TestPaceOfWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := time.Now()
		for worker := range 10 {
			p := newPace(from, 100, 10, worker)
			p.wait(t.Context(), 1)
			if got := time.Since(from); got != time.Duration(worker)*10*time.Millisecond {
				t.Errorf("worker %d begins %v late", worker, got)
			}
		}
	})
}
