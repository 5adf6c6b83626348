package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Reply is the outcome of a request.
type Reply struct {
	Sent    *transcript.Event // nil if the request could not be sent
	Event   *transcript.Event // nil if no response came
	Message *wire.Message     // nil if no response came, or if it was too long to be kept
	// Err is nil if Message is set. Otherwise it is or wraps ErrUnanswered, ErrStarting, ErrEnded,
	// ErrTooLong, the reason why the request could not be sent, or the cause of the end of the
	// caller's context.
	Err error
}

// Answered reports whether a response, either a result or an error, came and was kept.
func (r *Reply) Answered() bool { return r.Message != nil }

// Busy reports whether the response is an error that any request could get, such as a rate limit,
// and that therefore shows nothing about this request.
func (r *Reply) Busy() bool {
	return r.Answered() && r.Message.IsError() && r.Message.IsOverloadError()
}

// Positions returns the positions of the request and its response in the record. Either is left out
// if it does not exist.
func (r *Reply) Positions() []int { return transcript.Positions(r.Sent, r.Event) }

// Succeeded reports whether the response is a result.
func (r *Reply) Succeeded() bool {
	return r.Answered() && r.Message.Has("result") && !r.Message.IsError()
}

// An Option changes how the client waits for a response or another event.
type Option func(*wait)

type wait struct {
	id        wire.ID
	limit     time.Duration
	longer    time.Duration
	isLimited bool
	mayIgnore bool
	isOpening bool
	oneRound  bool
}

// WithID gives the request an id of the caller's choice.
func WithID(id wire.ID) Option { return func(w *wait) { w.id = id } }

// Within limits the wait to the given time, or to the conversation's timeout if the given time is
// 0. It is for requests that run code of the server's author, such as tools, which may take any
// time. A request without a response is cancelled, as a client should do, and the missing response
// is not counted as a failure. Before Do cancels the request, it also waits until the server has
// responded to a later request, and for the grace after that (see graceAfter), because the server
// may be slow in all its responses. With this option, Await, which sends no request, releases the
// caller's slot for the whole wait.
func Within(limit time.Duration) Option {
	return func(w *wait) { w.limit, w.isLimited = limit, true }
}

// LongerWithProgress is an option of Do, besides Within: if the server sent progress at least twice
// before the limit of Within, the limit becomes the given time.
func LongerWithProgress(limit time.Duration) Option {
	return func(w *wait) { w.longer = limit }
}

// MayIgnore is an option for a message that a server may ignore. The client also sends another
// request, and waits only until that has got its response, and for the grace after that (see
// graceAfter).
func MayIgnore(w *wait) { w.mayIgnore = true }

// WithinStart is an option of Await for the response to a request that opens the session. Await
// then waits as long as a start may take. Without a response the error is ErrUnanswered or
// ErrStarting.
func WithinStart(w *wait) { w.isOpening = true }

func newWait(options []Option) wait {
	var w wait
	for _, set := range options {
		set(&w)
	}
	return w
}

// limitFor returns how long to wait for the response to a request with the option Within.
func (w *wait) limitFor(c *Conversation) time.Duration {
	limit := c.opts.Pace.extraLimit(c.opts.Timeout)
	if w.limit > 0 {
		limit = min(limit, w.limit)
	}
	return limit
}

// Do sends a request and waits for its response. If none comes within the conversation's timeout,
// rules count that as a failure, unless an option says otherwise. Params may be nil. In the
// stateless era, if a result requires input, Do sends the input in further requests, unless
// OneRound is given, and returns the last reply.
func (c *Conversation) Do(ctx context.Context, method string, params map[string]any, options ...Option) *Reply {
	w := newWait(options)
	if !w.id.IsPresent() {
		w.id = c.NewID()
	}
	return c.completeRounds(ctx, &w, method, params, c.do(ctx, &w, c.Request(w.id, method, params)))
}

// DoRaw is like Do, but sends the frame unchanged, waits for the response with the
// given id, and returns it even if it requires input.
func (c *Conversation) DoRaw(ctx context.Context, id wire.ID, frame []byte, options ...Option) *Reply {
	w := newWait(options)
	w.id = id
	return c.do(ctx, &w, frame)
}

func (c *Conversation) do(ctx context.Context, w *wait, frame []byte) *Reply {
	switch {
	case w.mayIgnore:
		return c.probe(ctx, w.id, frame)
	case w.isLimited:
		from, began, limit := c.Record.Len(), c.Record.Elapsed(), w.limitFor(c)
		r := c.sendAndAwait(ctx, limit, w.id, frame)
		if errors.Is(r.Err, ErrUnanswered) && c.Record.Elapsed()-began >= limit { // if the wait was shorter, no response can come any more
			r = c.awaitAgain(ctx, from, w.id, frame, MayIgnore)
		}
		if more := w.longer - (c.Record.Elapsed() - began); errors.Is(r.Err, ErrUnanswered) && more > 0 && c.progressSince(from) >= 2 {
			r = c.awaitAgain(ctx, from, w.id, frame, Within(more))
		}
		if errors.Is(r.Err, ErrUnanswered) {
			_ = c.Cancel(ctx, w.id, transcript.OverdueReason)
		}
		return r
	}
	limit, started := c.opts.Pace.requestLimit(&c.opts), c.HasStarted()
	r := c.sendAndAwait(ctx, limit, w.id, frame)
	c.recordGaveUpAfter(limit, r)
	if started { // before that, the time of a response includes that of the start
		c.measureResponse(r)
	}
	return r
}

