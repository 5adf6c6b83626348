package streamablehttp

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	maxRedirects = 5
	maxResumes   = 20
	// resumeDelay is waited for before a stream is taken up again where the
	// server did not say how long; maxDelay bounds what it says.
	resumeDelay = time.Second
	maxDelay    = 10 * time.Second
	// listenTime bounds the wait for the head of the stream that is opened
	// after initialized: some servers send it with the first event only.
	listenTime = 300 * time.Millisecond
)

var errClosed = errors.New("the link is closed, or the server is gone")

// post is one frame on its way.
type post struct {
	first *exchange.Pending
	asks  []wire.ID // of the requests in the frame
	taken chan struct{}
}

// sent is closed when what follows may be sent.
func (p *post) sent() <-chan struct{} {
	if len(p.asks) > 0 {
		return p.first.Written()
	}
	return p.taken
}

// await waits until done is closed, and says why nothing was sent.
func (p *post) await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if how, detail := p.first.Ended(); how == transcript.Unreachable {
		return errors.New("the server can't be reached: " + detail)
	}
	return nil
}

// post sends a frame, follows redirections and takes up streams that broke off
// before the answer.
func (l *Link) post(frame []byte) (*post, error) {
	if !l.alive() {
		return nil, errClosed
	}
	parsed := wire.Parse(frame)
	p := &post{taken: make(chan struct{})}
	var initialize, initialized bool
	for i := range parsed.Messages {
		m := &parsed.Messages[i]
		l.note(m)
		if m.Kind == wire.Request && m.ID.Present() {
			p.asks = append(p.asks, m.ID)
		}
		initialize = initialize || m.Method == spec.MethodInitialize
		initialized = initialized || m.Method == spec.MethodInitialized
	}
	from := l.client.Record.Len()
	begin := func() *exchange.Pending {
		r := l.request("POST", frame)
		r.Frame, parsed = parsed, nil // what is sent again is another frame
		if initialize {
			r.OnHead = l.joined
		}
		return l.client.Begin(l.ctx, r)
	}
	p.first = begin()
	started := l.spawn(func() {
		last := l.follow(p.first, begin)
		if initialized {
			l.listen(last)
		}
		close(p.taken)
		l.finish(last, p.asks, from)
	})
	if !started {
		p.first.Drop()
		return nil, errClosed
	}
	return p, nil
}

// follow waits for the response, and sends the request again where that says
// so.
func (l *Link) follow(p *exchange.Pending, again func() *exchange.Pending) *exchange.Pending {
	for range maxRedirects {
		<-p.Responded()
		to := redirected(l.URL(), p.Head())
		if to == nil {
			break
		}
		<-p.Over()
		l.mu.Lock()
		l.url = to
		l.mu.Unlock()
		p = again()
	}
	<-p.Responded()
	return p
}

// finish waits for the end of the exchange, and goes on with its stream where
// that ended before the answers came.
func (l *Link) finish(p *exchange.Pending, asks []wire.ID, from int) {
	<-p.Over()
	if how, detail := p.Ended(); how == transcript.Unreachable {
		l.lost(detail)
		return
	}
	for range maxResumes {
		if p.LastEventID() == "" || !l.resumable(p) || l.answered(asks, from) {
			return
		}
		if p = l.resume(p); p == nil {
			return
		}
		<-p.Over()
	}
}

// resumable reports whether the stream ended otherwise than by our own doing.
func (l *Link) resumable(p *exchange.Pending) bool {
	how, _ := p.Ended()
	return l.ctx.Err() == nil && (how == transcript.Complete || how == transcript.Broken)
}

// resume opens the stream anew behind its last event; it returns nil where the
// link ended before that.
func (l *Link) resume(p *exchange.Pending) *exchange.Pending {
	delay := p.Retry()
	if delay <= 0 {
		delay = resumeDelay
	}
	select {
	case <-time.After(min(delay, maxDelay)):
	case <-l.ended:
	case <-l.ctx.Done():
	}
	if !l.alive() {
		return nil // what listens there now is another server
	}
	r := l.request("GET", nil)
	r.Fields = append(r.Fields, transcript.Field{Name: lastEventID, Value: p.LastEventID()})
	return l.client.Begin(l.ctx, r)
}

// answered reports whether all requests have their answers.
func (l *Link) answered(asks []wire.ID, from int) bool {
	open := map[string]bool{}
	for _, id := range asks {
		open[id.Key()] = true
	}
	for _, e := range l.client.Record.From(from) {
		if e.Kind != transcript.Received {
			continue
		}
		for i := range e.Messages() {
			if m := &e.Frame.Messages[i]; m.Kind == wire.Response {
				delete(open, m.ID.Key())
			}
		}
	}
	return len(open) == 0
}

// listen opens the stream for what the server says unasked, once, where the
// server took notifications/initialized. It returns when the server has
// answered, so that nothing of what follows is missed.
func (l *Link) listen(p *exchange.Pending) {
	l.mu.Lock()
	first := !l.opened && !l.closing && p.Head() != nil && p.Head().Status()/100 == 2
	l.opened = l.opened || first
	l.mu.Unlock()
	if !first {
		return
	}
	stream := l.client.Begin(l.ctx, l.request("GET", nil))
	l.spawn(func() { l.keepListening(stream) })
	within(stream.Responded(), listenTime)
}

// keepListening takes the stream up again when it ends.
func (l *Link) keepListening(p *exchange.Pending) {
	for range maxResumes {
		<-p.Over()
		if head := p.Head(); head == nil || head.Status()/100 != 2 || head.MediaType() != transcript.EventStream || !l.resumable(p) {
			return
		}
		if p.LastEventID() != "" {
			if p = l.resume(p); p == nil {
				return
			}
			continue
		}
		within(l.ended, resumeDelay)
		if l.ctx.Err() != nil || !l.alive() {
			return
		}
		p = l.client.Begin(l.ctx, l.request("GET", nil))
	}
}
