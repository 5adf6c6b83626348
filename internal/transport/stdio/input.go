package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// An input is the state that a link needs to write to the server's stdin. One
// goroutine does all writes, so that a server that does not read blocks only
// that goroutine.
type input struct {
	jobs chan job      // unbuffered: senders wait while a job is written
	over chan struct{} // closed when the input is closed

	mu      sync.Mutex
	closed  bool
	partial []byte // the bytes written since the last newline
}

type job struct {
	chunks [][]byte
	done   chan error // receives the result; buffered, because the caller may have stopped waiting
}

func newInput() input { return input{jobs: make(chan job), over: make(chan struct{})} }

// Send writes the frames, each followed by a newline, in a single write. It returns ErrInputClosed,
// the error of the write or, if the server does not read before ctx ends, an error that wraps the
// cause of ctx. In the last case, the frames may still be written once the server reads again.
func (l *link) Send(ctx context.Context, frames ...[]byte) error {
	size := 0
	for _, f := range frames {
		size += len(f) + 1
	}
	all := make([]byte, 0, size)
	for _, f := range frames {
		all = append(append(all, f...), '\n')
	}
	return l.submit(ctx, [][]byte{all})
}

// SendBytes writes the chunks unchanged, each in a separate write, and records
// the lines that they complete. It returns the same errors as Send.
func (l *link) SendBytes(ctx context.Context, chunks ...[]byte) error {
	own := make([][]byte, 0, len(chunks))
	for _, c := range chunks {
		own = append(own, bytes.Clone(c))
	}
	return l.submit(ctx, own)
}

func (l *link) submit(ctx context.Context, chunks [][]byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	j := job{chunks: chunks, done: make(chan error, 1)}
	select {
	case l.input.jobs <- j:
	case <-l.input.over:
		return ErrInputClosed
	case <-ctx.Done():
		return unreadInputError(ctx)
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return unreadInputError(ctx)
	}
}

func unreadInputError(ctx context.Context) error {
	return fmt.Errorf("the server does not read its stdin: %w", context.Cause(ctx))
}

// write executes the jobs until the input is closed.
func (l *link) write() {
	for {
		select {
		case j := <-l.input.jobs:
			j.done <- l.writeChunks(j.chunks)
		case <-l.input.over:
			return
		}
	}
}

// writeChunks records all lines that the chunks complete before it writes the first chunk, because
// a server may respond before it reads the newline, and the transcript would then show the response
// before the request.
func (l *link) writeChunks(chunks [][]byte) error {
	for _, c := range chunks {
		if !l.recordSent(c) {
			return ErrInputClosed
		}
	}
	for _, c := range chunks {
		if _, err := l.near.in.Write(c); err != nil {
			if isClosed(err) {
				return ErrInputClosed
			}
			return fmt.Errorf("writing to the server's stdin: %w", err)
		}
	}
	return nil
}

// isClosed reports whether err means that one end of a pipe is closed.
func isClosed(err error) bool {
	return errors.Is(err, os.ErrClosed) || errors.Is(err, io.ErrClosedPipe) || isBrokenPipe(err)
}

// recordSent records the lines that chunk completes. Callers must write the chunk after the call,
// not before it, or the transcript could show a response before its request. recordSent returns
// false, and records nothing, if the input is closed.
func (l *link) recordSent(chunk []byte) bool {
	in := &l.input
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return false
	}
	for {
		line, rest, found := bytes.Cut(chunk, newline)
		if !found {
			in.partial = append(in.partial, chunk...)
			return true
		}
		if len(in.partial) > 0 {
			line = append(in.partial, line...)
			in.partial = nil
		}
		l.rec.Add(transcript.Event{Kind: transcript.Sent, Raw: line[:len(line):len(line)]})
		chunk = rest
	}
}

var newline = []byte{'\n'}

// CloseInput closes the server's stdin, and aborts a write in progress. It
// does nothing if stdin is already closed or the server has exited.
func (l *link) CloseInput() error {
	l.endInput(true)
	return nil
}

// endInput closes stdin. If record is true, it also records that we closed stdin; record is false
// when the server has exited.
func (l *link) endInput(record bool) {
	in := &l.input
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return
	}
	in.closed = true
	if len(in.partial) > 0 {
		l.rec.Add(transcript.Event{Kind: transcript.Sent, Raw: in.partial, Unterminated: true})
		in.partial = nil
	}
	if record {
		l.rec.Add(transcript.Event{Kind: transcript.InputClosed})
	}
	close(in.over)
	// Closing can block on a write in progress if pipes don't support deadlines.
	l.goroutine.Go(func() { _ = l.near.in.Close() })
}