// progressSince returns how many progress notifications have come since the position from.
func (c *Conversation) progressSince(from int) int {
	n := 0
	for _, m := range transcript.Messages(c.Record.From(from), transcript.Received) {
		if m.Method == spec.MethodProgress {
			n++
		}
	}
	return n
}

// awaitAgain continues the wait for the response to a request. limit is the option that bounds this
// further wait. If it is MayIgnore, a server that is slow in all its responses gets the time that
// it needs.
func (c *Conversation) awaitAgain(ctx context.Context, from int, id wire.ID, frame []byte, limit Option) *Reply {
	r := c.AwaitResponse(ctx, from, id, limit)
	r.Sent = c.sentEvent(from, frame) // sendAndAwait leaves Sent nil if only the response to the POST was late
	return r
}

// sendAndAwait sends a frame and waits up to the limit for the response with the given id.
func (c *Conversation) sendAndAwait(ctx context.Context, limit time.Duration, id wire.ID, frame []byte) *Reply {
	ctx, cancel := c.boundWait(ctx, limit, hasOpeningRequest(frame))
	defer cancel()
	defer c.countWaiting()()
	from := c.Record.Len()
	if err := c.send(ctx, frame); err != nil {
		return &Reply{Err: c.sendError(ctx, err)}
	}
	r := c.awaitFrameResponse(ctx, from, id, frame)
	r.Sent = c.sentEvent(from, frame)
	return r
}

// awaitFrameResponse waits for the response with the given id to the request in the frame.
func (c *Conversation) awaitFrameResponse(ctx context.Context, from int, id wire.ID, frame []byte) *Reply {
	return replyTo(id, func(match func(*transcript.Event) bool) (*transcript.Event, error) {
		return c.awaitResponseTo(ctx, from, frame, c.awaitOtherStreams, match)
	})
}

// countWaiting counts a request that expects a response until the function that
// it returns is called.
func (c *Conversation) countWaiting() (done func()) {
	c.waiting.Add(1)
	return func() { c.waiting.Add(-1) }
}

// awaitResponseTo is like await, for the response to the request in the frame. The wait also ends
// at an event that says that the response is longer than the client reads. The wait is shortened in
// four cases:
//
//   - The server answers the POST with an error status, so it has started. The rest of the body
//     gets the time of a request, not that of a start.
//   - The server echoes the frame over stdio. The response gets the time of a request, too.
//   - No other request is pending, and the server sends what is most likely meant as the response:
//     a message without the form of one, see isUnclaimed, or a response spread over several lines.
//     The client waits only for the grace.
//   - The HTTP exchange that carried the frame has ended without the response. The client waits
//     only for the grace, and if the exchange did not break off, only until the function elsewhere
//     returns, which waits for the other streams.
func (c *Conversation) awaitResponseTo(ctx context.Context, from int, frame []byte, elsewhere func(context.Context), match func(*transcript.Event) bool) (*transcript.Event, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer giveUp(nil)
	within := func(left time.Duration, look func(context.Context)) {
		looking.Go(func() {
			ctx, enough := c.Record.WithTimeout(ctx, left, ErrUnanswered)
			defer enough()
			look(ctx)
			giveUp(ErrUnanswered)
		})
	}
	short := false
	var spread multilineResponse
	return c.await(ctx, from, func(e *transcript.Event) bool {
		if match(e) {
			c.unansweredExchanges.Store(0)
			return true
		}
		if c.exceedsLimits(e, from, frame) {
			return true
		}
		if isEcho(e, frame) || c.isErrorStatus(e, from, frame) { // a terminal may echo while a server starts, but more likely there is no server
			within(c.opts.Timeout, awaitEnd)
			return false
		}
		over, unclaimed := c.endsWithoutResponse(e, from, frame), spread.addLine(e) || c.isUnclaimed(e)
		if over {
			c.unansweredExchanges.Add(1)
		}
		if short || !over && (c.waiting.Load() != 1 || !unclaimed) {
			return false
		}
		short = true
		look := awaitEnd
		if over && e.How == transcript.Complete { // a broken exchange may mean that the server is about to end
			look = elsewhere
		}
		within(c.Grace()-(c.Record.Elapsed()-e.At), look) // the event may have come before this wait began
		return false
	})
}

// isEcho reports whether the event is the frame, sent back by the server.
func isEcho(e *transcript.Event, frame []byte) bool {
	return e.Kind == transcript.Received && e.Exchange == 0 && bytes.Equal(bytes.TrimSpace(e.Raw), frame)
}

// awaitEnd waits until ctx ends, and so uses up the grace (see Grace).
func awaitEnd(ctx context.Context) { <-ctx.Done() }

