package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/locks"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// ErrEnded says that the server closed the connection, or that its process
// ended.
var ErrEnded = errors.New("the server ended the connection")

// ErrUnanswered says that no response came in time, or that a later request got
// a response and this one did not.
var ErrUnanswered = errors.New("no response came in time")

// ErrQuietSkipped says that the wait for silence was skipped, see Options.ShouldSkipQuiet.
var ErrQuietSkipped = errors.New("the wait for silence was skipped")

// ErrNoFence says that the fence (a further request) after a request got no response either, so
// that the server may not have read the first one.
var ErrNoFence = errors.New("a later request got no response either")

// ErrTooLong says that a response came and was too long to be kept.
var ErrTooLong = errors.New("the response is longer than mcp-conform keeps")

// A Conversation is one client's use of a server. Its methods may be called
// from any goroutine.
type Conversation struct {
	Record *transcript.Transcript
	opts   Options
	link   transport.Link
	// hasResponseStream reports whether responses come on a separate stream, never in the
	// exchange that carried the request, as over HTTP+SSE.
	hasResponseStream bool

	ctx       context.Context // ends with Close
	cancel    context.CancelCauseFunc
	answering chan struct{} // closed when answerRequests has returned
	answered  int           // the position up to which answerRequests has read; read it only after answering is closed
	// whileAnswering is cancelled when answerRequests has to return.
	whileAnswering context.Context
	stopAnswering  context.CancelFunc
	// hearing is cancelled once the end of the server's output is recorded.
	hearing    context.Context
	endHearing context.CancelCauseFunc
	closed     *locks.Once

	waiting             atomic.Int32 // requests that currently expect a response
	unansweredExchanges atomic.Int32 // consecutive HTTP exchanges that ended without the expected response
	hasSpoken           atomic.Bool  // the server has sent a message
	started             atomic.Bool  // the server has responded, see HasStarted
	isStartUnclear      atomic.Bool  // see IsStartUnclear
	quietUpTo           atomic.Int64 // the length of the record when AwaitQuiet last proved silence

	replies *locks.RWMutex // locked while the client writes a response to the server

	mu          sync.Mutex
	lastID      *atomic.Int64 // shared by conversations that continue each other
	missedFence *atomic.Int64 // the length of the record when a fence last timed out; shared like lastID
	slowest     time.Duration // the longest response time so far, see Grace
	counts      counts        // see updatedCounts
	server      Server
	releaseSlot func() (resume func()) // Options.Idle, or the function that SetIdle set
}

// Server is what the server declared in the handshake or in server/discover.
type Server struct {
	Name, Version   string
	ProtocolVersion string
	Capabilities    map[string]jsontext.Value
	Result          jsontext.Value    // the whole result
	Event           *transcript.Event // the response with the result
}

// Declares reports whether the server declared the capability: it is present, and its value is
// neither false nor null. A dot separates members, as in resources.subscribe.
func (s Server) Declares(capability string) bool {
	v, ok := lookUpCapability(s.Capabilities, capability)
	return ok && string(v) != "false" && string(v) != "null"
}

// Open starts a server, or connects to one, and returns a conversation in which nothing has been
// sent yet.
func Open(ctx context.Context, dialer transport.Dialer, opts Options) (*Conversation, error) {
	c := &Conversation{Record: transcript.NewWithin(opts.Budget, transcript.Limits{}), opts: opts.withDefaults(), hasResponseStream: dialer.Transport() == spec.SSE, answering: make(chan struct{}), closed: locks.NewOnce(), replies: locks.NewRWMutex()}
	link, err := dialer.Dial(ctx, c.Record)
	if err != nil {
		return nil, err
	}
	c.link, c.releaseSlot, c.lastID, c.missedFence = link, c.opts.Idle, &atomic.Int64{}, &atomic.Int64{}
	c.lastID.Store(max(c.opts.FirstID, 1) - 1)
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.hearing, c.endHearing = context.WithCancelCause(c.ctx)
	c.whileAnswering, c.stopAnswering = context.WithCancel(c.ctx)
	go c.answerRequests(0)
	return c, nil
}

// CanContinue reports whether a conversation with the given options can continue c. Both must have
// the same revision. In the handshake era they must also have the same version, capabilities and
// first id, because the handshake fixes them; in the stateless era each request carries what the
// client declares (2026-07-28, basic/index#meta).
func (c *Conversation) CanContinue(opts Options) bool {
	opts = opts.withDefaults()
	if opts.Revision.Era() == spec.Stateless {
		return c.opts.Revision == opts.Revision
	}
	return c.opts.Revision == opts.Revision && c.opts.Version == opts.Version && c.opts.FirstID == opts.FirstID &&
		reflect.DeepEqual(c.opts.Capabilities, opts.Capabilities)
}

