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

// Web is a case's handle on HTTP exchanges of its own, beside those that carry
// the messages of a conversation.
type Web struct {
	C *client.Conversation
	t *T
	// misses counts the exchanges that took too long, so that a server that
	// leaves such requests open does not cost the whole time again and again.
	misses int
}

// Web returns the handle for conversation c. It ends the case where that is
// not held over HTTP.
func (t *T) Web(c *client.Conversation) *Web {
	if c.Web() == nil {
		t.Skip("the server is not reached over HTTP")
	}
	return &Web{C: c, t: t}
}

// OnlyOver returns what a case runs that is about one transport alone, though a
// requirement that it provokes holds over others, too.
func OnlyOver(transport spec.Transport, run func(ctx context.Context, t *T)) func(ctx context.Context, t *T) {
	return func(ctx context.Context, t *T) {
		if t.Transport != transport {
			t.Skip("the case is about " + string(transport))
		}
		run(ctx, t)
	}
}

// Header changes the headers that a request of the session has.
type Header func(fields []transcript.Field) []transcript.Field

// WithHeader replaces a header by one line for each value; without values it is left
// out.
func WithHeader(name string, values ...string) Header {
	return func(fields []transcript.Field) []transcript.Field {
		fields = slices.DeleteFunc(fields, func(f transcript.Field) bool { return strings.EqualFold(f.Name, name) })
		for _, v := range values {
			fields = append(fields, transcript.Field{Name: name, Value: v})
		}
		return fields
	}
}

// RenameHeaders rewrites the names of all headers.
func RenameHeaders(write func(name string) string) Header {
	return func(fields []transcript.Field) []transcript.Field {
		fields = slices.Clone(fields)
		for i := range fields {
			fields[i].Name = write(fields[i].Name)
		}
		return fields
	}
}

// WebRequest is a request with the headers of the session, but for changes.
type WebRequest struct {
	// Method is POST by default.
	Method string
	// Target is that of messages by default.
	Target string
	Body   []byte
	// Chunks are the places at which the body is cut into chunks, Pieces those
	// at which it is cut into pieces that come slowly.
	Chunks, Pieces []int
	// Keep: see transport.Request.
	Keep    bool
	Headers []Header
}

func (r *WebRequest) method() string {
	if r.Method == "" {
		return "POST"
	}
	return r.Method
}

// The bounds of a wait for an exchange: the second one holds for a server that
// let two of them pass.
const (
	exchangeTime = 3 * time.Second
	shortTime    = 500 * time.Millisecond
)

// pieceDelay is the pause before each piece of a slow body: long enough to show
// a server that mistakes the first piece for the whole body.
const pieceDelay = 60 * time.Millisecond

func (w *Web) limit() time.Duration {
	if w.misses >= 2 {
		return shortTime
	}
	return exchangeTime
}

// Begin sends a request and returns at once.
func (w *Web) Begin(r WebRequest) *Stream {
	fields := slices.Clone(w.C.Web().Headers(r.method()))
	for _, change := range r.Headers {
		fields = change(fields)
	}
	s := &Stream{w: w, from: w.C.Record.Len()}
	p, err := w.C.Web().Begin(transport.Request{
		Method: r.method(), Fields: fields, Body: r.Body, Chunks: r.Chunks, Pieces: r.Pieces, Pause: pieceDelay, Keep: r.Keep,
	}, r.Target)
	if err != nil {
		w.t.GiveUp("no request can be sent there: " + err.Error())
	}
	s.exchange = p
	return s
}

// RoundTrip sends a request and returns the exchange when it is over: when the
// answers to the requests in its body have come, or a GET has its head, or
// nothing came in time, the connection is closed.
func (w *Web) RoundTrip(ctx context.Context, r WebRequest) *transcript.Exchange {
	s := w.Begin(r)
	var asks []wire.ID
	for _, m := range wire.Parse(r.Body).Messages {
		if m.Kind == wire.Request {
			asks = append(asks, m.ID)
		}
	}
	x := s.Until(ctx, w.limit(), func(x *transcript.Exchange) bool {
		return x.Succeeded() && x.IsStream() && answersAll(x, asks)
	})
	switch {
	case x == nil || x.Response == nil:
		w.misses++
	case x.End == nil && len(asks) > 0:
		s.Until(ctx, w.C.Grace(), func(*transcript.Exchange) bool { return false })
	}
	s.Drop()
	if ctx.Err() != nil {
		w.t.GiveUp("the case ran out of time")
	}
	x = s.Exchange()
	// Over HTTP+SSE what is requested comes on another stream than the response.
	if r.method() != "GET" && (len(asks) == 0 || w.t.Transport == spec.SSE) {
		w.C.RecordUnresponded(ctx, x)
	}
	return x
}

