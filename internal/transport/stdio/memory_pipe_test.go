package stdio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Whatever happens to it in whatever order, a pipe in memory says what a pipe of the
// operating system says.
func TestMemoryPipeIsAPipe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near, far, err := systemPipes()
		if err != nil {
			t.Fatal(err)
		}
		defer near.close()
		defer far.close()
		if near.out.SetReadDeadline(time.Time{}) != nil {
			t.Skip("pipes have no deadlines here")
		}
		ours := newPipe()
		readers := []outlet{near.out, ours.readEnd()}
		writers := []io.WriteCloser{far.out, ours.writeEnd()}
		both := func(what string, f func(i int) (int, []byte, error)) {
			t.Helper()
			n, b, err := f(0)
			m, c, other := f(1)
			if n != m || !bytes.Equal(b, c) || kindOf(err) != kindOf(other) {
				t.Fatalf("%s: %d bytes %q, %v of the system; %d bytes %q, %v in memory", what, n, b, err, m, c, other)
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "operations") {
			switch rapid.IntRange(0, 9).Draw(t, "operation") {
			case 0:
				both("close the reader", func(i int) (int, []byte, error) { return 0, nil, readers[i].Close() })
			case 1:
				both("close the writer", func(i int) (int, []byte, error) { return 0, nil, writers[i].Close() })
			case 2, 3, 4, 5:
				text := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "text")
				both("write", func(i int) (int, []byte, error) { n, err := writers[i].Write(text); return n, nil, err })
			default:
				size := rapid.IntRange(1, 200).Draw(t, "size")
				both("read", func(i int) (int, []byte, error) {
					_ = readers[i].SetReadDeadline(time.Now().Add(time.Millisecond))
					b := make([]byte, size)
					n, err := readers[i].Read(b)
					return n, b[:n], err
				})
			}
		}
	})
}

// kindOf returns what a link does about an error of a pipe.
func kindOf(err error) string {
	switch {
	case err == nil:
		return "none"
	case errors.Is(err, io.EOF):
		return "end"
	case isClosed(err):
		return "closed"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "deadline"
	default:
		return err.Error()
	}
}

func TestMemoryPipeBlocks(t *testing.T) {
	much := bytes.Repeat([]byte("0123456789abcdef"), 2*pipeSize/16+1)
	for name, c := range map[string]struct {
		meanwhile func(r pipeReader, w pipeWriter)
		written   int
		broken    bool
	}{
		"until everything is read": {func(r pipeReader, w pipeWriter) {
			got := make([]byte, len(much))
			if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, much) {
				t.Errorf("not what was written: %v", err)
			}
		}, len(much), false},
		"until the reader is closed": {func(r pipeReader, w pipeWriter) { _ = r.Close() }, pipeSize, true},
		"until the writer is closed": {func(r pipeReader, w pipeWriter) { _ = w.Close() }, pipeSize, true},
		"until the reader is closed, after a part is read": {func(r pipeReader, w pipeWriter) {
			_, _ = io.ReadFull(r, make([]byte, 100))
			synctest.Wait()
			_ = r.Close()
		}, pipeSize + 100, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipe()
				var n int
				var err error
				done := make(chan struct{})
				go func() { defer close(done); n, err = p.writeEnd().Write(much) }()
				synctest.Wait()
				select {
				case <-done:
					t.Error("more than a pipe holds was written")
				default:
				}
				c.meanwhile(p.readEnd(), p.writeEnd())
				<-done
				if n != c.written || (err != nil) != c.broken {
					t.Errorf("%d bytes written, %v", n, err)
				}
			})
		})
	}
}

func TestReadingWaits(t *testing.T) {
	for name, c := range map[string]struct {
		after func(p *pipe)
		at    time.Duration
		want  string
		err   string
	}{
		"for what is written":            {func(p *pipe) { _, _ = p.writeEnd().Write([]byte("a")) }, time.Second, "a", "none"},
		"for the end":                    {func(p *pipe) { _ = p.writeEnd().Close() }, time.Second, "", "end"},
		"until it is closed":             {func(p *pipe) { _ = p.readEnd().Close() }, time.Second, "", "closed"},
		"for the deadline":               {func(*pipe) {}, 5 * time.Second, "", "deadline"},
		"for a deadline that is set now": {func(p *pipe) { _ = p.readEnd().SetReadDeadline(time.Now().Add(time.Second)) }, 2 * time.Second, "", "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, began := newPipe(), time.Now()
				_ = p.readEnd().SetReadDeadline(began.Add(5 * time.Second))
				time.AfterFunc(time.Second, func() { c.after(p) })
				b := make([]byte, 10)
				n, err := p.readEnd().Read(b)
				if took := time.Since(began); took != c.at || string(b[:n]) != c.want || kindOf(err) != c.err {
					t.Errorf("after %v: %q, %v", took, b[:n], err)
				}
			})
		})
	}
}
