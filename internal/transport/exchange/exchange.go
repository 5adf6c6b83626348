// Package exchange holds single HTTP/1.1 exchanges and records each of them:
// the heads line by line, bodies as they came, event streams piece by piece.
// It speaks HTTP itself, because what a client library makes of a response is
// not what the server sent. Each exchange has a connection of its own, so that
// one that the server closes between two requests is nobody's fault, unless
// Reach.Keep says otherwise.
package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Client holds exchanges with one server and records them.
type Client struct {
	Record *transcript.Transcript
	Reach  Reach

	idle    idle
	flooded sync.Once
	running sync.WaitGroup
}

// Open returns a client for the server at u and records that the connection
// stands. Nothing is sent yet.
func Open(u *url.URL, r Reach, rec *transcript.Transcript) (*Client, error) {
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s is no URL of a server: it must begin with http:// or https:// and a host", u.Redacted())
	}
	rec.Add(transcript.Event{Kind: transcript.Opened, Detail: u.Redacted()})
	return &Client{Record: rec, Reach: r}, nil
}

// ErrNoInput is what closing the input of a link over HTTP says.
var ErrNoInput = fmt.Errorf("over HTTP there is no input to close: %w", errors.ErrUnsupported)

// InChunks returns a request whose body is all chunks, a write each where there
// are several.
func InChunks(chunks ...[]byte) transport.Request {
	r := transport.Request{Body: slices.Concat(chunks...)}
	if len(chunks) < 2 {
		return r
	}
	end := 0
	for _, c := range chunks {
		end += len(c)
		r.Chunks = append(r.Chunks, end)
	}
	return r
}

// Request is one HTTP request.
type Request struct {
	transport.Request
	URL *url.URL
	// Frame is what the body says, where somebody has read it; else nil.
	Frame *wire.Frame
	// OnHead is called with the head of the response before anything of its
	// body is recorded; it may be nil.
	OnHead func(*transcript.Head)
}

// Pending is an exchange under way.
type Pending struct {
	written, responded, over chan struct{}
	stopped                  chan struct{} // closed when we end it

	mu     sync.Mutex
	cause  error  // why we end it, nil while we don't
	quit   func() // ends what is under way: the opening of the connection, or all on it
	number int
	head   *transcript.Head
	how    transcript.How
	detail string
	retry  string // of the event stream: the last value of its retry fields
	lastID string // of the event stream: the last event id
}

// Written is closed when the request was sent, or could not be.
func (p *Pending) Written() <-chan struct{} { return p.written }

// Responded is closed when the head of the response is there, or none will
// come.
func (p *Pending) Responded() <-chan struct{} { return p.responded }

// Over is closed when the exchange has ended.
func (p *Pending) Over() <-chan struct{} { return p.over }

// errDropped is the cause of an end that we want.
var errDropped = errors.New("dropped")

// Begin sends a request and returns at once. The context bounds the whole
// exchange: when it ends, the connection is closed.
func (c *Client) Begin(ctx context.Context, r Request) *Pending {
	p := &Pending{written: make(chan struct{}), responded: make(chan struct{}), over: make(chan struct{}), stopped: make(chan struct{})}
	c.running.Go(func() { c.hold(ctx, p, r) })
	return p
}

// Wait returns when no exchange is under way any more, and no connection is
// open.
func (c *Client) Wait() {
	c.running.Wait()
	c.idle.close()
}

// Drop closes the connection of the exchange.
func (p *Pending) Drop() { p.end(errDropped) }

// end ends what is under way, and all that comes after it.
func (p *Pending) end(cause error) {
	p.mu.Lock()
	if p.cause == nil {
		p.cause = cause
		close(p.stopped)
	}
	quit := p.quit
	p.mu.Unlock()
	if quit != nil {
		quit()
	}
}

// quits says how to end what is under way now, which is done at once where the
// end was asked for before.
func (p *Pending) quits(quit func()) {
	p.mu.Lock()
	p.quit = quit
	ended := p.cause != nil
	p.mu.Unlock()
	if ended {
		quit()
	}
}

// ending returns why we end the exchange, nil where we don't.
func (p *Pending) ending(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause == nil && ctx.Err() != nil {
		p.cause = context.Cause(ctx)
	}
	return p.cause
}

// Number returns the number of the exchange in the transcript; 0 before
// Written is closed.
func (p *Pending) Number() int { p.mu.Lock(); defer p.mu.Unlock(); return p.number }

// Head returns the head of the response; nil where there is none (yet).
func (p *Pending) Head() *transcript.Head { p.mu.Lock(); defer p.mu.Unlock(); return p.head }

// Ended returns how the exchange ended; "" while it is not over.
func (p *Pending) Ended() (how transcript.How, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.how, p.detail
}

// LastEventID returns the id of the last event of the stream that had one.
func (p *Pending) LastEventID() string { p.mu.Lock(); defer p.mu.Unlock(); return p.lastID }

