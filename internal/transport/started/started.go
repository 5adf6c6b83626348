// Package started connects to servers over HTTP that it starts itself. It runs
// the server's command, waits until the server listens, notices when it exits,
// and ends it with all processes that it started.
package started

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
)

// Options describes how to start a server.
type Options struct {
	// Command and URL return the command and the URL of a server that listens
	// on the port; port is "" if NeedsFreePort is false.
	Command func(port string) stdio.Command
	URL     func(port string) (*url.URL, error)
	// NeedsFreePort reports whether a free port is picked for each start, so that
	// several servers can run at the same time.
	NeedsFreePort bool
	// Ready is how long a server may take until it listens.
	Ready time.Duration
}

// An Error describes why a server could not be started.
type Error struct {
	Reason string // what happened
	Advice string // what to do
	Output string // the end of what the server wrote; untrusted

	taken bool // another process took the free port
}

func (e *Error) Error() string { return e.Reason }

// A Starter starts servers.
type Starter struct {
	o Options

	mu     sync.Mutex
	failed int   // consecutive starts that failed
	last   error // the error of the last failed start
}

// NewStarter returns a starter; it does not start a server yet.
func NewStarter(o Options) *Starter { return &Starter{o: o} }

// tries bounds how many ports are tried for one start, and how many consecutive
// starts may fail.
const tries = 3

// Start starts a server and waits until it listens. The error is an *Error, a
// *stdio.StartError, the error of Options.URL, or the cause of the context's end. After three
// failed starts in a row it returns an error that wraps the last one, without another attempt.
func (s *Starter) Start(ctx context.Context) (*Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed >= tries {
		return nil, fmt.Errorf("it is not started again, because %d starts in a row failed: %w", tries, s.last)
	}
	server, err := s.start(ctx)
	switch {
	case err == nil:
		s.failed = 0
	case ctx.Err() == nil:
		s.failed++
		s.last = err
	}
	return server, err
}

func (s *Starter) start(ctx context.Context) (*Server, error) {
	for try := 1; ; try++ {
		port := ""
		if s.o.NeedsFreePort {
			var err error
			if port, err = FreePort(); err != nil {
				return nil, &Error{Reason: "no free port could be picked: " + err.Error()}
			}
		}
		u, err := s.o.URL(port)
		if err != nil {
			return nil, err
		}
		if acceptsConnection(ctx, address(u)) {
			if s.o.NeedsFreePort && try < tries {
				continue
			}
			return nil, occupiedError(ctx, u)
		}
		service, err := stdio.StartService(s.o.Command(port))
		if err != nil {
			return nil, err
		}
		pids, err := s.await(ctx, service, u)
		if err != nil {
			service.Stop(patience)
			var e *Error
			if s.o.NeedsFreePort && try < tries && errors.As(err, &e) && e.taken {
				continue
			}
			return nil, err
		}
		return newServer(service, u, pids), nil
	}
}

// patience is how long a server has to exit after SIGTERM.
var patience = transport.Patience{AfterTerm: 2 * time.Second}

const (
	firstPause = 5 * time.Millisecond
	longPause  = 100 * time.Millisecond
)

// await waits until the service accepts connections at u. It returns the
// processes that accept them, as far as they are known.
func (s *Starter) await(ctx context.Context, service *stdio.Service, u *url.URL) ([]int, error) {
	timeout := time.NewTimer(s.o.Ready)
	defer timeout.Stop()
	pause := firstPause
	for {
		if acceptsConnection(ctx, address(u)) {
			return ownListeners(service, u)
		}
		select {
		case <-service.Exited():
			return nil, exitedEarlyError(ctx, service, u)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timeout.C:
			return nil, unreadyError(service, u, s.o.Ready)
		case <-time.After(pause):
			pause = min(2*pause, longPause)
		}
	}
}

// acceptsConnection reports whether the address accepts a connection.
func acceptsConnection(ctx context.Context, at string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// address returns the host and port of a URL.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// FreePort picks from ports below those that systems give to outgoing connections. Otherwise an
// outgoing connection could take the port before the server listens.
const (
	firstPort = 15000
	portCount = 15000
)

// picked counts the ports that FreePort has tried. The first is a random one, because other
// processes pick ports too.
var (
	picked    atomic.Uint32
	firstPick = rand.Uint32N(portCount) //nolint:gosec // no secret
)

// FreePort returns a port that is free on all addresses of this machine. It does not return a port
// a second time in this process until it has tried all others.
func FreePort() (string, error) {
	var failed error
	for range portCount {
		port := strconv.Itoa(firstPort + int((firstPick+picked.Add(1))%portCount))
		l, err := net.Listen("tcp", ":"+port)
		if err == nil {
			return port, l.Close()
		}
		failed = err
	}
	return "", fmt.Errorf("no port from %d to %d is free: %w", firstPort, firstPort+portCount-1, failed)
}
