package exchange

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A Pacer keeps the requests to one server below its rate limit. It releases them at once until the
// server refuses one with 429, or with 503 and Retry-After. Then it delays all requests for as long
// as the server demands. From the requests that were served until then, it estimates how many
// requests a second the limit permits, and spaces later requests accordingly. The refused request
// is sent again first. If waiting does not help, or the server demands too long a wait, the refusal
// becomes the response to the request.
//
// All connections to a server share a Pacer. A nil Pacer delays nothing.
type Pacer struct {
	// Say, if set, is called with what the pacer waits for, and with "" when the wait is over.
	Say func(text string)

	mu           sync.Mutex
	again, fresh queue // again holds the refused requests, fresh all others
	timer        *time.Timer
	ready        time.Time // when the next request may pass

	closed time.Time // when the last wait began that a refusal caused
	isOpen bool      // no such wait is in progress
	gaveUp bool      // waiting does not help

	pauseEnd time.Time // see PauseEnd
	hasSaid  bool      // Say was called for the current wait
	pace     pace
	backoff  backoff
	tally    tally
}

// A waiter is a request that waits. pass is closed when the request may be sent.
type waiter struct {
	pass chan struct{}
	from *sender
}

// A sender sends requests that belong together, such as those of one conversation.
type sender struct{ last time.Time } // when its last request passed

// queue holds the requests that wait, in order.
type queue []waiter

// NewPacer returns a pacer.
func NewPacer() *Pacer { return &Pacer{isOpen: true} }

// waitTurn waits until a request may be sent, and returns the time at which it was released. The
// clock is stopped during the wait. repeated reports whether the request was refused before. If ctx
// ends first, the error is its cause.
func (p *Pacer) waitTurn(ctx context.Context, clock *transcript.Clock, from *sender, repeated bool) (time.Time, error) {
	if p == nil {
		return time.Time{}, nil
	}
	p.mu.Lock()
	now := time.Now()
	if len(p.again)+len(p.fresh) == 0 && !now.Before(p.ready) {
		p.noteReleased(now, from)
		p.mu.Unlock()
		return now, nil
	}
	mine, into := waiter{make(chan struct{}), from}, &p.fresh
	if repeated {
		into = &p.again
	}
	*into = append(*into, mine)
	p.startTimer(now)
	p.mu.Unlock()
	defer clock.Hold()()
	select {
	case <-mine.pass:
		return time.Now(), nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		*into = slices.DeleteFunc(*into, func(w waiter) bool { return w == mine })
		return now, context.Cause(ctx)
	}
}

// take removes and returns the waiter whose sender has sent a request most recently, because the
// state of a conversation may expire, while conversations that have not begun can wait. Requests of
// one sender keep their order.
func (q *queue) take() waiter {
	next := 0
	for i, w := range *q {
		if w.from.last.After((*q)[next].from.last) {
			next = i
		}
	}
	w := (*q)[next]
	*q = slices.Delete(*q, next, next+1)
	return w
}

// noteReleased notes that a request is released, and determines when the next one may be released.
func (p *Pacer) noteReleased(now time.Time, from *sender) {
	from.last = now
	if !p.isOpen {
		p.reopen(now)
	}
	p.ready = now.Add(p.pace.noteSent(now))
}

// startTimer starts the timer that releases the waiting requests, if it is not running.
func (p *Pacer) startTimer(now time.Time) {
	if p.timer == nil && len(p.again)+len(p.fresh) > 0 {
		p.timer = time.AfterFunc(p.ready.Sub(now), p.release)
	}
}

// release releases the requests that may be sent now.
func (p *Pacer) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	now := time.Now()
	for len(p.again)+len(p.fresh) > 0 && !now.Before(p.ready) {
		from := &p.again
		if len(p.again) == 0 {
			from = &p.fresh
		}
		next := from.take()
		close(next.pass)
		p.noteReleased(now, next.from)
	}
	p.startTimer(now)
}

// noteResponse notes the response to a request. The argument passed is the time at which the
// request was released, and attempts the number of times it has been sent. If the response is a
// refusal, why describes it, and ok reports whether to send the request again.
func (p *Pacer) noteResponse(status int, header func(name string) string, passed time.Time, attempts int) (why string, ok bool) {
	if p == nil || status < http.StatusOK {
		return "", false
	}
	r, refused := refusalOf(status, header, time.Now())
	if !refused {
		p.noteServed(attempts > 1)
		return "", false
	}
	return r.String(), p.noteRefused(r, passed, attempts)
}

// noteRefused notes the refusal of a request, and reports whether to send the request again. The
// argument passed is the time at which the request was released, and attempts the number of times
// it has been sent.
func (p *Pacer) noteRefused(r refusal, passed time.Time, attempts int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.pace.noteRefusal(passed)
	p.tally.noteRefused(r)
	p.extendPause(now, r.wait)
	switch {
	case p.gaveUp, attempts >= maxAttempts:
		return false
	case r.wait > maxWait:
		p.tally.tooLong = true
		return false
	case !p.isOpen || !passed.After(p.closed): // the request was sent before the current or last wait began
		if at := now.Add(p.backoff.waitAfter(r)); !p.isOpen && at.After(p.ready) {
			p.ready = at
		}
		return true
	}
	wait, ok := p.backoff.begin(r)
	if !ok {
		p.gaveUp, p.pace = true, pace{}
		p.extendPause(now, maxWait)
		return false
	}
	p.closed, p.isOpen, p.ready = now, false, now.Add(wait)
	p.tally.waits++
	if p.Say != nil && wait >= longWait {
		p.Say("waiting " + describeSeconds(wait) + ", as the server's rate limit demands (" + r.String() + ")")
		p.hasSaid = true
	}
	return true
}

// longWait is the shortest wait about which the user is informed.
const longWait = 3 * time.Second

// reopen ends the wait that a refusal caused.
func (p *Pacer) reopen(now time.Time) {
	p.isOpen = true
	p.tally.waited += now.Sub(p.closed)
	p.pace.learnRate(p.closed, p.ready, now)
	if p.hasSaid {
		p.Say("")
		p.hasSaid = false
	}
}

// noteServed notes that a request was served; repeated reports whether it was refused before.
func (p *Pacer) noteServed(repeated bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backoff.serves = true
	p.backoff.helped = p.backoff.helped || repeated
}

// extendPause notes that the server wants no requests for some time.
func (p *Pacer) extendPause(now time.Time, wait time.Duration) {
	if end := now.Add(min(wait, maxPause)); wait > 0 && end.After(p.pauseEnd) {
		p.pauseEnd = end
	}
}

// PauseEnd returns until when the server wants no more requests: the end of the longest pause that
// it demanded and, if waiting did not help, at least a minute after the last refusal. It returns
// the zero time if there is no such pause.
func (p *Pacer) PauseEnd() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pauseEnd
}

// Notice returns what the user should know about the server's rate limit, or "".
func (p *Pacer) Notice() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tally
	if !p.isOpen {
		t.waited += max(0, time.Since(p.closed))
	}
	return t.notice(p.pace.rate, p.gaveUp)
}
