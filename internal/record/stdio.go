// Package record is a proxy between a client and a server. It passes their bytes on immediately,
// records them in a transcript, and finds the client's violations of the protocol. Over stdio it
// changes no byte. Over HTTP it rewrites hosts, so that the server sees its own host name and
// clients keep using the proxy. It also asks for uncompressed responses, and holds the first event
// of a stream back until the event is complete. The rules judge the server, as in any transcript.
package record

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A Command is a server over stdio.
type Command struct {
	Path string // the program's path
	Argv []string
	Dir  string   // "" for the current folder
	Env  []string // as os.Environ returns it
}

// Streams are the client's streams: what it writes, what it reads, and its stderr.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

const (
	// exitTime is the time that the server has to exit after its input was closed, and again
	// after SIGTERM.
	exitTime = 5 * time.Second
	// headKept is how many bytes of a line that is too long are kept.
	headKept = 4 << 10
)

// RunStdio starts the server, connects it to the client until the server exits, and returns the
// exit code. A server that does not exit after the client closed its input, or after a signal was
// passed on, is terminated. The error says why the server could not be started.
func RunStdio(ctx context.Context, c Command, client Streams, signals <-chan os.Signal, rec *transcript.Transcript) (exitCode int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := exec.CommandContext(ctx, c.Path) //nolint:gosec // the user names the server
	server.Args = c.Argv
	server.Dir, server.Env, server.WaitDelay = c.Dir, c.Env, exitTime
	in, err := server.StdinPipe()
	if err != nil {
		return 0, err
	}
	stdout := &lineRecorder{to: client.Out, rec: rec, kind: transcript.Received, failed: func() { _ = in.Close() }}
	server.Stdout, server.Stderr = stdout, &stderrRecorder{to: client.Err, rec: rec, left: rec.Limits().Stderr}
	if err := server.Start(); err != nil {
		return 0, err
	}
	rec.Add(transcript.Event{Kind: transcript.Opened, Detail: fmt.Sprintf("pid %d: %s", server.Process.Pid, c.Argv[0])})
	inputOver, exited := make(chan struct{}), make(chan struct{})
	go func() { // blocks until the client writes, even after the server has exited
		defer close(inputOver)
		sent := &lineRecorder{to: in, rec: rec, kind: transcript.Sent}
		_, _ = io.Copy(sent, client.In) // an error ends the server's input, too
		sent.finish()
		_ = in.Close()
		rec.Add(transcript.Event{Kind: transcript.InputClosed})
	}()
	var ending sync.WaitGroup
	ending.Go(func() { endServer(server, inputOver, exited, signals, rec) })
	err = server.Wait() // includes errors of writing to the client
	stdout.finish()
	close(exited)
	ending.Wait()
	rec.Add(transcript.Event{Kind: transcript.OutputClosed})
	if server.ProcessState == nil {
		return 0, err
	}
	code := server.ProcessState.ExitCode()
	rec.Add(transcript.Event{Kind: transcript.Exited, Detail: server.ProcessState.String(), ExitCode: code})
	return code, nil
}

// terminate is the first signal to a server that does not exit by itself.
const terminate = syscall.SIGTERM

// signalName returns the name of a signal in a transcript.
func signalName(s os.Signal) string {
	switch s {
	case os.Interrupt:
		return "INT"
	case terminate:
		return "TERM"
	default:
		return s.String()
	}
}

// endServer passes signals on, and terminates a server that does not exit after its input was
// closed.
func endServer(server *exec.Cmd, inputOver, exited <-chan struct{}, signals <-chan os.Signal, rec *transcript.Transcript) {
	var overdue <-chan time.Time
	signalled := false
	send := func(s os.Signal) {
		rec.Add(transcript.Event{Kind: transcript.Signalled, Detail: signalName(s)})
		signalled = true
		if server.Process.Signal(s) != nil { // Windows has no signals
			_ = server.Process.Kill()
		}
		overdue = time.After(exitTime)
	}
	for {
		select {
		case <-exited:
			return
		case s := <-signals:
			send(s)
		case <-inputOver:
			inputOver = nil
			if overdue == nil {
				overdue = time.After(exitTime)
			}
		case <-overdue:
			if signalled {
				rec.Remark("the server was killed, because it did not exit")
				_ = server.Process.Kill()
				return
			}
			send(terminate)
		}
	}
}

// A lineRecorder records the lines of one direction, and passes their bytes on.
type lineRecorder struct {
	to     io.Writer
	rec    *transcript.Transcript
	kind   transcript.Kind // Sent or Received
	failed func()          // called if bytes can't be passed on; may be nil

	line    []byte // the line so far, or the beginning of a line that is too long
	size    int64  // the length of the line so far, in bytes
	stopped bool   // nothing more is recorded
}

// Write implements io.Writer. It records the bytes before it passes them on: otherwise a response
// could be recorded before its request.
func (r *lineRecorder) Write(p []byte) (int, error) {
	r.recordBytes(p)
	n, err := r.to.Write(p)
	if err != nil && r.failed != nil {
		r.failed()
	}
	return n, err
}

func (r *lineRecorder) recordBytes(p []byte) {
	for len(p) > 0 && !r.stopped {
		line, rest, found := bytes.Cut(p, []byte{'\n'})
		r.size += int64(len(line))
		r.line = append(r.line, line[:min(len(line), r.rec.Limits().Frame-len(r.line))]...)
		if found {
			r.addLine(false)
		}
		p = rest
	}
}

// addLine records the current line and starts the next. Recording stops at a line that exceeds the
// limits.
func (r *lineRecorder) addLine(unterminated bool) {
	line, size := r.line, r.size
	r.line, r.size = nil, 0
	var why string
	if size > int64(len(line)) {
		why = fmt.Sprintf("a line of %d bytes is too long to be recorded", size)
	} else if why = r.rec.Admit(len(line)); why == "" {
		r.rec.Add(transcript.Event{Kind: r.kind, Raw: line, Size: size, Unterminated: unterminated})
		return
	}
	r.stopped = true
	if r.kind == transcript.Received {
		r.rec.Add(transcript.Event{Kind: transcript.Flooded, Raw: slices.Clone(line[:min(len(line), headKept)]), Size: size, Detail: why})
	} else {
		r.rec.Remark("the client's messages are not recorded from here on: " + why)
	}
}

// finish records the last line if it has no newline.
func (r *lineRecorder) finish() {
	if r.size > 0 && !r.stopped {
		r.addLine(true)
	}
}

// stderrRecorder passes the server's stderr on, and records its beginning.
type stderrRecorder struct {
	to   io.Writer
	rec  *transcript.Transcript
	left int // bytes that may still be recorded
}

// Write implements io.Writer. It ignores errors: the server continues if the client closed its end.
func (s *stderrRecorder) Write(p []byte) (int, error) {
	_, _ = s.to.Write(p)
	if kept := p[:min(len(p), s.left)]; len(kept) > 0 {
		s.left -= len(kept)
		s.rec.Add(transcript.Event{Kind: transcript.Stderr, Raw: slices.Clone(kept)})
	}
	return len(p), nil
}
