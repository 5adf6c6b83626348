package stdio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/pipes"
)

// TestMemoryPipeIsAPipe checks that a pipe in memory returns the same as a pipe of the operating
// system after random sequences of calls.
func TestMemoryPipeIsAPipe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near, far, err := newSystemPipes()
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
		both := func(what string, f func(i int) (int, []byte, error)) int {
			t.Helper()
			n, b, err := f(0)
			m, c, other := f(1)
			if n != m || !bytes.Equal(b, c) || kindOf(err) != kindOf(other) {
				t.Fatalf("%s: %d bytes %q, %v of the system; %d bytes %q, %v in memory", what, n, b, err, m, c, other)
			}
			return n
		}
		unread, closed := 0, false
		for range rapid.IntRange(1, 12).Draw(t, "operations") {
			switch rapid.IntRange(0, 9).Draw(t, "operation") {
			case 0:
				both("close the reader", func(i int) (int, []byte, error) { return 0, nil, readers[i].Close() })
				closed = true
			case 1:
				both("close the writer", func(i int) (int, []byte, error) { return 0, nil, writers[i].Close() })
				closed = true
			case 2, 3, 4, 5:
				text := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "text")
				unread += both("write", func(i int) (int, []byte, error) { n, err := writers[i].Write(text); return n, nil, err })
			default:
				size := rapid.IntRange(1, 200).Draw(t, "size")
				wait := time.Millisecond
				if unread > 0 || closed {
					wait = time.Minute // it returns at once, however late a busy machine begins it
				}
				unread -= both("read", func(i int) (int, []byte, error) {
					_ = readers[i].SetReadDeadline(time.Now().Add(wait))
					b := make([]byte, size)
					n, err := readers[i].Read(b)
					return n, b[:n], err
				})
			}
		}
	})
}

// kindOf names the kind of an error of a pipe, as far as a link distinguishes errors.
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
