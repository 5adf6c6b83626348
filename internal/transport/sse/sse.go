// Package sse reaches a server over HTTP+SSE, the transport of 2024-11-05: a
// GET opens an event stream that carries all that the server says; its first
// event names the endpoint to which the client posts its messages.
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

// Dialer opens streams of one server.
type Dialer struct {
	URL   *url.URL
	Reach exchange.Reach
}

// NewDialer returns a dialer for the SSE endpoint at u.
func NewDialer(u *url.URL, r exchange.Reach) *Dialer { return &Dialer{URL: u, Reach: r} }

// Transport implements transport.Dialer.
func (*Dialer) Transport() spec.Transport { return spec.SSE }

// Dial implements transport.Dialer. It opens the stream, and does not wait for
// what comes on it: that shows when the first message is sent.
func (d *Dialer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	client, err := exchange.Open(d.URL, d.Reach, rec)
	if err != nil {
		return nil, err
	}
	l := &Link{client: client, url: d.URL, ended: make(chan struct{}), named: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.stream = l.client.Begin(l.ctx, exchange.Request{URL: d.URL, Request: transport.Request{Method: "GET", Fields: l.Headers("GET")}})
	l.work.Go(l.watch)
	l.work.Go(l.awaitEnd)
	return l, nil
}

// Link is one stream of a server, with the endpoint that belongs to it.
type Link struct {
	client *exchange.Client
	url    *url.URL
	ctx    context.Context // ends with the link
	cancel context.CancelFunc
	stream *exchange.Pending

	ended   chan struct{}
	endOnce sync.Once
	once    sync.Once
	work    sync.WaitGroup

	named    chan struct{} // closed when the endpoint is known, or never will be
	endpoint *url.URL
	fault    error // why there is no endpoint
}

// watch waits for the endpoint event.
func (l *Link) watch() {
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
			case e.Kind == transcript.Over && e.Exchange == 1:
				l.fault = fmt.Errorf("the stream %s before it named an endpoint", ending(e))
				return
			}
		}
	}
}

func ending(e *transcript.Event) string {
	if e.Detail == "" {
		return "ended"
	}
	return "ended (" + e.Detail + ")"
}

// resolve reads the data of the endpoint event. Another origin than that of
// the stream would get the client's credentials, so it is not taken.
func (l *Link) resolve(data string) (*url.URL, error) {
	u, err := l.url.Parse(strings.TrimSpace(data))
	if err != nil {
		return nil, fmt.Errorf("the endpoint event names no URL: %w", err)
	}
	if u.Scheme != l.url.Scheme || u.Host != l.url.Host {
		return nil, fmt.Errorf("the endpoint event names another origin, %s://%s, to which nothing is sent", u.Scheme, u.Host)
	}
	return u, nil
}

// awaitEnd ends the link with its stream.
func (l *Link) awaitEnd() {
	<-l.stream.Over()
	_, detail := l.stream.Ended()
	if head := l.stream.Head(); detail == "" && head != nil && head.Status()/100 != 2 {
		detail = head.Line
	}
	l.ServerEnded(detail)
}

// ServerEnded implements transport.Mortal.
func (l *Link) ServerEnded(detail string) {
	l.endOnce.Do(func() {
		l.client.Record.Add(transcript.Event{Kind: transcript.OutputClosed, Detail: detail})
		close(l.ended)
	})
}

var errClosed = errors.New("the link is closed")

// Send posts each frame by itself, and returns when the server has taken all
// of them: their answers come on the stream.
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
		if err := taken(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// SendBytes posts the bytes as one body, in chunks where there are several.
func (l *Link) SendBytes(ctx context.Context, chunks ...[]byte) error {
	p, err := l.post(ctx, exchange.InChunks(chunks...))
	if err != nil {
		return err
	}
	return taken(ctx, p)
}

// Headers implements transport.Web.
func (*Link) Headers(method string) []transcript.Field {
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

// Endpoint returns where messages are posted to, once the server has said so.
func (l *Link) Endpoint(ctx context.Context) (*url.URL, error) {
	select {
	case <-l.named:
		return l.endpoint, l.fault
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *Link) post(ctx context.Context, r transport.Request) (*exchange.Pending, error) {
	endpoint, err := l.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-l.ended:
		return nil, errClosed
	default:
	}
	r.Method, r.Fields = "POST", l.Headers("POST")
	return l.client.Begin(l.ctx, exchange.Request{Request: r, URL: endpoint}), nil
}

// taken waits for the response to a POST, and says why nothing was sent.
func taken(ctx context.Context, p *exchange.Pending) error { return await(ctx, p, p.Responded()) }

func await(ctx context.Context, p *exchange.Pending, done <-chan struct{}) error {
	select {
	case <-done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if how, detail := p.Ended(); how == transcript.Unreachable {
		return errors.New("the server can't be reached: " + detail)
	}
	return nil
}

// Ended implements transport.Link.
func (l *Link) Ended() <-chan struct{} { return l.ended }

// Signal implements transport.Link: there is no process.
func (*Link) Signal(string) bool { return false }

// CloseInput implements transport.Link: HTTP knows no end of input.
func (*Link) CloseInput() error {
	return exchange.ErrNoInput
}

// Shutdown closes the stream, which is the end of the session.
func (l *Link) Shutdown(transport.Patience) {
	l.once.Do(func() {
		l.endOnce.Do(func() { close(l.ended) })
		l.cancel()
		l.work.Wait()
		l.client.Wait()
	})
}