// answersAll reports whether the exchange brought all responses.
func answersAll(x *transcript.Exchange, asks []wire.ID) bool {
	messages := x.Messages()
	return !slices.ContainsFunc(asks, func(id wire.ID) bool {
		return !slices.ContainsFunc(messages, func(m wire.Message) bool { return m.Kind == wire.Response && m.ID.Same(id) })
	})
}

// SendHarmless holds an exchange that carries a request which every server
// answers.
func (w *Web) SendHarmless(ctx context.Context, h ...Header) *transcript.Exchange {
	return w.RoundTrip(ctx, WebRequest{Body: w.C.Request(w.C.NewID(), w.C.HarmlessMethod(), nil), Headers: h})
}

// SendNotification holds an exchange that carries a notification which changes
// nothing.
func (w *Web) SendNotification(ctx context.Context, h ...Header) *transcript.Exchange {
	return w.RoundTrip(ctx, WebRequest{Headers: h, Body: wire.NewNotification("notifications/cancelled", map[string]any{
		"requestId": "mcp-conform/none", "reason": "there is no such request",
	})})
}

// Get holds an exchange that opens a stream, and closes it.
func (w *Web) Get(ctx context.Context, h ...Header) *transcript.Exchange {
	return w.RoundTrip(ctx, WebRequest{Method: "GET", Headers: h})
}

// First returns the first exchange of the conversation, nil before it.
func (w *Web) First() *transcript.Exchange {
	if all := transcript.ExchangesOf(w.C.Record.From(0)).All(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Host returns what the client names as the server's host, and its port.
func (w *Web) Host() string {
	if x := w.First(); x != nil {
		return x.RequestHead().Get("Host")
	}
	return ""
}

// IsServed reports whether the exchange brought a result, and none of its messages
// is an error.
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

// Stream is an exchange under way.
type Stream struct {
	w        *Web
	exchange transport.Exchange
	from     int
}

// Until waits until done is true for the exchange as far as it has come, for
// its end, or for the time to pass. It returns nil where nothing was sent.
func (s *Stream) Until(ctx context.Context, limit time.Duration, done func(x *transcript.Exchange) bool) *transcript.Exchange {
	ctx, cancel := context.WithTimeout(ctx, limit)
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

// Opened waits for the head of the response, and reports whether a stream opened.
func (s *Stream) Opened(ctx context.Context) bool {
	x := s.Until(ctx, s.w.limit(), func(x *transcript.Exchange) bool { return x.Response != nil })
	return x != nil && x.Succeeded() && x.IsStream()
}

// Exchange returns the exchange as far as it has got, nil where nothing was
// sent.
func (s *Stream) Exchange() *transcript.Exchange {
	return transcript.ExchangesOf(s.w.C.Record.From(s.from)).Of(&transcript.Event{Exchange: s.exchange.Number()})
}

// LastID returns the id of the last whole event on the stream that has one.
func (s *Stream) LastID() string {
	x, id := s.Exchange(), ""
	if x == nil {
		return ""
	}
	for _, e := range x.Body {
		if ev := e.StreamEvent(); ev != nil && ev.HasID && ev.Complete() {
			id = ev.ID
		}
	}
	return id
}

// Drop closes the connection, and returns when that is in the record.
func (s *Stream) Drop() {
	s.exchange.Drop()
	<-s.exchange.Over()
}

// PositionsOf returns the positions that show the exchange.
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
func DescribeExchange(x *transcript.Exchange) string {
	if x.Response == nil {
		return x.Method() + " got no response"
	}
	text := x.Method() + " answered with status " + strconv.Itoa(x.Status())
	if media := x.ResponseHead().MediaType(); media != "" {
		text += ", " + wire.Excerpt(media, 80)
	}
	for _, e := range x.Body {
		if len(e.Raw) > 0 {
			return text + ": " + wire.Excerpt(string(e.Raw), 200)
		}
	}
	return text
}

// SameHost returns the target that a reference names, seen from another target
// of the server; "" where it is none, or one on another host.
func (w *Web) SameHost(base, reference string) string {
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