// probe sends a frame that a server may ignore, and waits for the response as MayIgnore says.
func (c *Conversation) probe(ctx context.Context, id wire.ID, frame []byte) *Reply {
	from := c.Record.Len()
	if err := c.send(ctx, frame); err != nil {
		return &Reply{Err: c.sendError(ctx, err)}
	}
	r := c.AwaitResponse(ctx, from, id, MayIgnore)
	r.Sent = c.sentEvent(from, frame)
	c.recordGaveUp(r)
	return r
}

// AwaitResponse waits for the response with the given id among the events from the given position
// on, as Await does. It leaves Reply.Sent nil.
func (c *Conversation) AwaitResponse(ctx context.Context, from int, id wire.ID, options ...Option) *Reply {
	return replyTo(id, func(match func(*transcript.Event) bool) (*transcript.Event, error) {
		return c.Await(ctx, from, match, options...)
	})
}

// replyTo calls the function await to wait for the response with the given id, and returns what
// came as a Reply.
func replyTo(id wire.ID, await func(match func(*transcript.Event) bool) (*transcript.Event, error)) *Reply {
	var m *wire.Message
	e, err := await(func(e *transcript.Event) bool {
		m = responseIn(e, id)
		return m != nil
	})
	switch {
	case err == nil && (m == nil || e.IsCut()):
		return &Reply{Event: e, Err: ErrTooLong}
	case err == nil:
		return &Reply{Event: e, Message: m}
	case errors.Is(err, ErrUnanswered), errors.Is(err, ErrEnded), errors.Is(err, ErrStarting):
		return &Reply{Err: err}
	default:
		return &Reply{Err: fmt.Errorf("the wait for the response was cut off: %w", err)}
	}
}

// responseIn returns the response with the given id in the event, or nil. It ignores the
// body of an HTTP response that broke off, which no client would see.
func responseIn(e *transcript.Event, id wire.ID) *wire.Message {
	if e.Exchange > 0 && e.Stream == nil && e.Unterminated {
		return nil
	}
	return e.ResponseTo(id)
}

// sendError returns the error for a frame that could not be sent: ErrEnded if the server has ended,
// and otherwise err.
func (c *Conversation) sendError(ctx context.Context, err error) error {
	if ctx.Err() == nil && !errors.Is(err, ErrUnanswered) && !errors.Is(err, ErrStarting) {
		// When a server ends, its input may close before its output.
		grace := time.NewTimer(c.Grace())
		defer grace.Stop()
		select {
		case <-c.link.Ended():
		case <-grace.C:
		case <-ctx.Done():
		}
	}
	if !c.Alive() {
		return ErrEnded
	}
	return err
}

// sentEvent returns the event in which the frame was sent, at or after the given position, or nil.
// It compares the bytes, because other callers may have sent messages since. A frame with a newline
// is recorded as several events, of which it returns the first.
func (c *Conversation) sentEvent(from int, frame []byte) *transcript.Event {
	line, _, _ := bytes.Cut(frame, []byte("\n"))
	for _, e := range c.Record.From(from) {
		if e.Kind == transcript.Sent && (bytes.Equal(e.Raw, frame) || bytes.Equal(e.Raw, line)) {
			return e
		}
	}
	return nil
}

// recordGaveUp records that no response came in time, which rules count as a failure of the server.
// It records nothing in three cases:
//
//   - The caller ended the wait.
//   - The fence got no response either. The request then had less than its full time.
//   - Something in front of the server, such as a proxy, responded.
func (c *Conversation) recordGaveUp(r *Reply) { c.recordGaveUpAfter(c.opts.Timeout, r) }

// recordGaveUpAfter is like recordGaveUp, for a response that had the given time. If that was less
// than the timeout, the server has not failed yet: nothing is recorded, or with
// Options.NoteShortWaits, that the wait was short.
func (c *Conversation) recordGaveUpAfter(limit time.Duration, r *Reply) {
	if r.Sent != nil && errors.Is(r.Err, ErrUnanswered) && !errors.Is(r.Err, ErrNoFence) && !c.isIntercepted(r.Sent) {
		c.addGaveUp(limit, r.Sent)
	}
}

// addGaveUp records that no response to the message in the event came in the given time.
func (c *Conversation) addGaveUp(limit time.Duration, sent *transcript.Event) {
	switch {
	case limit >= c.opts.Timeout:
		c.Record.Add(transcript.Event{Kind: transcript.GaveUp, Of: sent.Seq})
		c.opts.Pace.noteUnanswered()
	case c.opts.NoteShortWaits:
		c.Record.Add(transcript.Event{Kind: transcript.GaveUp, Of: sent.Seq, Short: true})
	}
}

// isIntercepted reports whether something in front of the server, such as a proxy, responded in its
// place.
func (c *Conversation) isIntercepted(sent *transcript.Event) bool {
	x := transcript.ExchangesOf(c.Record.From(0)).Of(sent)
	return x != nil && x.Intercepted()
}

func (c *Conversation) measureResponse(r *Reply) {
	if r.Answered() && r.Sent != nil {
		c.noteDuration(r.Event.At - r.Sent.At)
	}
}
