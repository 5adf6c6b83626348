package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A server may take milliseconds to start, or a minute if it is downloaded first or the
// machine is busy. So the client waits for the response to the first message, whatever
// it is, as long as a start may take. A missing response counts only if another server
// (the control), started during the wait, responds to an ordinary initialize.

// ErrStarting says that no response came, and that the server may still have been starting, because
// no server that was started during the wait responded either.
var ErrStarting = errors.New("the server may still have been starting: one that was started meanwhile did not respond to an ordinary initialize either")

// Starts tracks how long servers take to start, and starts controls to compare a slow server with.
type Starts interface {
	// BeginWait is called when the conversation begins to wait for a server that may
	// still be starting; over is called when that wait has ended.
	BeginWait() (over func())
	// Slowest returns the longest time that a server of this kind took to start so far, or 0 if
	// none has started.
	Slowest() time.Duration
	// StartControl starts another server of the same kind, and returns nil once it has
	// responded to an ordinary initialize.
	StartControl(ctx context.Context) error
}

// HasStarted reports whether the server has responded to anything.
func (c *Conversation) HasStarted() bool {
	if c.started.Load() {
		return true
	}
	for _, e := range c.Record.From(0) {
		if c.showsStart(e) {
			c.started.Store(true)
			return true
		}
	}
	return false
}

// IsStartUnclear reports whether the conversation waited for the first response as long
// as a start may take, and nothing showed that a server starts in that time. Missing
// messages then do not count.
func (c *Conversation) IsStartUnclear() bool { return c.isStartUnclear.Load() && !c.HasStarted() }

// showsStart reports whether the event is a response, which shows that the server has started. A
// server that does not read yet may send anything else. An HTTP status counts as a response, except
// over HTTP+SSE, where it shows only that the message was accepted.
func (c *Conversation) showsStart(e *transcript.Event) bool {
	switch e.Kind {
	case transcript.Responded:
		return !c.hasResponseStream
	case transcript.Received:
		for i := range e.Messages() {
			if e.Frame.Messages[i].Kind == wire.Response {
				return true
			}
		}
	}
	return false
}

// hasOpeningRequest reports whether one of the frames holds a request that opens a session. Its
// response may take as long as a start.
func hasOpeningRequest(frames ...[]byte) bool {
	for _, f := range frames {
		for _, m := range wire.Parse(f).Messages {
			if m.Method == spec.MethodInitialize {
				return true
			}
		}
	}
	return false
}

// boundWait limits a wait to the given time. If the server may still be starting, or if opening is
// set because the request opens the session, the limit is the time of a start. The caller must call
// the returned function when the wait is over.
func (c *Conversation) boundWait(ctx context.Context, limit time.Duration, opening bool) (context.Context, context.CancelFunc) {
	if !opening && c.HasStarted() {
		return c.Record.WithTimeout(ctx, limit, ErrUnanswered)
	}
	w := &startWait{c: c, limit: limit, longest: max(limit, c.opts.StartTimeout)}
	if !opening { // no other response shortens the wait for the response to initialize
		w.responded = make(chan struct{})
	}
	return w.begin(ctx)
}

// boundByControl limits a wait to the given time. After that it starts another server as a control,
// and extends the wait if the control is slow too (see runControl), at most to the timeout.
func (c *Conversation) boundByControl(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return (&startWait{c: c, hasStarted: true, limit: limit, longest: max(limit, c.opts.Timeout)}).begin(ctx)
}

// begin returns a context that ends when no time is left to wait. The caller must call the returned
// function when the wait is over.
func (w *startWait) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, giveUp := context.WithCancelCause(ctx)
	w.began = w.c.Record.Moment()
	over := func() {}
	if w.c.opts.Starts != nil {
		over = w.c.opts.Starts.BeginWait()
	}
	var waiting sync.WaitGroup
	if w.responded != nil {
		waiting.Go(func() { w.watchResponse(ctx) })
	}
	waiting.Go(func() {
		if cause := w.wait(ctx); cause != nil {
			giveUp(cause)
		}
	})
	return ctx, func() {
		giveUp(nil)
		waiting.Wait()
		over()
	}
}

