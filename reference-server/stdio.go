package refserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// closeTimeout limits the wait for cancelled handlers. Only a handler that is blocked in
// a write, because the client does not read, takes that long.
const closeTimeout = 500 * time.Millisecond

// ExitKilled is the exit code that ServeStdio returns when its context ends. A shell
// reports the same code for a process killed by SIGKILL.
const ExitKilled = 137

// ServeStdio serves one client over a pair of pipes, one message per line. It returns the exit code
// of the process when the input ends, or when TERM or INT arrives on signals. The code is 0 unless
// a fault chooses another. At the end of the input it first waits at most Options.DrainTimeout for
// the responses to the requests that it has read. When ctx ends it returns ExitKilled at once, as
// if killed.
//
// A pending read of the input outlives ServeStdio; the caller must close in.
func ServeStdio(ctx context.Context, in io.Reader, out, errOut io.Writer, signals <-chan string, o Options) (exitCode int) {
	w := &lineWriter{w: out}
	defer w.stopped.Store(true)
	s := NewSession(ctx, o, w.emit)
	defer s.cancel()
	p := &Process{Session: s, Out: w, Err: errOut}
	if seam := o.Seams.Start; seam != nil {
		seam(p)
	}
	if seam := o.Seams.Input; seam != nil {
		in = seam(in)
	}
	_, _ = fmt.Fprintln(errOut, "mcp-conform reference server: serving MCP on stdin and stdout")

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		readLines(in, s)
	}()
	for {
		select {
		case <-ended:
			ended = nil
			if code, exit := p.endAction(InputClosed); exit {
				s.drain(ctx)
				return code
			}
		case name, open := <-signals:
			if !open {
				signals = nil
			} else if code, exit := p.endAction(EndReason(name)); exit {
				closing, cancel := context.WithTimeout(ctx, closeTimeout)
				defer cancel()
				s.endSubscriptions(closing)
				s.Close(closing)
				return code
			}
		case code := <-s.exitCode:
			return code
		case <-ctx.Done():
			return ExitKilled
		}
	}
}

// endAction returns the exit code for a reason, and reports whether to exit at all.
func (p *Process) endAction(why EndReason) (code int, exit bool) {
	if seam := p.Session.options.Seams.End; seam != nil {
		return seam(p, why)
	}
	return 0, true
}

// drain waits at most Options.DrainTimeout for the requests in flight, and closes the
// session.
func (s *Session) drain(ctx context.Context) {
	s.MarkClientGone()
	waiting, cancel := context.WithTimeout(ctx, s.options.DrainTimeout)
	defer cancel()
	s.endSubscriptions(waiting)
	s.Wait(waiting)
	closing, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	s.Close(closing)
}

// readLines delivers the lines of the input to the session, until the input or the session ends.
func readLines(in io.Reader, s *Session) {
	r := bufio.NewReaderSize(in, 64<<10)
	for s.ctx.Err() == nil {
		line, err := readLine(r, s.options.MaxFrame)
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			s.DeliverTooLong()
		case err != nil:
			if len(line) > 0 {
				s.Deliver(line)
			}
			return
		default:
			s.Deliver(line)
		}
	}
}

// readLine returns the next line without its newline. For a line of more than limit
// bytes it reads and drops the whole line, and returns bufio.ErrTooLong. At the end of the
// input it returns io.EOF, together with a last line that lacks its newline, unless that line
// is too long.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for tooLong := false; ; {
		part, err := r.ReadSlice('\n')
		tooLong = tooLong || len(line)+len(part) > limit+1
		if tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return line, err
		case tooLong:
			return nil, bufio.ErrTooLong
		default:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		}
	}
}

// A lineWriter serializes the writes of several goroutines and drops those after stopped is set. It
// ignores write errors, because a client that closes the server's stdout closes its stdin too,
// which ends the server.
type lineWriter struct {
	mu      sync.Mutex
	w       io.Writer
	stopped atomic.Bool
}

func (w *lineWriter) emit(o *Out) {
	var b bytes.Buffer
	for _, frame := range o.Frames {
		b.Write(frame)
		b.WriteString(o.Terminator)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !o.isCancelled() {
		_, _ = w.write(b.Bytes())
	}
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(b)
}

func (w *lineWriter) write(b []byte) (int, error) {
	if w.stopped.Load() {
		return 0, io.ErrClosedPipe
	}
	return w.w.Write(b)
}
