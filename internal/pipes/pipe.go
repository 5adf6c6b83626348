// Package pipes has pipes and connections in memory that behave like those of the operating
// system. They block on channels, so that time in a bubble of testing/synctest can advance while
// they wait.
package pipes

import (
	"io"
	"os"
	"sync"
	"time"
)

// Size is the capacity of a pipe in bytes, as on Linux.
const Size = 64 << 10

// A Pipe buffers, blocks and breaks like a pipe of the operating system.
type Pipe struct {
	// reading and writing serialize concurrent Reads and concurrent Writes.
	reading, writing chan struct{}

	mu                      sync.Mutex
	held                    []byte
	readClosed, writeClosed bool
	deadline                time.Time     // of Read; zero means none
	changed                 chan struct{} // closed at the next change; nil unless a goroutine waits for it
}

// A Reader is the reading end of a pipe.
type Reader struct{ *Pipe }

// A Writer is the writing end of a pipe.
type Writer struct{ *Pipe }

// New returns an empty pipe.
func New() *Pipe {
	return &Pipe{reading: make(chan struct{}, 1), writing: make(chan struct{}, 1)}
}

// ReadEnd returns the reading end.
func (p *Pipe) ReadEnd() Reader { return Reader{p} }

// WriteEnd returns the writing end.
func (p *Pipe) WriteEnd() Writer { return Writer{p} }

// Read returns os.ErrClosed after Close, os.ErrDeadlineExceeded after the deadline,
// and io.EOF once the writing end is closed and everything is read.
func (r Reader) Read(b []byte) (int, error) {
	r.reading <- struct{}{}
	defer func() { <-r.reading }()
	for {
		n, wait, until, err := r.tryRead(b)
		if wait == nil {
			return n, err
		}
		if until.IsZero() {
			<-wait
			continue
		}
		timer := time.NewTimer(time.Until(until))
		select {
		case <-wait:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// tryRead reads the available bytes. If there are none, it returns a channel that is closed
// at the next change, and the deadline.
func (r Reader) tryRead(b []byte) (n int, wait <-chan struct{}, until time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.readClosed:
		return 0, nil, until, os.ErrClosed
	case !r.deadline.IsZero() && !time.Now().Before(r.deadline):
		return 0, nil, until, os.ErrDeadlineExceeded
	case len(b) == 0:
		return 0, nil, until, nil
	case len(r.held) > 0:
		n = copy(b, r.held)
		r.held = r.held[:copy(r.held, r.held[n:])]
		r.notifyChange()
		return n, nil, until, nil
	case r.writeClosed:
		return 0, nil, until, io.EOF
	}
	return 0, r.nextChange(), r.deadline, nil
}

// SetReadDeadline sets the time at which a blocked Read returns os.ErrDeadlineExceeded.
func (r Reader) SetReadDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.readClosed {
		return os.ErrClosed
	}
	r.deadline = t
	r.notifyChange()
	return nil
}

// Close makes all reads and writes fail from then on, including blocked ones.
func (r Reader) Close() error { return r.closeEnd(&r.readClosed) }

// Write returns when all of b is in the pipe. The error is io.ErrClosedPipe if the
// reading end is closed, and os.ErrClosed after Close.
func (w Writer) Write(b []byte) (int, error) {
	w.writing <- struct{}{}
	defer func() { <-w.writing }()
	written := 0
	for {
		n, wait, err := w.tryWrite(b[written:])
		written += n
		if wait == nil {
			return written, err
		}
		<-wait
	}
}

// tryWrite writes as many bytes as fit. If some are left, it returns a channel that is closed
// at the next change.
func (w Writer) tryWrite(b []byte) (n int, wait <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.writeClosed:
		return 0, nil, os.ErrClosed
	case len(b) == 0:
		return 0, nil, nil
	case w.readClosed:
		return 0, nil, io.ErrClosedPipe
	}
	if n = min(len(b), Size-len(w.held)); n > 0 {
		w.held = append(w.held, b[:n]...)
		w.notifyChange()
	}
	if n == len(b) {
		return n, nil, nil
	}
	return n, w.nextChange(), nil
}

// Close makes reads return io.EOF after the bytes that are still in the pipe.
func (w Writer) Close() error { return w.closeEnd(&w.writeClosed) }

func (p *Pipe) closeEnd(closed *bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if *closed {
		return os.ErrClosed
	}
	*closed = true
	p.notifyChange()
	return nil
}

// nextChange returns a channel that is closed at the next change. The caller must hold p.mu, as
// for notifyChange.
func (p *Pipe) nextChange() <-chan struct{} {
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed
}

func (p *Pipe) notifyChange() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}
