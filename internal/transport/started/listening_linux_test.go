package started

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestHasExitedDespiteSignals checks that a pending signal, which interrupts even a poll that does
// not wait, does not count as an exit.
func TestHasExitedDespiteSignals(t *testing.T) {
	pid := os.Getpid()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Skip("this kernel has no pidfd:", err)
	}
	defer func() { _ = unix.Close(fd) }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var over atomic.Bool
	var sender sync.WaitGroup
	thread := unix.Gettid()
	sender.Go(func() {
		for !over.Load() {
			_ = unix.Tgkill(pid, thread, unix.SIGURG)
		}
	})
	defer sender.Wait()
	defer over.Store(true)
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
		if hasExited(uintptr(fd)) {
			t.Fatal("a process that runs counts as ended")
		}
	}
}
