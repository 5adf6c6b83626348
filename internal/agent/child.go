package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxOutput limits the part of a child's output that is kept, in bytes.
	maxOutput = 1 << 20
	// endTime is the time that an interrupted child has to end its servers.
	endTime = 20 * time.Second
	// progressEvery is the time between two progress notifications.
	progressEvery = time.Second
)

var errCancelled = errors.New("cancelled")

// exited is the result of a child process: the beginnings of its stdout and stderr, and its exit
// code.
type exited struct {
	out, err string
	code     int
}

// failure returns the error of a child process that failed: its stderr, or its stdout if stderr is
// empty, or its exit code if both are empty.
func (e exited) failure() error {
	text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(e.err), "mcp-conform: "))
	return errors.New(cmp.Or(text, strings.TrimSpace(e.out), fmt.Sprintf("mcp-conform ended with exit code %d", e.code)))
}

// runChild runs this program with arguments, as a child process. If the function line is not nil,
// runChild calls it with at most the first maxProgress bytes of each line of the child's stdout and
// stderr. When the context ends, runChild interrupts the child process and returns errCancelled.
// The child then ends its servers and writes the report of what it has found. On Windows, which has
// no interrupt, runChild kills the child instead.
func (t *tools) runChild(ctx context.Context, line func(string), args ...string) (exited, error) {
	out, errOut := &output{line: line}, &output{line: line}
	c := exec.CommandContext(ctx, t.Program, args...) //nolint:gosec // the program is this one
	c.Env, c.Stdout, c.Stderr, c.WaitDelay = t.Environ, out, errOut, endTime
	c.Cancel = func() error {
		if err := c.Process.Signal(os.Interrupt); err != nil { // Windows has no interrupt
			return c.Process.Kill()
		}
		return nil
	}
	err := c.Run()
	if ctx.Err() != nil {
		return exited{}, errCancelled
	}
	switch {
	case c.ProcessState != nil:
		return exited{out.String(), errOut.String(), c.ProcessState.ExitCode()}, nil
	case errors.Is(err, syscall.E2BIG):
		return exited{}, errors.New("the parameters of the call are too long")
	case slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "\x00") }):
		return exited{}, errors.New("a parameter of the call has the character U+0000")
	default:
		return exited{}, fmt.Errorf("this program can't be started again: %w", err)
	}
}

// acquireSlot waits until no other call judges a server. It returns a context that also ends with
// the session, and a function that releases the slot for the next call. It returns errCancelled if
// ctx or the session has ended.
func (t *tools) acquireSlot(ctx context.Context) (context.Context, func(), error) {
	select {
	case t.slot <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, errCancelled
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session.Err() != nil {
		<-t.slot
		return nil, nil, errCancelled
	}
	t.running.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(t.session, cancel)
	return ctx, func() {
		stop()
		cancel()
		t.running.Done()
		<-t.slot
	}, nil
}

// output keeps the beginning of a child's output, and passes on the beginning of each line.
type output struct {
	kept, open bytes.Buffer
	line       func(string) // may be nil
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.kept.Write(p[:min(len(p), maxOutput-o.kept.Len())])
	if o.line == nil {
		return len(p), nil
	}
	for rest := p; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		o.open.Write(part[:min(len(part), max(0, maxProgress-o.open.Len()))])
		if rest = after; whole {
			o.line(strings.TrimSpace(o.open.String()))
			o.open.Reset()
		}
	}
	return len(p), nil
}

func (o *output) String() string { return o.kept.String() }

// maxProgress limits the message of a progress notification, in bytes.
const maxProgress = 200

// A reporter sends progress notifications to the client every progressEvery, with the latest line.
type reporter struct {
	mu     sync.Mutex
	latest string
	done   chan struct{}
	ended  chan struct{}
}

// startProgress sends progress notifications about a child process until stop is called. Their
// message is the latest line that the caller passed to the function line, or the text in doing if
// there is no line yet. If the client has sent no progress token, line is nil, and stop does
// nothing.
func startProgress(ctx context.Context, r *mcp.CallToolRequest, doing string) (line func(string), stop func()) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil, func() {}
	}
	p := &reporter{latest: doing, done: make(chan struct{}), ended: make(chan struct{})}
	go p.send(ctx, r.Session, token)
	return p.set, func() { close(p.done); <-p.ended }
}

func (p *reporter) set(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line != "" {
		p.latest = strings.ToValidUTF8(line, "")
	}
}

func (p *reporter) send(ctx context.Context, s *mcp.ServerSession, token any) {
	defer close(p.ended)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for n := 1.0; ; n++ {
		p.mu.Lock()
		text := p.latest
		p.mu.Unlock()
		if ctx.Err() != nil || s.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: text}) != nil {
			return
		}
		select {
		case <-p.done:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
