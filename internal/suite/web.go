package suite

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Web lets a case make HTTP exchanges in addition to those that carry the messages of a
// conversation.
type Web struct {
	C *client.Conversation
	t *T
	// misses counts the exchanges without a response, so that a server that leaves requests open
	// does not cost the whole timeout for each.
	misses int
}

// Web returns the handle for conversation c. It ends the case if the
// conversation is not over HTTP.
func (t *T) Web(c *client.Conversation) *Web {
	if c.Web() == nil {
		t.Skip("the server is not reached over HTTP")
	}
	return &Web{C: c, t: t}
}

// A Header changes the headers of a request.
type Header func(fields []transcript.Field) []transcript.Field

// WithHeader replaces a header with one line for each value; without values it
// removes the header.
func WithHeader(name string, values ...string) Header {
	return func(fields []transcript.Field) []transcript.Field {
		fields = slices.DeleteFunc(fields, func(f transcript.Field) bool { return strings.EqualFold(f.Name, name) })
		for _, v := range values {
			fields = append(fields, transcript.Field{Name: name, Value: v})
		}
		return fields
	}
}

// RenameHeaders replaces the name of each header with the result of write.
func RenameHeaders(write func(name string) string) Header {
	return func(fields []transcript.Field) []transcript.Field {
		fields = slices.Clone(fields)
		for i := range fields {
			fields[i].Name = write(fields[i].Name)
		}
		return fields
	}
}

// A WebRequest is an HTTP request with the headers of the session, as changed by Headers.
type WebRequest struct {
	// Method is POST by default.
	Method string
	// Target is the URL, which may be relative. By default, it is the URL to which messages are
	// posted.
	Target string
	Body   []byte
	// Chunks are the offsets at which the body is split into HTTP chunks. Pieces are the offsets at
	// which it is split into parts that are sent slowly.
	Chunks, Pieces []int
	// Keep is documented in transport.Request.
	Keep    bool
	Headers []Header
}

func (r *WebRequest) method() string {
	if r.Method == "" {
		return "POST"
	}
	return r.Method
}

// How long to wait for an exchange. shortTime applies once two exchanges got no response.
const (
	exchangeTime = 3 * time.Second
	shortTime    = 500 * time.Millisecond
)

// pieceDelay is the pause before each part of a slow body: long enough to expose a server that
// mistakes the first part for the whole body.
const pieceDelay = 60 * time.Millisecond

func (w *Web) limit() time.Duration {
	if w.misses >= 2 {
		return shortTime
	}
	return exchangeTime
}

// Begin sends a request and returns at once.
func (w *Web) Begin(r WebRequest) *Stream {
	fields := slices.Clone(w.C.Web().Headers(r.method(), r.Body))
	for _, change := range r.Headers {
		fields = change(fields)
	}
	s := &Stream{w: w, from: w.C.Record.Len()}
	p, err := w.C.Web().Begin(transport.Request{
		Method: r.method(), Fields: fields, Body: r.Body, Chunks: r.Chunks, Pieces: r.Pieces, Pause: pieceDelay, Keep: r.Keep,
	}, r.Target)
	if err != nil {
		w.t.GiveUp("mcp-conform can't send the request: " + err.Error())
	}
	s.exchange = p
	return s
}

// RoundTrip sends a request, waits until the exchange has ended, and returns it, or nil if nothing
// was sent. It closes an event stream once all requests in the body have responses and a further
// Conversation.Grace has passed, or at once if the body has no request. It closes any other
// response when the time limit is over. If no response has come by then, it first waits until the
// server has responded to a later request, and then for Conversation.Grace. It ends the case if ctx
// ends.
func (w *Web) RoundTrip(ctx context.Context, r WebRequest) *transcript.Exchange {
	return w.finish(ctx, w.Begin(r), r)
}

// RoundTrips is like RoundTrip for several requests, which it sends at the same time.
func (w *Web) RoundTrips(ctx context.Context, all []WebRequest) {
	streams := make([]*Stream, len(all))
	for i, r := range all {
		streams[i] = w.Begin(r)
	}
	for i, s := range streams {
		w.finish(ctx, s, all[i])
	}
}