// Continue returns a conversation with the given options that takes over the server, the record and
// the sequence of ids of c. From now on c no longer responds to the server's requests. Closing c
// closes both conversations.
func (c *Conversation) Continue(opts Options) *Conversation {
	next := &Conversation{Record: c.Record, opts: opts.withDefaults(), link: c.link, hasResponseStream: c.hasResponseStream, answering: make(chan struct{}), closed: locks.NewOnce(), replies: locks.NewRWMutex()}
	next.releaseSlot = next.opts.Idle
	next.started.Store(c.HasStarted())
	next.hasSpoken.Store(c.hasSpoken.Load())
	next.quietUpTo.Store(c.quietUpTo.Load())
	c.mu.Lock()
	next.lastID, next.missedFence, next.slowest, next.server = c.lastID, c.missedFence, c.slowest, c.server
	c.mu.Unlock()
	next.ctx, next.cancel = context.WithCancelCause(c.ctx)
	next.hearing, next.endHearing = c.hearing, c.endHearing
	next.whileAnswering, next.stopAnswering = context.WithCancel(next.ctx)
	c.stopAnswering()
	go func() {
		<-c.answering
		next.answerRequests(c.answered)
	}()
	return next
}

// Options returns the options of the conversation, with the defaults filled in.
func (c *Conversation) Options() Options { return c.opts }

// SetIdle replaces Options.Idle from now on.
func (c *Conversation) SetIdle(idle func() (resume func())) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.releaseSlot = idle
}

// BeginIdle releases the caller's slot for the time of a wait; the returned function acquires a
// slot again.
func (c *Conversation) BeginIdle() (resume func()) {
	c.mu.Lock()
	releaseSlot := c.releaseSlot
	c.mu.Unlock()
	return releaseSlot()
}

// HoldReplies delays the client's responses to requests of the server until release is called. It
// is for a caller that sends a message in several chunks, between which no response may come.
func (c *Conversation) HoldReplies() (release func()) {
	c.replies.Lock()
	return c.replies.Unlock
}

// Revision returns the revision that the client requests.
func (c *Conversation) Revision() spec.Revision { return c.opts.Revision }

// Server returns what the server declared; it is zero before the handshake.
func (c *Conversation) Server() Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server
}

// answerRequests responds to the server's requests from the given position on, until the
// conversation is closed or another continues it.
func (c *Conversation) answerRequests(from int) {
	defer close(c.answering)
	c.answered = from
	for {
		events, err := c.Record.Wait(c.whileAnswering, c.answered)
		if err != nil || c.whileAnswering.Err() != nil {
			return
		}
		for _, e := range events {
			c.answered = e.Seq + 1
			if endsOutput(e) {
				c.endHearing(ErrEnded)
			}
			if e.Kind != transcript.Received || e.Exchange > 0 && e.Stream == nil {
				continue // the JSON body of an HTTP response holds no request of the server; it may echo the client's
			}
			for i := range e.Frame.Messages {
				c.respondTo(&e.Frame.Messages[i])
			}
		}
	}
}

// respondTo responds to m if it is a request. In the stateless era a client sends no responses.
func (c *Conversation) respondTo(m *wire.Message) {
	if m.Kind != wire.Request || c.opts.Revision.Era() == spec.Stateless {
		return
	}
	var frame []byte
	if c.opts.Answer != nil {
		frame = c.opts.Answer(m)
	} else {
		frame = respond(m, c.opts.Capabilities)
	}
	if frame == nil {
		return
	}
	defer c.HoldReplies()()
	ctx, cancel := c.Record.WithTimeout(c.ctx, c.opts.Timeout, ErrUnanswered)
	defer cancel()
	_ = c.link.Send(ctx, frame) // if the server has stopped reading, later requests fail too
}

// NewID returns an integer id that this conversation has not used yet.
func (c *Conversation) NewID() wire.ID {
	return wire.IntID(c.lastID.Add(1))
}

// Send writes frames, all in one write if the transport allows it.
func (c *Conversation) Send(ctx context.Context, frames ...[]byte) error {
	return c.sendWithin(ctx, frames...)
}

// SendBytes writes exactly these bytes, with one write for each chunk.
func (c *Conversation) SendBytes(ctx context.Context, chunks ...[]byte) error {
	defer c.BeginWait()()
	return c.link.SendBytes(ctx, chunks...)
}

// Notify sends a notification; params may be nil.
func (c *Conversation) Notify(ctx context.Context, method string, params map[string]any) error {
	return c.sendWithin(ctx, c.Notification(method, params))
}