// startWait is the wait for a server that may still be starting, or may be slow because the
// machine is busy.
type startWait struct {
	c              *Conversation
	hasStarted     bool // the server is known to have started
	limit, longest time.Duration
	began          transcript.Moment
	responded      chan struct{} // closed at the first response; nil if that does not matter
}

// watchResponse closes the channel responded when the server responds.
func (w *startWait) watchResponse(ctx context.Context) {
	for pos := 0; ; {
		events, err := w.c.Record.Wait(ctx, pos)
		if err != nil {
			return
		}
		for _, e := range events {
			pos = e.Seq + 1
			if w.c.showsStart(e) {
				close(w.responded)
				return
			}
		}
	}
}

// wait waits, and returns why the wait ended, or nil if ctx ended first.
func (w *startWait) wait(ctx context.Context) error {
	first := w.limit
	switch {
	case w.c.opts.Starts == nil:
		first = w.longest
	case !w.hasStarted: // do not let a control slow down a start that takes no longer than others did
		first = min(max(first, w.c.opts.Starts.Slowest()*3/2), w.longest)
	}
	switch w.pause(ctx, first) {
	case waitCancelled:
		return nil
	case serverResponded:
		return w.waitAfterStart(ctx)
	}
	if w.c.opts.Starts == nil {
		return ErrUnanswered
	}
	more, how, err := w.runControl(ctx)
	if how == timePassed {
		how = w.pause(ctx, more)
	}
	switch {
	case how == waitCancelled:
		return nil
	case how == serverResponded:
		return w.waitAfterStart(ctx)
	case err != nil && w.hasStarted:
		return ErrUnanswered
	case err != nil:
		w.c.isStartUnclear.Store(true)
		return ErrStarting
	default:
		return ErrUnanswered
	}
}

// waitAfterStart waits as long as a response may take once the server has started (w.limit),
// counted from the server's first response.
func (w *startWait) waitAfterStart(ctx context.Context) error {
	w.responded = nil
	if w.pause(ctx, w.limit) == waitCancelled {
		return nil
	}
	return ErrUnanswered
}

// runControl starts another copy of the server for comparison (the control), to which it sends an
// ordinary initialize, and returns how much longer to wait for the response of the first copy. If
// the control responds, more is half the time that it took, or Grace if that is longer, so that the
// first copy has clearly more time than the control. If the control does not respond, more is what
// is left of the time allowed for a start, and err is the control's error. how says whether, in the
// meantime, the first copy responded or the wait was cancelled.
func (w *startWait) runControl(ctx context.Context) (more time.Duration, how pauseEnd, err error) {
	limited, cancel := context.WithTimeout(ctx, w.longest)
	began := time.Now()
	answered := make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() { answered <- w.c.opts.Starts.StartControl(limited) })
	defer running.Wait()
	defer cancel()
	select {
	case err = <-answered:
	case <-w.responded:
		return 0, serverResponded, nil
	}
	switch {
	case err == nil:
		return max(w.c.Grace(), time.Since(began)/2), timePassed, nil
	case ctx.Err() != nil:
		return 0, waitCancelled, err
	default:
		return w.longest - w.c.Record.Since(w.began), timePassed, err
	}
}

// A pauseEnd says how a pause ended.
type pauseEnd int

const (
	timePassed      pauseEnd = iota // the time is over
	serverResponded                 // the server has responded
	waitCancelled                   // the wait was cancelled
)

func (w *startWait) pause(ctx context.Context, d time.Duration) pauseEnd {
	timer, stop := w.c.Record.WithTimeout(ctx, max(d, 0), ErrUnanswered)
	defer stop()
	select {
	case <-timer.Done():
		if ctx.Err() != nil {
			return waitCancelled
		}
		return timePassed
	case <-w.responded:
		return serverResponded
	}
}
