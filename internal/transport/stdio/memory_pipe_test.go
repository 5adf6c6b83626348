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

	"github.com/mcp-conform/mcp-conform/internal/pipes"
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
		ours := pipes.New()
		readers := []outlet{near.out, ours.ReadEnd()}
		writers := []io.WriteCloser{far.out, ours.WriteEnd()}
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

func TestReadingWaits(t *testing.T) {
	for name, c := range map[string]struct {
		after func(p *pipes.Pipe)
		at    time.Duration
		want  string
		err   string
	}{
		"for what is written":            {func(p *pipes.Pipe) { _, _ = p.WriteEnd().Write([]byte("a")) }, time.Second, "a", "none"},
		"for the end":                    {func(p *pipes.Pipe) { _ = p.WriteEnd().Close() }, time.Second, "", "end"},
		"until it is closed":             {func(p *pipes.Pipe) { _ = p.ReadEnd().Close() }, time.Second, "", "closed"},
		"for the deadline":               {func(*pipes.Pipe) {}, 5 * time.Second, "", "deadline"},
		"for a deadline that is set now": {func(p *pipes.Pipe) { _ = p.ReadEnd().SetReadDeadline(time.Now().Add(time.Second)) }, 2 * time.Second, "", "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, began := pipes.New(), time.Now()
				_ = p.ReadEnd().SetReadDeadline(began.Add(5 * time.Second))
				time.AfterFunc(time.Second, func() { c.after(p) })
				b := make([]byte, 10)
				n, err := p.ReadEnd().Read(b)
				if took := time.Since(began); took != c.at || string(b[:n]) != c.want || kindOf(err) != c.err {
					t.Errorf("after %v: %q, %v", took, b[:n], err)
				}
			})
		})
	}
}
