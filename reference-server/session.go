package refserver

import (
	"context"
	"net/http"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Limits on the concurrent requests of one client.
const (
	maxQuick = 32   // requests that do not wait
	maxCalls = 1024 // requests that may wait for a timer or the client
)

// A Session is the server's side of the session with one client.
type Session struct {
	options      Options
	emit         func(*Out)
	own          *offer           // the session's own offer, for handshake revisions
	shared       *offer           // the offer of all requests of stateless revisions
	onUnanswered func(id wire.ID) // called for requests that get no response; may be nil
	// closeConnection closes the connection that would carry the response to a
	// request; nil if the client could not resume the stream.
	closeConnection func(ctx context.Context, id wire.ID)

	ctx            context.Context // ends when the session does
	cancel         context.CancelFunc
	clientGone     chan struct{} // closed when the client can't send more frames
	markClientGone func()
	exitCode       chan int    // set by a fault that ends the process
	onExit         func()      // called when exitCode is set; nil on stdio
	header         http.Header // of the session's POST in a stateless revision; otherwise nil
	user           string      // user of that POST; "" if the server is not protected
	token          string      // bearer token with which the session was opened, or ""

	closeMu    sync.Mutex // guards closed, so that no goroutine starts once Close waits
	closed     bool
	handlers   sync.WaitGroup // requests being handled
	background sync.WaitGroup // other goroutines
	listening  sync.WaitGroup // subscriptions without a response yet
	ending     chan struct{}  // closed when subscriptions should end

	quickSlots chan struct{}
	callSlots  chan struct{}

	levelMu sync.RWMutex // guards level, and is held while a log message is sent
	level   int          // index in levels of the least severe level that is sent

	mu                 sync.Mutex
	revision           spec.Revision // negotiated; empty before initialize
	initialized        bool          // the client has sent notifications/initialized
	isEnding           bool          // ending is closed
	clientCapabilities object
	inFlight           map[string]*Call
	awaiting           map[string]chan *wire.Message
	requestsSent       int64
	subscriptions      map[string]bool
	roots              rootsState
	requiredVisit      *visit // the page that must be visited; nil if there is none

	tasks taskTable
}

// NewSession returns a session that passes every outgoing message to emit, which
// must be safe for concurrent use. The session ends with ctx.
func NewSession(ctx context.Context, o Options, emit func(*Out)) *Session {
	own := newOffer(o)
	return newSession(ctx, o, emit, own, own.sibling(o))
}

func newSession(ctx context.Context, o Options, emit func(*Out), own, shared *offer) *Session {
	s := &Session{
		options:       o.withDefaults(),
		emit:          emit,
		own:           own,
		shared:        shared,
		clientGone:    make(chan struct{}),
		exitCode:      make(chan int, 1),
		ending:        make(chan struct{}),
		quickSlots:    make(chan struct{}, maxQuick),
		callSlots:     make(chan struct{}, maxCalls),
		inFlight:      map[string]*Call{},
		awaiting:      map[string]chan *wire.Message{},
		subscriptions: map[string]bool{},
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.markClientGone = sync.OnceFunc(func() { close(s.clientGone) })
	return s
}

// Revision returns the negotiated revision; it is empty before initialize.
func (s *Session) Revision() spec.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Context returns a context that ends with the session.
func (s *Session) Context() context.Context { return s.ctx }

// ClientDeclared reports whether the client has declared a capability in the handshake. The path
// "elicitation", "url" means the member url of the capability elicitation.
func (s *Session) ClientDeclared(path ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return hasPath(s.clientCapabilities, path)
}

// hasPath reports whether o has an object at the end of a path of member names.
func hasPath(o object, path []string) bool {
	for _, name := range path {
		next, ok := o[name].(object)
		if !ok {
			return false
		}
		o = next
	}
	return true
}

// Exit ends the process with the code and sends no more responses. Over HTTP the server ends
// as if killed, without a code.
func (s *Session) Exit(code int) {
	select {
	case s.exitCode <- code:
		if s.onExit != nil {
			s.onExit()
		}
	default:
	}
}

// Go runs f in a goroutine for which Close waits. The context of f ends with the session. After
// Close, Go does nothing.
func (s *Session) Go(f func(ctx context.Context)) {
	s.spawn(&s.background, func() { f(s.ctx) })
}

// spawn runs f in a goroutine of g. It returns false and does nothing after Close.
func (s *Session) spawn(g *sync.WaitGroup, f func()) bool {
	s.closeMu.Lock()
	defer s.closeMu.Unlock()
	if !s.closed {
		g.Go(f)
	}
	return !s.closed
}

// MarkClientGone tells the session that no more frames will come. Requests to the client then
// fail; requests in flight continue.
func (s *Session) MarkClientGone() { s.markClientGone() }

// Wait returns when all requests have been handled or ctx has ended. No request may be
// delivered after Wait has been called.
func (s *Session) Wait(ctx context.Context) { waitGroup(ctx, &s.handlers) }

// tryAddSubscription adds a subscription to the wait group listening. It returns false, and adds
// nothing, once endSubscriptions has been called.
func (s *Session) tryAddSubscription() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isEnding {
		s.listening.Add(1)
	}
	return !s.isEnding
}

// endSubscriptions ends each subscription with a response, and waits until the responses are sent
// or ctx ends.
func (s *Session) endSubscriptions(ctx context.Context) {
	s.mu.Lock()
	first := !s.isEnding
	s.isEnding = true
	s.mu.Unlock()
	if first {
		close(s.ending)
	}
	waitGroup(ctx, &s.listening)
}

// Close cancels all requests in flight, which then get no response, and waits for the session's
// goroutines until ctx ends. Only a goroutine that is blocked in a write of the transport can
// outlive Close.
func (s *Session) Close(ctx context.Context) {
	s.closeMu.Lock()
	s.closed = true
	s.closeMu.Unlock()
	s.markClientGone()
	s.cancel()
	waitGroup(ctx, &s.handlers)
	waitGroup(ctx, &s.background)
}

func waitGroup(ctx context.Context, g *sync.WaitGroup) {
	done := make(chan struct{})
	go func() { g.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
