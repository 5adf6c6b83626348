package stdio

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// A Serve function is a server in this process. It receives "TERM" and "INT" on signals, and
// returns the exit code. When the server is killed, ctx is cancelled, and stdin, stdout and stderr
// are closed; the function must then return.
type Serve = func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, signals <-chan string) (exitCode int)

// An InProcessDialer runs a Go function for each link.
type InProcessDialer struct {
	title string
	serve Serve
}

// InProcess returns a dialer that calls serve for each link. name identifies the server in the
// Opened event. A panic in serve ends the server as it would end a process: with a stack trace on
// stderr and exit code 2.
func InProcess(name string, serve Serve) *InProcessDialer {
	return &InProcessDialer{title: name, serve: serve}
}

// Transport returns spec.Stdio.
func (d *InProcessDialer) Transport() spec.Transport { return spec.Stdio }

// Dial calls the function in a new goroutine.
func (d *InProcessDialer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return open(rec, memoryPipes, func(far farEnds) (peer, error) {
		ctx, cancel := context.WithCancel(context.Background()) // the server outlives the Dial call
		f := &inProcessServer{
			title: d.title, far: far, cancel: cancel,
			signals: make(chan string, 8), returned: make(chan struct{}),
		}
		go f.run(ctx, d.serve)
		return f, nil
	})
}

// An inProcessServer is a server that runs in this process.
type inProcessServer struct {
	title    string
	far      farEnds
	cancel   context.CancelFunc
	signals  chan string
	returned chan struct{}

	mu     sync.Mutex
	gone   bool
	killed bool
	code   int
}

func (f *inProcessServer) run(ctx context.Context, serve Serve) {
	defer close(f.returned)
	code := f.call(ctx, serve)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone, f.code = true, code
	f.cancel()
	f.far.close()
}

func (f *inProcessServer) call(ctx context.Context, serve Serve) (code int) {
	defer func() {
		if p := recover(); p != nil {
			_, _ = fmt.Fprintf(f.far.err, "panic: %v\n\n%s", p, debug.Stack())
			code = 2
		}
	}()
	return serve(ctx, f.far.in, f.far.out, f.far.err, f.signals)
}

func (f *inProcessServer) name() string { return "in process: " + f.title }

func (f *inProcessServer) awaitExit() { <-f.returned }

func (f *inProcessServer) signal(name string, before func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone || f.killed || name != "TERM" && name != "INT" {
		return false
	}
	before()
	select {
	case f.signals <- name:
	default: // a signal is already pending; further ones merge with it, as they do for a process
	}
	return true
}

func (f *inProcessServer) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone || f.killed {
		return
	}
	f.killed = true
	f.cancel()
	f.far.close()
}

func (f *inProcessServer) clear() (string, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.killed {
		return "signal: killed", -1
	}
	return fmt.Sprintf("exit status %d", f.code), f.code
}
