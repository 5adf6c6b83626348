package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// input is what a link needs to write. One goroutine writes, so that a server
// that does not read blocks nobody but it.
type input struct {
	jobs chan job      // unbuffered: whoever sends waits for the job before
	over chan struct{} // closed with the input

	mu      sync.Mutex
	closed  bool
	partial []byte // written since the last newline
}

type job struct {
	chunks [][]byte
	done   chan error // buffered
}

func newInput() input { return input{jobs: make(chan job), over: make(chan struct{})} }

// Send writes the frames, each with a newline, in one write. The error is
// ErrInputClosed, or the context's when the server does not read; what could
// not be written by then is written when the server reads on.
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

// SendBytes writes the chunks as they are, each with a write of its own, and
// records the lines that they complete. Errors are those of Send.
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
		return unread(ctx)
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return unread(ctx)
	}
}

func unread(ctx context.Context) error {
	return fmt.Errorf("the server does not read its stdin: %w", context.Cause(ctx))
}

// write carries out the jobs until the input is over.
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

// writeChunks records all that the chunks complete before it writes the
// first: a server that needs no newline to answer would else be recorded as
// answering what was not sent yet.
func (l *link) writeChunks(chunks [][]byte) error {
	for _, c := range chunks {
		if !l.recordSent(c) {
			return ErrInputClosed
		}
	}
	for _, c := range chunks {
		if _, err := l.near.in.Write(c); err != nil {
			if errors.Is(err, os.ErrClosed) || brokenPipe(err) {
				return ErrInputClosed
			}
			return fmt.Errorf("writing to the server's stdin: %w", err)
		}
	}
	return nil
}

// recordSent records the lines that chunk completes. That comes before the
// write, or an answer could precede its request. It reports false, and
// records nothing, once the input is closed.
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

// CloseInput closes the server's stdin. It does nothing where that was done
// before, or where the server is gone. A write that is still under way is cut
// off.
func (l *link) CloseInput() error {
	l.endInput(true)
	return nil
}

// endInput closes stdin, and records that when we do it while the server
// lives.
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
	// Where pipes know no deadlines, closing waits for a write under way.
	l.goroutine.Go(func() { _ = l.near.in.Close() })
}