// finish waits until the exchange of the request has ended, as RoundTrip describes.
func (w *Web) finish(ctx context.Context, s *Stream, r WebRequest) *transcript.Exchange {
	var ids []wire.ID
	for _, m := range wire.Parse(r.Body).Messages {
		if m.Kind == wire.Request {
			ids = append(ids, m.ID)
		}
	}
	x := s.waitUntilFence(ctx, func(x *transcript.Exchange) bool {
		return x.Succeeded() && x.IsStream() && hasAllResponses(x, ids)
	})
	switch {
	case x == nil || x.Response == nil:
		w.misses++
	case x.End == nil && len(ids) > 0:
		s.WaitUntil(ctx, w.C.Grace(), func(*transcript.Exchange) bool { return false })
	}
	s.Drop()
	if ctx.Err() != nil {
		w.t.GiveUp("the case ran out of time")
	}
	x = s.Exchange()
	// Over HTTP+SSE, JSON-RPC responses come on the stream of the GET, not in the response to the
	// POST.
	if r.method() != "GET" && (len(ids) == 0 || w.t.Transport == spec.SSE) {
		w.C.RecordUnresponded(ctx, x)
	}
	return x
}

// hasAllResponses reports whether the exchange has the responses to all requests.
func hasAllResponses(x *transcript.Exchange, ids []wire.ID) bool {
	return !slices.ContainsFunc(ids, func(id wire.ID) bool { return x.ResponseTo(id) == nil })
}

// HarmlessRequest returns a request that every server serves.
func (w *Web) HarmlessRequest(h ...Header) WebRequest {
	return WebRequest{Body: w.C.Request(w.C.NewID(), w.C.HarmlessMethod(), nil), Headers: h}
}

// SendHarmless sends a request that every server serves, and returns the
// exchange.
func (w *Web) SendHarmless(ctx context.Context, h ...Header) *transcript.Exchange {
	return w.RoundTrip(ctx, w.HarmlessRequest(h...))
}

// SendNotification sends a notification that changes nothing, and returns the
// exchange.
func (w *Web) SendNotification(ctx context.Context, h ...Header) *transcript.Exchange {
	return w.RoundTrip(ctx, WebRequest{Headers: h, Body: HarmlessNotification()})
}

// HarmlessNotification returns a notification that changes nothing.
func HarmlessNotification() []byte {
	return wire.NewNotification(spec.MethodCancelled, map[string]any{"requestId": "mcp-conform/none", "reason": "there is no such request"})
}

// Get opens a stream, closes it, and returns the exchange.
func (w *Web) Get(ctx context.Context, h ...Header) *transcript.Exchange {
	return w.RoundTrip(ctx, WebRequest{Method: "GET", Headers: h})
}

