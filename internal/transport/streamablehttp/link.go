package streamablehttp

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Link is one session with a server or, if the server has no sessions, one
// client's exchanges with it.
type Link struct {
	client *exchange.Client
	ctx    context.Context // cancelled with the link
	cancel context.CancelFunc

	ended   chan struct{}
	endOnce sync.Once
	down    sync.Once
	work    sync.WaitGroup

	mu      sync.Mutex
	url     *url.URL
	session string
	version string // the negotiated version, once it is known
	// isStateless is set if the first message carries its own protocol version.
	isStateless  bool
	initializeID wire.ID // the id of the initialize request
	initializeAt int     // position in the record at which initialize was sent
	opened       bool    // the GET stream was opened
	closing      bool    // Shutdown was called
	// open are the exchanges that carry the requests in flight, by id.
	open map[string]*exchange.Pending
	// tools are those in the tools/list results before position listedUpTo of the record.
	tools      headers.Tools
	listedUpTo int
}

// accepts is the Accept header that the specification requires for POST.
const accepts = "application/json, text/event-stream"

// Session returns the session id, or "".
func (l *Link) Session() string { l.mu.Lock(); defer l.mu.Unlock(); return l.session }

// URL returns the MCP endpoint after redirects.
func (l *Link) URL() *url.URL { l.mu.Lock(); defer l.mu.Unlock(); return l.url }

// Begin implements transport.Web.
func (l *Link) Begin(r transport.Request, target string) (transport.Exchange, error) {
	u, err := l.URL().Parse(target)
	if err != nil {
		return nil, err
	}
	return l.client.Begin(l.ctx, exchange.Request{Request: r, URL: u}), nil
}

// Access implements transport.Web.
func (l *Link) Access() transport.Access { return l.client.Reach.Access(l.URL()) }

// Send posts each frame in a request of its own, in order. It returns once all JSON-RPC requests
// are written and the server has responded to the POSTs of notifications and responses, so that
// later messages cannot overtake them.
func (l *Link) Send(ctx context.Context, frames ...[]byte) error {
	posts := make([]*post, 0, len(frames))
	for _, frame := range frames {
		p, err := l.post(frame)
		if err != nil {
			return err
		}
		posts = append(posts, p)
		if err := p.await(ctx, p.first.Written()); err != nil {
			return err
		}
	}
	for _, p := range posts {
		if err := p.await(ctx, p.sent()); err != nil {
			return err
		}
	}
	return nil
}

// SendBytes posts the bytes as one body, as HTTP chunks if there are several.
func (l *Link) SendBytes(ctx context.Context, chunks ...[]byte) error {
	body := exchange.InChunks(chunks...)
	r := l.request("POST", body.Body, singleMessage(wire.Parse(body.Body)))
	r.Chunks = body.Chunks
	p := l.client.Begin(l.ctx, r)
	return (&post{first: p}).await(ctx, p.Responded())
}

// request returns a request with the headers of the session and those that mirror m, the message in
// its body. m is nil if the body has no message or several. The request reuses an open connection
// if there is one, and leaves its connection open.
func (l *Link) request(method string, body []byte, m *wire.Message) exchange.Request {
	return exchange.Request{URL: l.URL(), Request: transport.Request{Method: method, Fields: l.fields(method, m), Body: body, Keep: true}}
}

// Headers implements transport.Web.
func (l *Link) Headers(method string, body []byte) []transcript.Field {
	return l.fields(method, singleMessage(wire.Parse(body)))
}

func (l *Link) fields(method string, m *wire.Message) []transcript.Field {
	l.mu.Lock()
	defer l.mu.Unlock()
	var fields []transcript.Field
	add := func(name, value string) { fields = append(fields, transcript.Field{Name: name, Value: value}) }
	switch method {
	case "POST":
		add("Content-Type", "application/json")
		add("Accept", accepts)
	case "GET":
		add("Accept", transcript.EventStream)
	}
	if l.session != "" {
		add(sessionHeader, l.session)
	}
	switch v := l.negotiatedVersion(); {
	case m != nil && (isStateless(m) || l.isStateless):
		fields = append(fields, l.metadataFields(m, v)...)
	case spec.Revision(v).HasVersionHeader():
		add(headers.Version, v)
	}
	return fields
}

// singleMessage returns the message in a frame, or nil if the frame has none or several.
func singleMessage(f *wire.Frame) *wire.Message {
	if f.Batch || len(f.Messages) != 1 {
		return nil
	}
	return &f.Messages[0]
}

