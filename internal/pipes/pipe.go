// Package pipes has pipes and connections in memory that behave as those of the operating system.
// Whoever waits for one waits for a channel, so that a test in a bubble of testing/synctest needs no
// time for it.
package pipes

import (
	"io"
	"os"
	"sync"
	"time"
)

// Size is how many bytes a pipe holds: as many as one of Linux.
const Size = 64 << 10

// A Pipe buffers, blocks and breaks as one of the operating system does.
type Pipe struct {
	// reading and writing are held during a Read or Write: concurrent ones take turns.
	reading, writing chan struct{}

	mu                      sync.Mutex
	held                    []byte
	readClosed, writeClosed bool
	deadline                time.Time     // of Read; zero means none
	changed                 chan struct{} // closed at the next change; nil unless somebody waits for it
}

// A Reader is the end of a pipe from which is read.
type Reader struct{ *Pipe }

// A Writer is the end of a pipe into which is written.
type Writer struct{ *Pipe }

// New returns an empty pipe.
func New() *Pipe {
	return &Pipe{reading: make(chan struct{}, 1), writing: make(chan struct{}, 1)}
}

// ReadEnd returns the end from which is read.
func (p *Pipe) ReadEnd() Reader { return Reader{p} }

// WriteEnd returns the end into which is written.
func (p *Pipe) WriteEnd() Writer { return Writer{p} }

// Read returns os.ErrClosed after Close, os.ErrDeadlineExceeded after the deadline,
// and io.EOF once the writing end is closed and everything is read.
func (r Reader) Read(b []byte) (int, error) {
	r.reading <- struct{}{}
	defer func() { <-r.reading }()
	for {
		n, wait, until, err := r.take(b)
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

// take reads what is there. If nothing is, it returns a channel that is closed at the
// next change, and the deadline.
func (r Reader) take(b []byte) (n int, wait <-chan struct{}, until time.Time, err error) {
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
		r.change()
		return n, nil, until, nil
	case r.writeClosed:
		return 0, nil, until, io.EOF
	}
	return 0, r.await(), r.deadline, nil
}

// SetReadDeadline sets the time at which a Read that waits gives up.
func (r Reader) SetReadDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.readClosed {
		return os.ErrClosed
	}
	r.deadline = t
	r.change()
	return nil
}

// Close makes all further writes fail.
func (r Reader) Close() error { return r.closeEnd(&r.readClosed) }

// Write returns when the pipe holds all of b. The error is io.ErrClosedPipe if the
// reading end is closed, and os.ErrClosed after Close.
func (w Writer) Write(b []byte) (int, error) {
	w.writing <- struct{}{}
	defer func() { <-w.writing }()
	written := 0
	for {
		n, wait, err := w.put(b[written:])
		written += n
		if wait == nil {
			return written, err
		}
		<-wait
	}
}

// put writes what fits. If that is not everything, it returns a channel that is closed
// at the next change.
func (w Writer) put(b []byte) (n int, wait <-chan struct{}, err error) {
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
		w.change()
	}
	if n == len(b) {
		return n, nil, nil
	}
	return n, w.await(), nil
}

// Close lets the reader read what is left, and then the end.
func (w Writer) Close() error { return w.closeEnd(&w.writeClosed) }

func (p *Pipe) closeEnd(closed *bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if *closed {
		return os.ErrClosed
	}
	*closed = true
	p.change()
	return nil
}

// await returns a channel that is closed at the next change. It is called under the
// lock, as is change.
func (p *Pipe) await() <-chan struct{} {
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed
}

func (p *Pipe) change() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}