// FirstExchange returns the first exchange of the conversation, or nil if there is
// none.
func (w *Web) FirstExchange() *transcript.Exchange {
	if all := transcript.ExchangesOf(w.C.Record.From(0)).All(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Host returns the server's host, with its port, as the client names it.
func (w *Web) Host() string {
	if x := w.FirstExchange(); x != nil {
		return x.RequestHead().Get("Host")
	}
	return ""
}

// IsServed reports whether the exchange succeeded, and had a result and no error.
func IsServed(x *transcript.Exchange) bool {
	if x == nil || !x.Succeeded() {
		return false
	}
	served := false
	for _, m := range x.Messages() {
		if m.IsError() {
			return false
		}
		served = served || m.Has("result")
	}
	return served
}

// A Stream is an exchange that has begun.
type Stream struct {
	w        *Web
	exchange transport.Exchange
	from     int
}

// WaitUntil waits until done returns true for the exchange so far, the exchange ends, or the time
// limit is over. It returns the exchange so far, or nil if nothing was sent.
func (s *Stream) WaitUntil(ctx context.Context, limit time.Duration, done func(x *transcript.Exchange) bool) *transcript.Exchange {
	ctx, cancel := s.w.C.Record.WithTimeout(ctx, limit, context.DeadlineExceeded)
	defer cancel()
	defer s.w.C.BeginWait()()
	select {
	case <-s.exchange.Written():
	case <-ctx.Done():
		return nil
	}
	for at := s.from; ; {
		events, err := s.w.C.Record.Wait(ctx, at)
		x := s.Exchange()
		if err != nil || x != nil && (x.End != nil || done(x)) {
			return x
		}
		at = events[len(events)-1].Seq + 1
	}
}

// waitUntilFence is like WaitUntil with the limit w.limit(). If no response has come by then, the
// server may only be slow. In that case waitUntilFence waits until the server has responded to a
// later request, and then for Conversation.Grace.
func (s *Stream) waitUntilFence(ctx context.Context, done func(x *transcript.Exchange) bool) *transcript.Exchange {
	x := s.WaitUntil(ctx, s.w.limit(), done)
	if ctx.Err() != nil || x != nil && x.Response != nil || s.w.C.Fence(ctx) != nil {
		return x
	}
	return s.WaitUntil(ctx, s.w.C.Grace(), done)
}

// AwaitOpened waits for the head of the response, and reports whether a stream opened.
func (s *Stream) AwaitOpened(ctx context.Context) bool {
	x := s.waitUntilFence(ctx, func(x *transcript.Exchange) bool { return x.Response != nil })
	return x != nil && x.Succeeded() && x.IsStream()
}

// Exchange returns the exchange so far, or nil if nothing was sent.
func (s *Stream) Exchange() *transcript.Exchange {
	return transcript.ExchangesOf(s.w.C.Record.From(s.from)).Of(&transcript.Event{Exchange: s.exchange.Number()})
}

// LastID returns the id of the last complete event with an id on the stream, or "" if there is
// none.
func (s *Stream) LastID() string {
	x, id := s.Exchange(), ""
	if x == nil {
		return ""
	}
	for _, e := range x.Body {
		if ev := e.StreamEvent(); ev != nil && ev.HasID && ev.IsComplete() {
			id = ev.ID
		}
	}
	return id
}

// Drop closes the connection, and returns once the record has the end of the exchange.
func (s *Stream) Drop() {
	s.exchange.Drop()
	<-s.exchange.Over()
}

// PositionsOf returns the positions of the request and of the head of the response, as evidence.
func PositionsOf(x *transcript.Exchange) []int {
	var at []int
	for _, e := range []*transcript.Event{x.Request, x.Sent, x.Response} {
		if e != nil {
			at = append(at, e.Seq)
		}
	}
	slices.Sort(at)
	return at
}

// DescribeExchange describes the response in a few words.
func DescribeExchange(x *transcript.Exchange) string { return describeExchange(x.Method(), x) }

// DescribeExchangeWith is like DescribeExchange, and names a header or another detail of the
// request.
func DescribeExchangeWith(detail string, x *transcript.Exchange) string {
	return describeExchange(x.Method()+" with "+detail, x)
}

func describeExchange(request string, x *transcript.Exchange) string {
	if x.Response == nil {
		return request + " got no response"
	}
	text := request + " answered with status " + strconv.Itoa(x.Status())
	if media := x.ResponseHead().MediaType(); media != "" {
		text += " and " + wire.Excerpt(media, 80)
	}
	for _, e := range x.Body {
		if len(e.Raw) > 0 {
			return text + ": " + wire.Excerpt(string(e.Raw), 200)
		}
	}
	return text
}

// ResolveOnHost resolves a URL reference and returns the path and query of the result. base is an
// absolute URL on the server, or only its path. ResolveOnHost returns "" if the reference is
// invalid or leads to another host.
func (w *Web) ResolveOnHost(base, reference string) string {
	from, err := url.Parse(base)
	if err != nil || reference == "" {
		return ""
	}
	u, err := from.Parse(strings.TrimSpace(reference))
	if err != nil || u.Host != "" && !strings.EqualFold(u.Host, w.Host()) {
		return ""
	}
	return u.RequestURI()
}
