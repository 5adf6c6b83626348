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

// closeTime bounds the wait for handlers that were asked to stop; only one
// that hangs in a write to a client that does not read needs it.
const closeTime = 500 * time.Millisecond

// Killed is what ServeStdio returns when its context ends, as a shell shows
// a process that was killed.
const Killed = 137

// ServeStdio serves one client over a pair of pipes, a message a line, and
// returns the exit code of the process: 0 when in ends, or when TERM or INT
// comes by signals. At the end of in it first answers what it has read. When
// the context ends it returns at once, as if killed.
//
// A read of in that is under way outlives the call; the caller closes in.
func ServeStdio(ctx context.Context, in io.Reader, out, errOut io.Writer, signals <-chan string, o Options) (exitCode int) {
	w := &lineWriter{w: out}
	defer w.stopped.Store(true)
	s := NewSession(ctx, o, w.emit)
	defer s.stop()
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
			if code, exit := p.end(InputClosed); exit {
				s.drain(ctx)
				return code
			}
		case name, open := <-signals:
			if !open {
				signals = nil
			} else if code, exit := p.end(Ending(name)); exit {
				closing, cancel := context.WithTimeout(ctx, closeTime)
				defer cancel()
				s.Close(closing)
				return code
			}
		case code := <-s.exit:
			return code
		case <-ctx.Done():
			return Killed
		}
	}
}

// end asks the seam what follows from the ending.
func (p *Process) end(why Ending) (code int, exit bool) {
	if seam := p.Session.o.Seams.End; seam != nil {
		return seam(p, why)
	}
	return 0, true
}

// drain lets the requests in flight come to an end, within bounds.
func (s *Session) drain(ctx context.Context) {
	s.ClientLeft()
	waiting, cancel := context.WithTimeout(ctx, s.o.DrainTime)
	defer cancel()
	s.Wait(waiting)
	closing, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	s.Close(closing)
}

// readLines delivers the lines of in until it ends or the session does.
func readLines(in io.Reader, s *Session) {
	r := bufio.NewReaderSize(in, 64<<10)
	for s.ctx.Err() == nil {
		line, err := readLine(r, s.o.MaxFrame)
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

// readLine returns the next line without its newline. A line of more than
// limit bytes is read to its end and dropped, with bufio.ErrTooLong.
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

// lineWriter keeps each write whole among those of many goroutines, and
// drops what comes after stop. A client that has closed its side is no
// error: the end of its other side follows.
type lineWriter struct {
	mu      sync.Mutex
	w       io.Writer
	stopped atomic.Bool
}

func (w *lineWriter) emit(o *Out) {
	var b bytes.Buffer
	for _, frame := range o.Frames {
		b.Write(frame)
		b.WriteString(o.End)
	}
	_, _ = w.Write(b.Bytes())
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped.Load() {
		return 0, io.ErrClosedPipe
	}
	return w.w.Write(b)
}
