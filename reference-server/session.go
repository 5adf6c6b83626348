package refserver

import (
	"context"
	"sync"

	"golang.org/x/time/rate"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Bounds on what one client can make the server do at once.
const (
	maxQuick = 32   // requests that answer without waiting for anything
	maxCalls = 1024 // tool calls, which may wait for time or for the client
)

// Session is all that is between the server and one client.
type Session struct {
	o    Options
	emit func(*Out)
	over func(id wire.ID) // told of requests that get no answer; may be nil
	// hangUp closes the connection over which the answer to a request would go;
	// nil where the client could not come back for it.
	hangUp func(ctx context.Context, id wire.ID)

	ctx   context.Context // ends when the session does
	stop  context.CancelFunc
	left  chan struct{} // closed when the client can't send any more
	leave func()
	exit  chan int // an exit code that a fault asked for
	died  func()   // told that there is one; nil on stdio

	life   sync.Mutex // guards closed, so that nothing starts once Close waits
	closed bool
	work   sync.WaitGroup // requests being handled
	back   sync.WaitGroup // everything else that runs beside them

	quick chan struct{}
	calls chan struct{}

	levels sync.RWMutex // guards the level, also while a message that it lets pass is sent
	level  int

	mu       sync.Mutex
	revision spec.Revision // empty until initialize was answered
	ready    bool          // the client has said initialized
	declared object        // the client's capabilities
	running  map[string]*Call
	asked    map[string]chan *wire.Message
	asks     int64
	subs     map[string]bool
	numbered []*resource     // what makes the list of resources long
	rate     *rate.Limiter   // of what costs something; nil without a limit
	extra    map[string]bool // lists that show their optional item
	note     string          // text of the resource that can be updated
	roots    rootsState
	visit    string // the page that has to be visited, by its elicitationId

	tasks taskTable
}

// NewSession returns a session that hands every message it sends to emit,
// which may be called from several goroutines at once. The context ends it.
func NewSession(ctx context.Context, o Options, emit func(*Out)) *Session {
	s := &Session{
		o:       o.withDefaults(),
		emit:    emit,
		left:    make(chan struct{}),
		exit:    make(chan int, 1),
		quick:   make(chan struct{}, maxQuick),
		calls:   make(chan struct{}, maxCalls),
		running: map[string]*Call{},
		asked:   map[string]chan *wire.Message{},
		subs:    map[string]bool{},
		extra:   map[string]bool{},
		note:    "This text can be changed by the update-resource tool.",
	}
	s.numbered, s.rate = numberedResources(s.o.LongList), newRate(s.o.RateLimit)
	s.ctx, s.stop = context.WithCancel(ctx)
	s.leave = sync.OnceFunc(func() { close(s.left) })
	return s
}

// Revision returns the negotiated revision, empty before initialize.
func (s *Session) Revision() spec.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Context ends with the session.
func (s *Session) Context() context.Context { return s.ctx }

// Declared reports whether the client has declared the capability; a path
// such as "elicitation", "url" reaches into it.
func (s *Session) Declared(path ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.declared
	for _, name := range path {
		next, ok := at[name].(object)
		if !ok {
			return false
		}
		at = next
	}
	return true
}

// Exit ends the process with the code, without answering anything more.
func (s *Session) Exit(code int) {
	select {
	case s.exit <- code:
		if s.died != nil {
			s.died()
		}
	default:
	}
}

// Go runs f beside the requests; its context ends with the session, and
// Close waits for it to return. After Close it does nothing.
func (s *Session) Go(f func(ctx context.Context)) {
	s.spawn(&s.back, func() { f(s.ctx) })
}

func (s *Session) spawn(g *sync.WaitGroup, f func()) bool {
	s.life.Lock()
	defer s.life.Unlock()
	if !s.closed {
		g.Go(f)
	}
	return !s.closed
}

// ClientLeft says that no more frames will come: what waits for the client
// stops waiting, the rest goes on.
func (s *Session) ClientLeft() { s.leave() }

// Wait returns when all requests have been handled or the context has ended.
// Deliver must not be called any more.
func (s *Session) Wait(ctx context.Context) { waitGroup(ctx, &s.work) }

// Close cancels all that is in flight, none of which is answered, and waits until nothing of it runs any more or
// the context has ended. A goroutine can outlive that only inside a blocked
// write of the transport.
func (s *Session) Close(ctx context.Context) {
	s.life.Lock()
	s.closed = true
	s.life.Unlock()
	s.leave()
	s.stop()
	waitGroup(ctx, &s.work)
	waitGroup(ctx, &s.back)
}

func waitGroup(ctx context.Context, g *sync.WaitGroup) {
	done := make(chan struct{})
	go func() { g.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
