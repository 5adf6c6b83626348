package login

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLock checks that a second lock waits for the first one, and that a lock that was never
// released ends after lockTime.
func TestLock(t *testing.T) {
	s, l := Store{filepath.Join(t.TempDir(), "logins")}, &Login{Server: "https://x.example/mcp"}
	s.lock(t.Context(), l)() // without the folder there is none
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	release, locked := s.lock(t.Context(), l), make(chan func())
	go func() { locked <- s.lock(t.Context(), l) }()
	select {
	case <-locked:
		t.Fatal("there are two locks")
	case <-time.After(3 * lockPoll):
	}
	release()
	(<-locked)()

	s.lock(t.Context(), l) // and never released
	old := time.Now().Add(-2 * lockTime)
	if err := os.Chtimes(s.path(l.Server, l.Name)+".lock", old, old); err != nil {
		t.Fatal(err)
	}
	within, cancel := context.WithTimeout(t.Context(), lockTime/2)
	defer cancel()
	s.lock(within, l)()
	if within.Err() != nil {
		t.Error("the old lock lasts")
	}
	if left, _ := os.ReadDir(s.Folder); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
