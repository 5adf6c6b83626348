// Package sse connects to a server over HTTP+SSE, the transport of 2024-11-05.
// A GET opens an event stream that carries all messages of the server; its
// first event names the endpoint to which the client posts its messages.
package sse

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
)

// A Dialer opens event streams of one server.
type Dialer struct {
	URL   *url.URL
	Reach exchange.Reach
}

// NewDialer returns a dialer for the SSE endpoint at u.
func NewDialer(u *url.URL, r exchange.Reach) *Dialer { return &Dialer{URL: u, Reach: r} }

// Transport implements transport.Dialer.
func (*Dialer) Transport() spec.Transport { return spec.SSE }

// Dial implements transport.Dialer. It opens the stream but does not wait for the endpoint event,
// for which the first Send waits.
func (d *Dialer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	client, err := exchange.Open(d.URL, d.Reach, rec)
	if err != nil {
		return nil, err
	}
	l := &Link{client: client, url: d.URL, ended: make(chan struct{}), named: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.stream = l.client.Begin(l.ctx, exchange.Request{URL: d.URL, Request: transport.Request{Method: "GET", Fields: l.Headers("GET", nil)}})
	l.work.Go(l.receiveEndpoint)
	l.work.Go(l.awaitEnd)
	return l, nil
}

// A Link is one event stream of a server, with the endpoint that the stream named.
type Link struct {
	client *exchange.Client
	url    *url.URL
	ctx    context.Context // cancelled with the link
	cancel context.CancelFunc
	stream *exchange.Pending

	ended   chan struct{}
	endOnce sync.Once
	once    sync.Once
	work    sync.WaitGroup

	named    chan struct{} // closed when the endpoint is known, or when there will be none
	endpoint *url.URL
	fault    error // why there is no endpoint, or nil
}

// receiveEndpoint waits for the endpoint event.
func (l *Link) receiveEndpoint() {
	defer close(l.named)
	for at := 0; ; {
		events, err := l.client.Record.Wait(l.ctx, at)
		if err != nil {
			l.fault = errClosed
			return
		}
		for _, e := range events {
			at = e.Seq + 1
			ev := e.StreamEvent()
			switch {
			case ev != nil && ev.Type == "endpoint":
				l.endpoint, l.fault = l.resolve(string(ev.Data))
				return
			case e.Kind == transcript.Over && e.Exchange == l.stream.Number():
				l.fault = fmt.Errorf("the stream %s before it named an endpoint", describeEnd(e))
				return
			}
		}
	}
}

func describeEnd(e *transcript.Event) string {
	if e.Detail == "" {
		return "ended"
	}
	return "ended (" + e.Detail + ")"
}

// resolve parses the data of the endpoint event. It rejects an endpoint whose origin differs from
// that of the stream, because the endpoint would receive the client's credentials.
func (l *Link) resolve(data string) (*url.URL, error) {
	u, err := l.url.Parse(strings.TrimSpace(data))
	if err != nil {
		return nil, fmt.Errorf("the endpoint event names no URL: %w", err)
	}
	if u.Scheme != l.url.Scheme || u.Host != l.url.Host {
		return nil, fmt.Errorf("the endpoint event names another origin, %s://%s, to which the client sends nothing", u.Scheme, u.Host)
	}
	return u, nil
}

// awaitEnd ends the link when its stream ends.
func (l *Link) awaitEnd() {
	<-l.stream.Over()
	_, detail := l.stream.HowEnded()
	if head := l.stream.Head(); detail == "" && head != nil && head.Status()/100 != 2 {
		detail = head.Line
	}
	l.NotifyExit(detail)
}

// NotifyExit implements transport.ExitNotifiable.
func (l *Link) NotifyExit(detail string) {
	l.endOnce.Do(func() {
		l.client.Record.Add(transcript.Event{Kind: transcript.OutputClosed, Detail: detail})
		close(l.ended)
	})
}

var errClosed = errors.New("the link is closed")

// Send posts each frame in a request of its own, and returns when the server
// has responded to all of them. The JSON-RPC responses arrive on the stream.
func (l *Link) Send(ctx context.Context, frames ...[]byte) error {
	posts := make([]*exchange.Pending, 0, len(frames))
	for _, frame := range frames {
		p, err := l.post(ctx, transport.Request{Body: frame})
		if err != nil {
			return err
		}
		posts = append(posts, p)
		if err := await(ctx, p, p.Written()); err != nil {
			return err
		}
	}
	for _, p := range posts {
		if err := awaitResponse(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// SendBytes posts the bytes as one body, as HTTP chunks if there are several.
func (l *Link) SendBytes(ctx context.Context, chunks ...[]byte) error {
	p, err := l.post(ctx, exchange.InChunks(chunks...))
	if err != nil {
		return err
	}
	return awaitResponse(ctx, p)
}

// Headers implements transport.Web.
func (*Link) Headers(method string, _ []byte) []transcript.Field {
	switch method {
	case "GET":
		return []transcript.Field{{Name: "Accept", Value: transcript.EventStream}, {Name: "Cache-Control", Value: "no-cache"}}
	case "POST":
		return []transcript.Field{{Name: "Content-Type", Value: "application/json"}}
	default:
		return nil
	}
}

// Begin implements transport.Web.
func (l *Link) Begin(r transport.Request, target string) (transport.Exchange, error) {
	base := l.url
	select {
	case <-l.named:
		if l.endpoint != nil {
			base = l.endpoint
		}
	default:
	}
	u, err := base.Parse(target)
	if err != nil {
		return nil, err
	}
	return l.client.Begin(l.ctx, exchange.Request{Request: r, URL: u}), nil
}

// Access implements transport.Web.
func (l *Link) Access() transport.Access { return l.client.Reach.Access(l.url) }

// AwaitEndpoint waits for the endpoint event, and returns the URL for messages.
func (l *Link) AwaitEndpoint(ctx context.Context) (*url.URL, error) {
	select {
	case <-l.named:
		return l.endpoint, l.fault
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *Link) post(ctx context.Context, r transport.Request) (*exchange.Pending, error) {
	endpoint, err := l.AwaitEndpoint(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-l.ended:
		return nil, errClosed
	default:
	}
	r.Method, r.Fields, r.Keep = "POST", l.Headers("POST", nil), true
	return l.client.Begin(l.ctx, exchange.Request{Request: r, URL: endpoint}), nil
}

// awaitResponse waits for the HTTP response to a POST. It returns an error if the server can't be
// reached, or if ctx ends first.
func awaitResponse(ctx context.Context, p *exchange.Pending) error {
	return await(ctx, p, p.Responded())
}

func await(ctx context.Context, p *exchange.Pending, done <-chan struct{}) error {
	select {
	case <-done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if how, detail := p.HowEnded(); how == transcript.Unreachable {
		return errors.New("the server can't be reached: " + detail)
	}
	return nil
}

// Ended implements transport.Link.
func (l *Link) Ended() <-chan struct{} { return l.ended }

// Signal implements transport.Link. It returns false, because there is no process to signal.
func (*Link) Signal(string) bool { return false }

// CloseInput implements transport.Link. It returns an error, because HTTP has no end of input.
func (*Link) CloseInput() error {
	return exchange.ErrNoInput
}

// Shutdown closes the stream, which ends the session.
func (l *Link) Shutdown(transport.Patience) {
	l.once.Do(func() {
		l.endOnce.Do(func() { close(l.ended) })
		l.cancel()
		l.work.Wait()
		l.client.Wait()
	})
}