// negotiatedVersion returns the version in the response to initialize or, in the stateless era, the
// version in the first message. It returns "" until one of them is known. The caller holds mu.
func (l *Link) negotiatedVersion() string {
	if l.version != "" || !l.initializeID.IsPresent() {
		return l.version
	}
	for _, e := range l.client.Record.From(l.initializeAt) {
		if e.Kind != transcript.Received {
			continue
		}
		for i := range e.Messages() {
			if m := &e.Frame.Messages[i]; m.IsResponseTo(l.initializeID) {
				l.version, _ = wire.Text(wire.At(m.Result(), "/protocolVersion"))
			}
		}
	}
	return l.version
}

// note stores the parts of a message that later requests need.
func (l *Link) note(m *wire.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Method == spec.MethodInitialize && m.Kind == wire.Request && l.session == "" {
		l.initializeID, l.initializeAt, l.version = m.ID, l.client.Record.Len(), ""
	}
	if !l.initializeID.IsPresent() && !l.isStateless && isStateless(m) {
		l.isStateless = true
		l.version, _ = wire.Text(wire.At(m.Params(), spec.MetaPointer(spec.MetaVersion)))
	}
}

// storeSessionID stores the session id from the head of the response to initialize.
func (l *Link) storeSessionID(head *transcript.Head) {
	if id := head.Get(sessionHeader); id != "" && head.Status()/100 == 2 {
		l.mu.Lock()
		l.session = id
		l.mu.Unlock()
	}
}

// Ended implements transport.Link. The channel is closed when the server is no longer reachable or
// the link is shut down.
func (l *Link) Ended() <-chan struct{} { return l.ended }

// recordLost records that nothing more can arrive from the server.
func (l *Link) recordLost(detail string) {
	l.endOnce.Do(func() {
		l.client.Record.Add(transcript.Event{Kind: transcript.OutputClosed, Detail: detail})
		close(l.ended)
	})
}

// NotifyExit implements transport.ExitNotifiable.
func (l *Link) NotifyExit(detail string) { l.recordLost(detail) }

// Signal implements transport.Link. It returns false, because there is no process to signal.
func (*Link) Signal(string) bool { return false }

// CloseInput implements transport.Link. It returns an error, because HTTP has no end of input.
func (*Link) CloseInput() error {
	return exchange.ErrNoInput
}

// Shutdown ends the session, if any, with DELETE, and closes all streams.
func (l *Link) Shutdown(patience transport.Patience) {
	l.down.Do(func() {
		l.mu.Lock()
		l.closing = true
		session := l.session
		l.mu.Unlock()
		if session != "" && l.isAlive() {
			held := l.client.Record.HeldTime()
			p := l.client.Begin(l.ctx, l.request("DELETE", nil, nil))
			if !awaitWithin(p.Over(), patience.AfterClose) && patience.AfterClose >= fullPatience && l.client.Record.HeldTime() == held {
				l.recordGaveUp(p)
			}
		}
		l.endOnce.Do(func() { close(l.ended) })
		l.cancel()
		l.work.Wait()
		l.client.Wait()
	})
}

// recordGaveUp records that the server did not respond to the exchange in time.
func (l *Link) recordGaveUp(p *exchange.Pending) {
	x := transcript.ExchangesOf(l.client.Record.From(0)).Of(&transcript.Event{Exchange: p.Number()})
	if x != nil && x.Request != nil && x.Response == nil {
		l.client.Record.Add(transcript.Event{Kind: transcript.GaveUp, Of: x.Request.Seq})
	}
}

// spawn runs f in a goroutine that Shutdown waits for. It returns false during a shutdown.
func (l *Link) spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return false
	}
	l.work.Go(f)
	return true
}

func (l *Link) isAlive() bool {
	select {
	case <-l.ended:
		return false
	default:
		return true
	}
}

// fullPatience is the shortest timeout after which a DELETE without a response is recorded; shorter
// timeouts prove nothing.
const fullPatience = time.Second

// awaitWithin reports whether c was closed within d.
func awaitWithin(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// awaitWithin is like the function awaitWithin, but does not count the time during which the pacer
// delays requests of the link.
func (l *Link) awaitWithin(c <-chan struct{}, d time.Duration) bool {
	timeout, cancel := l.client.Record.WithTimeout(l.ctx, d, context.DeadlineExceeded)
	defer cancel()
	select {
	case <-c:
		return true
	case <-timeout.Done():
		return false
	}
}

// redirectTarget returns the target of a redirect from u, or nil if the client must not follow it.
// The client follows only redirects that keep method, body and host, and that keep the scheme or
// change it to https.
func redirectTarget(u *url.URL, head *transcript.Head) *url.URL {
	if head == nil || head.Status() != 307 && head.Status() != 308 {
		return nil
	}
	to, err := u.Parse(strings.TrimSpace(head.Get("Location")))
	if err != nil || to.Host != u.Host || to.Scheme != u.Scheme && to.Scheme != "https" || to.String() == u.String() {
		return nil
	}
	return to
}
