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
	// resumeDelay is the wait before a stream is resumed if the server sent no
	// retry time; maxDelay bounds the retry time that it sent.
	resumeDelay = time.Second
	maxDelay    = 10 * time.Second
	// listenTime bounds the wait for the response to the GET that follows initialized, because some
	// servers send the head of this response only with the first event.
	listenTime = 300 * time.Millisecond
)

var errClosed = errors.New("the link is closed, or the server is gone")

// A post is one frame that is being sent.
type post struct {
	first *exchange.Pending
	asks  []wire.ID     // ids of the requests in the frame
	taken chan struct{} // closed when the server has responded to the POST
}

// sent returns a channel that is closed when the next message may be sent.
func (p *post) sent() <-chan struct{} {
	if len(p.asks) > 0 {
		return p.first.Written()
	}
	return p.taken
}

// await waits until done is closed. It returns an error if the server can't be reached, or if ctx
// ends first.
func (p *post) await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if how, detail := p.first.HowEnded(); how == transcript.Unreachable {
		return errors.New("the server can't be reached: " + detail)
	}
	return nil
}

// post sends a frame, follows redirects, and resumes a stream that ended before
// the responses arrived.
func (l *Link) post(frame []byte) (*post, error) {
	if !l.isAlive() {
		return nil, errClosed
	}
	parsed := wire.Parse(frame)
	p := &post{taken: make(chan struct{})}
	var initialize, initialized bool
	for i := range parsed.Messages {
		m := &parsed.Messages[i]
		l.note(m)
		if m.Kind == wire.Request && m.ID.IsPresent() {
			p.asks = append(p.asks, m.ID)
		}
		initialize = initialize || m.Method == spec.MethodInitialize
		initialized = initialized || m.Method == spec.MethodInitialized
	}
	from, single := l.client.Record.Len(), singleMessage(parsed)
	begin := func() *exchange.Pending {
		r := l.request("POST", frame, single)
		r.Frame, parsed = parsed, nil // if the request is sent again, its body is parsed again
		if initialize {
			r.OnHead = l.storeSessionID
		}
		x := l.client.Begin(l.ctx, r)
		l.noteOpen(p.asks, x)
		return x
	}
	p.first = begin()
	started := l.spawn(func() {
		last := l.follow(p.first, begin)
		if initialized {
			l.listen(last)
		}
		close(p.taken)
		l.noteOver(p.asks, l.finish(last, p.asks, from))
	})
	if !started {
		p.first.Drop()
		return nil, errClosed
	}
	return p, nil
}

// noteOpen records that the exchange carries the requests with these ids or, if it resumes the
// stream of an earlier exchange, their responses.
func (l *Link) noteOpen(ids []wire.ID, p *exchange.Pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[string]*exchange.Pending{}
	}
	for _, id := range ids {
		l.open[id.Key()] = p
	}
}

// noteOver records that the exchange is over.
func (l *Link) noteOver(ids []wire.ID, p *exchange.Pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if l.open[id.Key()] == p {
			delete(l.open, id.Key())
		}
	}
}

// CloseResponse implements transport.Canceller.
func (l *Link) CloseResponse(id wire.ID, reason string) bool {
	l.mu.Lock()
	p := l.open[id.Key()]
	l.mu.Unlock()
	if p == nil {
		return false
	}
	p.Cancel(reason)
	return true
}

// follow waits for the response. For each redirect, at most maxRedirects times, it calls again() to
// send the request to the new URL. It returns the last exchange.
func (l *Link) follow(p *exchange.Pending, again func() *exchange.Pending) *exchange.Pending {
	for range maxRedirects {
		<-p.Responded()
		to := redirectTarget(l.URL(), p.Head())
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

// finish waits for the end of the exchange. If its stream ended before the requests in asks had
// responses, finish resumes the stream. It returns the last exchange. The argument from is the
// position in the record at which the POST began.
func (l *Link) finish(p *exchange.Pending, asks []wire.ID, from int) *exchange.Pending {
	<-p.Over()
	if how, detail := p.HowEnded(); how == transcript.Unreachable {
		l.recordLost(detail)
		return p
	}
	for range maxResumes {
		if p.LastEventID() == "" || !l.isResumable(p) || l.areAnswered(asks, from) {
			break
		}
		next := l.resume(p)
		if next == nil {
			break
		}
		p = next
		l.noteOpen(asks, p)
		<-p.Over()
	}
	return p
}

// isResumable reports whether the server or the network ended the stream, not the
// client.
func (l *Link) isResumable(p *exchange.Pending) bool {
	how, _ := p.HowEnded()
	return l.ctx.Err() == nil && (how == transcript.Complete || how == transcript.Broken)
}

// resume reopens the stream after its last event. It returns nil if the link ends first.
func (l *Link) resume(p *exchange.Pending) *exchange.Pending {
	delay := p.RetryDelay()
	if delay <= 0 {
		delay = resumeDelay
	}
	select {
	case <-time.After(min(delay, maxDelay)):
	case <-l.ended:
	case <-l.ctx.Done():
	}
	if !l.isAlive() {
		return nil // another server may be listening there now
	}
	r := l.request("GET", nil, nil)
	r.Fields = append(r.Fields, transcript.Field{Name: lastEventID, Value: p.LastEventID()})
	return l.client.Begin(l.ctx, r)
}

// areAnswered reports whether all requests have received a response. It ignores the events of the
// record before the position from.
func (l *Link) areAnswered(asks []wire.ID, from int) bool {
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

// listen opens the GET stream for messages that the server sends on its own,
// once, if the server accepted notifications/initialized. It waits up to
// listenTime for the server's response, so that no later message is missed.
func (l *Link) listen(p *exchange.Pending) {
	l.mu.Lock()
	first := !l.opened && !l.closing && p.Head() != nil && p.Head().Status()/100 == 2
	l.opened = l.opened || first
	l.mu.Unlock()
	if !first {
		return
	}
	stream := l.client.Begin(l.ctx, l.request("GET", nil, nil))
	l.spawn(func() { l.keepListening(stream) })
	l.awaitWithin(stream.Responded(), listenTime)
}

// keepListening reopens the stream when it ends, at most maxResumes times, until the server is
// gone or no longer responds with a stream.
func (l *Link) keepListening(p *exchange.Pending) {
	for range maxResumes {
		<-p.Over()
		if head := p.Head(); head == nil || head.Status()/100 != 2 || head.MediaType() != transcript.EventStream || !l.isResumable(p) {
			return
		}
		if p.LastEventID() != "" {
			if p = l.resume(p); p == nil {
				return
			}
			continue
		}
		awaitWithin(l.ended, resumeDelay)
		if l.ctx.Err() != nil || !l.isAlive() {
			return
		}
		p = l.client.Begin(l.ctx, l.request("GET", nil, nil))
	}
}