// Retry returns how long the server asked to wait before the stream is taken
// up again; 0 where it did not say.
func (p *Pending) Retry() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	ms, err := strconv.Atoi(p.retry)
	if err != nil {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// ended is why an exchange is over.
type ended struct {
	how    transcript.How
	detail string
	stage  string // what was under way, where no response had come
}

// hold holds one exchange from the first byte to the last.
func (c *Client) hold(ctx context.Context, p *Pending, r Request) {
	stop := context.AfterFunc(ctx, func() { p.end(context.Cause(ctx)) })
	conn, err := c.connect(ctx, p, r)
	line, fields := c.Reach.head(r)
	raw := transcript.HeadBytes(line, fields)
	p.mu.Lock()
	p.number = c.Record.Add(transcript.Event{Kind: transcript.Requested, Raw: raw}).Exchange
	p.mu.Unlock()
	end := ended{how: transcript.Unreachable}
	if err == nil {
		p.quits(func() { _ = conn.Close() })
		end = c.converse(ctx, p, conn, raw, r)
		if r.Keep && conn.used && end.how == transcript.Broken && end.stage == beforeResponse && p.ending(ctx) == nil {
			// A server may close a connection between two requests at any time.
			if fresh, err := c.open(ctx, p, r.URL); err == nil {
				conn.discard()
				conn = fresh
				p.quits(func() { _ = conn.Close() })
				end = c.exchange(ctx, p, conn, raw, r)
			}
		}
		p.quits(func() {}) // whoever ends the exchange from now on must not close what goes to another one
		c.release(conn, p, r, end, p.ending(ctx) == nil)
	} else {
		end.detail, end.stage = explain(err), stageOf(err)
	}
	stop()
	if cause := p.ending(ctx); cause != nil && end.how != transcript.Complete && end.how != transcript.Unreadable {
		end = ended{how: transcript.Dropped, detail: dropped(cause, end.stage)}
	}
	c.Record.Add(transcript.Event{Kind: transcript.Over, Exchange: p.number, How: end.how, Detail: end.detail})
	p.mu.Lock()
	p.how, p.detail = end.how, end.detail
	p.mu.Unlock()
	p.wrote()
	p.answered(nil)
	close(p.over)
}

// dropped says why we closed a connection, unless that was what we wanted, and
// how far it had come, unless there was a response.
func dropped(cause error, stage string) string {
	if errors.Is(cause, errDropped) || errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		if stage == beforeResponse {
			return "the client closed the connection " + stage
		}
		return stage
	}
	if stage == "" {
		return cause.Error()
	}
	return cause.Error() + ", " + stage
}

func (p *Pending) wrote() { closeOnce(p.written) }

func (p *Pending) answered(head *transcript.Head) {
	if head != nil {
		p.mu.Lock()
		p.head = head
		p.mu.Unlock()
	}
	closeOnce(p.responded)
}

// closeOnce closes c; it is called from the goroutine of the exchange alone.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// converse writes the request and reads the response.
func (c *Client) converse(ctx context.Context, p *Pending, conn *connection, head []byte, r Request) ended {
	if r.Body != nil {
		c.Record.Add(transcript.Event{Kind: transcript.Sent, Exchange: p.number, Raw: r.Body, Frame: r.Frame})
	}
	return c.exchange(ctx, p, conn, head, r)
}

// exchange is converse without the record of what is sent.
func (c *Client) exchange(ctx context.Context, p *Pending, conn *connection, head []byte, r Request) ended {
	if whole := r.Chunks == nil && r.Pieces == nil; whole && len(head)+len(r.Body) <= shortRequest {
		conn.sent = write(ctx, conn, head, r) == nil // what could not be written shows in what comes back
		p.wrote()
		return c.response(p, r, conn.in)
	}
	return c.converseLong(ctx, p, conn, head, r)
}

// shortRequest is how long a request may be that is written at once, for there
// is room for it on the way to a server that does not read.
const shortRequest = 4 << 10

// converseLong is converse where the writing may take its time: a server may
// answer before it has read the body, so the answer is read in any case.
func (c *Client) converseLong(ctx context.Context, p *Pending, conn *connection, head []byte, r Request) ended {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p.quits(func() { stop(); _ = conn.Close() })
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		_ = write(ctx, conn, head, r)
	}()
	defer func() {
		_ = conn.Close()
		<-wrote
	}()
	first := make(chan struct{})
	go func() {
		defer close(first)
		_, _ = conn.in.Peek(1)
	}()
	select {
	case <-wrote:
		p.wrote()
		<-first
	case <-first:
		p.wrote()
	}
	return c.response(p, r, conn.in)
}

// write sends the head with the line ends of HTTP, and the body.
func write(ctx context.Context, conn net.Conn, head []byte, r Request) error {
	out := make([]byte, 0, len(head)+2*bytes.Count(head, []byte("\n"))+len("\r\n\r\n")+len(r.Body))
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		out = append(append(out, line...), "\r\n"...)
	}
	out = append(out, "\r\n"...)
	if r.Chunks == nil && r.Pieces == nil {
		_, err := conn.Write(append(out, r.Body...))
		return err
	}
	if _, err := conn.Write(out); err != nil {
		return err
	}
	if r.Chunks == nil {
		return parts(r.Pieces, r.Body, func(b []byte) error {
			pause(ctx, r.Pause)
			_, err := conn.Write(b)
			return err
		})
	}
	err := parts(r.Chunks, r.Body, func(b []byte) error {
		_, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(b), b)
		return err
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, "0\r\n\r\n")
	return err
}

// parts calls send with the parts of a body that end at the places given; what
// is left is the last part.
func parts(ends []int, body []byte, send func([]byte) error) error {
	from := 0
	for _, to := range append(slices.Clone(ends), len(body)) {
		if to <= from {
			continue
		}
		if err := send(body[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
