package pipes_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/pipes"
)

// TestWritingBlocks checks that a write blocks once a pipe is full.
func TestWritingBlocks(t *testing.T) {
	much := bytes.Repeat([]byte("0123456789abcdef"), 2*pipes.Size/16+1)
	for name, c := range map[string]struct {
		meanwhile func(r pipes.Reader, w pipes.Writer)
		written   int
		broken    bool
	}{
		"until everything is read": {func(r pipes.Reader, w pipes.Writer) {
			got := make([]byte, len(much))
			if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, much) {
				t.Errorf("not what was written: %v", err)
			}
		}, len(much), false},
		"until the reader is closed": {func(r pipes.Reader, w pipes.Writer) { _ = r.Close() }, pipes.Size, true},
		"until the writer is closed": {func(r pipes.Reader, w pipes.Writer) { _ = w.Close() }, pipes.Size, true},
		"until the reader is closed, after a part is read": {func(r pipes.Reader, w pipes.Writer) {
			_, _ = io.ReadFull(r, make([]byte, 100))
			synctest.Wait()
			_ = r.Close()
		}, pipes.Size + 100, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pipes.New()
				var n int
				var err error
				done := make(chan struct{})
				go func() { defer close(done); n, err = p.WriteEnd().Write(much) }()
				synctest.Wait()
				select {
				case <-done:
					t.Error("more than a pipe holds was written")
				default:
				}
				c.meanwhile(p.ReadEnd(), p.WriteEnd())
				<-done
				if n != c.written || (err != nil) != c.broken {
					t.Errorf("%d bytes written, %v", n, err)
				}
			})
		})
	}
}

// TestReadingWaits checks how long a read of an empty pipe blocks.
func TestReadingWaits(t *testing.T) {
	for name, c := range map[string]struct {
		after func(p *pipes.Pipe)
		at    time.Duration
		want  string
		err   error
	}{
		"for what is written":            {func(p *pipes.Pipe) { _, _ = p.WriteEnd().Write([]byte("a")) }, time.Second, "a", nil},
		"for the end":                    {func(p *pipes.Pipe) { _ = p.WriteEnd().Close() }, time.Second, "", io.EOF},
		"until it is closed":             {func(p *pipes.Pipe) { _ = p.ReadEnd().Close() }, time.Second, "", os.ErrClosed},
		"for the deadline":               {func(*pipes.Pipe) {}, 5 * time.Second, "", os.ErrDeadlineExceeded},
		"for a deadline that is set now": {func(p *pipes.Pipe) { _ = p.ReadEnd().SetReadDeadline(time.Now().Add(time.Second)) }, 2 * time.Second, "", os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, began := pipes.New(), time.Now()
				_ = p.ReadEnd().SetReadDeadline(began.Add(5 * time.Second))
				time.AfterFunc(time.Second, func() { c.after(p) })
				b := make([]byte, 10)
				n, err := p.ReadEnd().Read(b)
				if took := time.Since(began); took != c.at || string(b[:n]) != c.want || !errors.Is(err, c.err) {
					t.Errorf("after %v: %q, %v", took, b[:n], err)
				}
			})
		})
	}
}
