package cli

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// driven is a rounds whose changes a test sends.
type driven struct {
	rounds
	changes chan string
	calls   []string
	running atomic.Int32  // number of rounds that are running
	lasts   time.Duration // of a round
}

func newDriven(t *testing.T) *driven {
	d := &driven{changes: make(chan string), lasts: time.Second}
	d.rounds = rounds{
		changes: d.changes, settle: settleTime,
		judge: func(ctx context.Context, why string) {
			if d.running.Add(1) != 1 {
				t.Error("two rounds run concurrently")
			}
			d.calls = append(d.calls, "judge "+why)
			select {
			case <-time.After(d.lasts):
			case <-ctx.Done():
				d.calls = append(d.calls, "cut off")
			}
			d.running.Add(-1)
		},
		wait:   func() { d.calls = append(d.calls, "wait") },
		ignore: func(path string) { d.calls = append(d.calls, "ignore "+path) },
	}
	return d
}

// while runs the rounds in a synctest bubble, calls do, and then ends the
// rounds.
func (d *driven) while(t *testing.T, do func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); d.run(ctx) }()
	do()
	synctest.Wait()
	cancel()
	<-ended
}

func TestChangesAreJudgedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriven(t)
		began := time.Now()
		d.while(t, func() {
			time.Sleep(2 * time.Second)
			for i := range 5 {
				d.changes <- fmt.Sprint("a", i)
				time.Sleep(settleTime / 2)
			}
			time.Sleep(2 * time.Second)
		})
		if diff := cmp.Diff([]string{"judge ", "wait", "judge a0", "wait"}, d.calls); diff != "" {
			t.Errorf("rounds (-want +got):\n%s", diff)
		}
		if took := time.Since(began); took != 4*time.Second+5*settleTime/2 {
			t.Errorf("it took %v", took)
		}
	})
}

// TestAChangeIsNamedByTheFileThatIsThere checks that a change is named by the
// file that exists: editors write a temporary file and rename it over the
// original.
func TestAChangeIsNamedByTheFileThatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriven(t)
		d.gone = func(path string) bool { return path == "temporary" || path == "removed" }
		d.while(t, func() {
			for range 2 { // during a round, and between rounds
				time.Sleep(time.Second / 2)
				for _, path := range []string{"temporary", "source", "temporary", "other"} {
					d.changes <- path
				}
				time.Sleep(5 * time.Second)
			}
			d.changes <- "removed"
			d.changes <- "temporary"
			time.Sleep(5 * time.Second)
		})
		if diff := cmp.Diff([]string{"judge ", "judge source", "wait", "judge source", "wait", "judge removed", "wait"}, d.calls); diff != "" {
			t.Errorf("rounds (-want +got):\n%s", diff)
		}
	})
}

// TestAChangeDuringARoundBringsAnother checks that changes during a round start one more round
// after it, not concurrently with it and not twice.
func TestAChangeDuringARoundBringsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriven(t)
		d.while(t, func() {
			time.Sleep(time.Second / 2)
			d.changes <- "a"
			d.changes <- "b"
			time.Sleep(5 * time.Second)
		})
		if diff := cmp.Diff([]string{"judge ", "judge a", "wait"}, d.calls); diff != "" {
			t.Errorf("rounds (-want +got):\n%s", diff)
		}
	})
}

// TestWhatTheServerWritesIsNoChange checks that files which the server writes
// start no round. Otherwise the rounds would never stop.
func TestWhatTheServerWritesIsNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriven(t)
		judge := d.judge
		d.judge = func(ctx context.Context, why string) {
			d.changes <- "log"
			judge(ctx, why)
		}
		d.while(t, func() {
			time.Sleep(10 * time.Second)
			d.changes <- "source"
			time.Sleep(10 * time.Second)
		})
		if diff := cmp.Diff([]string{"judge ", "judge log", "ignore log", "wait", "judge source", "wait"}, d.calls); diff != "" {
			t.Errorf("rounds (-want +got):\n%s", diff)
		}
	})
}

func TestABuildComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriven(t)
		var works atomic.Bool
		works.Store(true)
		d.build = func(context.Context) bool {
			d.calls = append(d.calls, "build")
			d.changes <- "binary"
			time.Sleep(time.Second)
			return works.Load()
		}
		d.while(t, func() {
			time.Sleep(3 * time.Second)
			works.Store(false)
			d.changes <- "a"
			time.Sleep(3 * time.Second)
			works.Store(true)
			d.changes <- "b"
			time.Sleep(3 * time.Second)
		})
		if diff := cmp.Diff([]string{"build", "judge ", "wait", "build", "wait", "build", "judge b", "wait"}, d.calls); diff != "" {
			t.Errorf("rounds (-want +got):\n%s", diff)
		}
	})
}

func TestAnInterruptEndsTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriven(t)
		d.while(t, func() { time.Sleep(time.Second / 2) })
		if diff := cmp.Diff([]string{"judge ", "cut off"}, d.calls); diff != "" {
			t.Errorf("rounds (-want +got):\n%s", diff)
		}
	})
}

// TestClosedChanges checks that no further round begins when the channel of changes is closed.
func TestClosedChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriven(t)
		d.while(t, func() { close(d.changes); time.Sleep(5 * time.Second) })
		if diff := cmp.Diff([]string{"judge ", "wait"}, d.calls); diff != "" {
			t.Errorf("rounds (-want +got):\n%s", diff)
		}
	})
}
