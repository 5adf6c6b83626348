package pipes_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/pipes"
)

// TestListener checks what two ends of a connection exchange, and how its ends show that the other
// is closed.
func TestListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipes.NewListener()
		accepted := make(chan net.Conn, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				t.Error(err)
			}
			accepted <- conn
		}()
		near, err := l.Dial(t.Context(), "tcp", "anywhere")
		if err != nil {
			t.Fatal(err)
		}
		far := <-accepted
		for from, to := range map[net.Conn]net.Conn{near: far, far: near} {
			b := make([]byte, 5)
			if _, err := from.Write([]byte("hello")); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(to, b); err != nil || string(b) != "hello" {
				t.Errorf("%q, %v", b, err)
			}
		}
		_ = far.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := far.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a read after its deadline: %v", err)
		}
		_ = far.SetReadDeadline(time.Time{})
		_, _ = near.Write([]byte("bye"))
		if err := near.Close(); err != nil {
			t.Error(err)
		}
		if rest, err := io.ReadAll(far); err != nil || string(rest) != "bye" {
			t.Errorf("after the other end was closed: %q, %v", rest, err)
		}
		if _, err := near.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a read after Close: %v", err)
		}
		if _, err := far.Write([]byte("a")); err == nil {
			t.Error("a write to a closed end succeeds")
		}
	})
}

// TestListenerEnds checks that neither Dial nor Accept waits for ever.
func TestListenerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipes.NewListener()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Dial(ctx, "tcp", "anywhere"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial where nobody accepts: %v", err)
		}
		_, _ = l.Close(), l.Close()
		if _, err := l.Dial(t.Context(), "tcp", "anywhere"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Dial after Close: %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close: %v", err)
		}
	})
}