// Await returns the first event at or after the given position for which match is true. The error
// is ErrEnded if the server's output ends first, ErrUnanswered or ErrStarting if the time that an
// option sets has passed, and otherwise the cause of the context's end.
func (c *Conversation) Await(ctx context.Context, from int, match func(*transcript.Event) bool, options ...Option) (*transcript.Event, error) {
	w := newWait(options)
	cancel := func() {}
	switch {
	case w.mayIgnore:
		return c.awaitWithFence(ctx, from, match)
	case w.isOpening:
		ctx, cancel = c.boundWait(ctx, min(c.opts.Timeout, c.opts.StartTimeout), true)
	case w.isLimited:
		ctx, cancel = c.boundWait(ctx, cmp.Or(w.limit, c.opts.Timeout), false)
		defer c.BeginIdle()()
	}
	defer cancel()
	return c.await(ctx, from, match)
}

func (c *Conversation) await(ctx context.Context, from int, match func(*transcript.Event) bool) (*transcript.Event, error) {
	defer c.BeginWait()()
	// The output may have ended before position from, because a server that closed its output can
	// still read. The loop below would not see that end, but hearing is cancelled then.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.hearing, func() { cancel(context.Cause(c.hearing)) })()
	for pos := from; ; {
		events, err := c.Record.Wait(ctx, pos)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.Kind == transcript.Received { // stored here, so that it is true before the caller continues
				c.hasSpoken.Store(true)
			}
			if match(e) {
				return e, nil
			}
			pos = e.Seq + 1
			if endsOutput(e) {
				return nil, ErrEnded
			}
		}
	}
}

// endsOutput reports whether the server can send nothing more after the event. If a single HTTP
// exchange floods the client, only that exchange ends.
func endsOutput(e *transcript.Event) bool {
	return e.Kind == transcript.OutputClosed || e.Kind == transcript.Flooded && e.Exchange == 0
}

// Alive reports whether the connection to the server is still open.
func (c *Conversation) Alive() bool {
	select {
	case <-c.link.Ended():
		return false
	default:
		return true
	}
}

// CloseInput closes the input of the server.
func (c *Conversation) CloseInput() error { return c.link.CloseInput() }

// Signal sends the signal with the given name, TERM or INT, to the server's process. It reports
// whether that was possible.
func (c *Conversation) Signal(name string) bool { return c.link.Signal(name) }

// Shutdown ends the connection in the order that the specification requires, and waits until the
// server has ended. p bounds each step.
func (c *Conversation) Shutdown(p transport.Patience) {
	c.closed.Do(func() {
		c.link.Shutdown(p)
		c.cancel(ErrEnded)
		<-c.answering
	})
}

// Close is like Shutdown with Options.Patience.
func (c *Conversation) Close() { c.Shutdown(c.opts.Patience) }

// CloseIdle is like Close, but other cases may run while the server exits.
func (c *Conversation) CloseIdle() {
	defer c.BeginIdle()()
	c.Close()
}

func (c *Conversation) noteDuration(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slowest = max(c.slowest, d)
	c.opts.Pace.NoteDuration(d)
}

// Grace returns how long the server must be silent before the client concludes that nothing more
// comes: three times the slowest response in this conversation so far, but at least
// Options.LeastGrace and at most 2 s. Only responses to fences and to single requests without
// options are measured, and only if the server had started when the request was sent.
func (c *Conversation) Grace() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return min(max(c.opts.LeastGrace, 3*c.slowest), 2*time.Second)
}

// Stderr returns the last bytes that the server wrote to stderr, at most n.
func (c *Conversation) Stderr(n int) string {
	var b []byte
	for _, e := range c.Record.From(0) {
		if e.Kind == transcript.Stderr {
			b = append(b, e.Raw...)
		}
	}
	return string(b[max(0, len(b)-n):])
}

func lookUpCapability(caps map[string]jsontext.Value, path string) (jsontext.Value, bool) {
	var v jsontext.Value
	for i, part := range strings.Split(path, ".") {
		var ok bool
		if i == 0 {
			v, ok = caps[part]
		} else {
			_, members := wire.Members(v)
			v, ok = members[part]
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}

func anyOrNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

// HandshakeError says why a conversation could not be opened.
type HandshakeError struct {
	Reason string
	// Reply is the outcome of initialize or server/discover; its Message is nil if no response
	// came.
	Reply *Reply
	Err   error // why no response came (the same as Reply.Err), or nil if one came
}

func (e *HandshakeError) Error() string { return fmt.Sprintf("the handshake failed: %s", e.Reason) }

func (e *HandshakeError) Unwrap() error { return e.Err }
