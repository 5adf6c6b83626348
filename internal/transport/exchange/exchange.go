// Package exchange performs single HTTP/1.1 exchanges and records them: heads line by line, bodies
// as they arrived, event streams chunk by chunk. It implements HTTP itself because a client library
// hides what the server sent. Requests with Keep reuse connections that earlier ones left open. A
// server may close such a connection at any time; the request is then sent again on a new one.
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

// Client performs exchanges with one server and records them.
type Client struct {
	Record *transcript.Transcript
	Reach  Reach

	idle    idleConnections
	sender  sender
	running sync.WaitGroup
}

// Open returns a client for the server at u and records an Opened event. It sends nothing.
func Open(u *url.URL, r Reach, rec *transcript.Transcript) (*Client, error) {
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("invalid server URL %s: it must begin with http:// or https:// and a host", u.Redacted())
	}
	rec.Add(transcript.Event{Kind: transcript.Opened, Detail: u.Redacted()})
	return &Client{Record: rec, Reach: r}, nil
}

// ErrNoInput is returned by CloseInput over HTTP.
var ErrNoInput = fmt.Errorf("over HTTP there is no input to close: %w", errors.ErrUnsupported)

// InChunks returns a request whose body is the concatenated chunks, sent as HTTP chunks if there
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
	// Frame is the parsed body, or nil if the caller has not parsed it.
	Frame *wire.Frame
	// OnHead is called with the head of the response before any of its body is recorded. It may be
	// nil.
	OnHead func(*transcript.Head)
}

// Pending is an exchange that has begun.
type Pending struct {
	written, responded, over chan struct{}
	stopped                  chan struct{} // closed when the client ends the exchange

	mu     sync.Mutex
	cause  error  // why the client ended the exchange; nil if it did not
	quit   func() // cancels dialing, or closes the connection
	number int
	head   *transcript.Head
	reason string // why the client cancelled the requests, or ""
	how    transcript.How
	detail string
	retry  string // the last value of a retry field in the event stream
	lastID string // the id of the last event with an id in the event stream

	// Only the goroutine of the exchange uses these.
	attempts int
	widened  int       // attempts with a token that has more scopes
	passed   time.Time // when the pacer released the last attempt
}

// Written is closed when the request has been sent, when sending it failed, or when the response
// began before that.
func (p *Pending) Written() <-chan struct{} { return p.written }

// Responded is closed when the head of the response has arrived, or when it is certain that no
// response will arrive.
func (p *Pending) Responded() <-chan struct{} { return p.responded }

// Over is closed when the exchange has ended.
func (p *Pending) Over() <-chan struct{} { return p.over }

// errDropped is the cause with which Drop ends an exchange.
var errDropped = errors.New("dropped")

// Begin starts an exchange and does not wait. When the context ends, the connection is closed.
func (c *Client) Begin(ctx context.Context, r Request) *Pending {
	p := &Pending{written: make(chan struct{}), responded: make(chan struct{}), over: make(chan struct{}), stopped: make(chan struct{})}
	c.running.Go(func() { c.run(ctx, p, r) })
	return p
}

// Wait waits until all exchanges have ended, and closes idle connections.
func (c *Client) Wait() {
	c.running.Wait()
	c.idle.close()
}

// Drop closes the connection of the exchange.
func (p *Pending) Drop() { p.end(errDropped) }

// Cancel closes the connection of the exchange in order to cancel its requests, and records the
// reason.
func (p *Pending) Cancel(reason string) {
	p.mu.Lock()
	p.reason = reason
	p.mu.Unlock()
	p.Drop()
}

// cancelReason returns the reason given to Cancel, or "".
func (p *Pending) cancelReason() string { p.mu.Lock(); defer p.mu.Unlock(); return p.reason }

// end ends the exchange: it cancels the current operation and all later ones. The first cause is
// kept.
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

// setQuit sets the function that cancels the current operation. It calls the function immediately
// if the exchange has already been ended.
func (p *Pending) setQuit(quit func()) {
	p.mu.Lock()
	p.quit = quit
	ended := p.cause != nil
	p.mu.Unlock()
	if ended {
		quit()
	}
}

// endCause returns why the client ends the exchange, or nil if the client does not end it.
func (p *Pending) endCause(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause == nil && ctx.Err() != nil {
		p.cause = context.Cause(ctx)
	}
	return p.cause
}

// Number returns the number of the exchange in the transcript. It is 0 until the exchange is
// recorded. That happens before Written is closed.
func (p *Pending) Number() int { p.mu.Lock(); defer p.mu.Unlock(); return p.number }

// Head returns the head of the response, or nil if there is none yet.
func (p *Pending) Head() *transcript.Head { p.mu.Lock(); defer p.mu.Unlock(); return p.head }

// HowEnded returns how the exchange ended, or "" if it has not.
func (p *Pending) HowEnded() (how transcript.How, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.how, p.detail
}

// LastEventID returns the id of the last complete event with an id in the stream, or "".
func (p *Pending) LastEventID() string { p.mu.Lock(); defer p.mu.Unlock(); return p.lastID }

// RetryDelay returns the reconnection time that the server requested, or 0 if it requested none or
// if the last retry field is not an integer.
func (p *Pending) RetryDelay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	ms, err := strconv.Atoi(p.retry)
	if err != nil {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// ending describes how an exchange ended.
type ending struct {
	how    transcript.How
	detail string
	stage  string // the stage that was reached, if no response came
	// obstacle is what prevented the response, or "".
	obstacle transcript.Obstacle
	reason   string // why the client cancelled the requests, or ""
	// refused describes the refusal of a request that is to be sent again. It is "" for all other
	// requests.
	refused string
}

// run performs one exchange from the first byte to the last. A request that the server refused is
// sent again if prepareRepeat permits it; of each refused attempt, the record keeps only remarks.
func (c *Client) run(ctx context.Context, p *Pending, r Request) {
	stop := context.AfterFunc(ctx, func() { p.end(context.Cause(ctx)) })
	end := c.attempt(ctx, p, r)
	for end.refused != "" && p.endCause(ctx) == nil {
		c.Record.Retract(p.Number(), r.Method+" "+r.URL.RequestURI()+" was refused with "+end.refused+", and is sent again")
		r.Frame = nil // Add parses the body again
		end = c.attempt(ctx, p, r)
	}
	stop()
	if cause := p.endCause(ctx); cause != nil && end.how != transcript.Complete && end.how != transcript.Unreadable {
		if end.stage == "" { // the response had begun, so the obstacle is not why the client gave up
			end.obstacle = ""
		}
		end = ending{how: transcript.Dropped, detail: describeDrop(cause, end.stage), obstacle: end.obstacle, reason: p.cancelReason()}
	}
	c.Record.Add(transcript.Event{Kind: transcript.Over, Exchange: p.number, How: end.how, Detail: end.detail, Obstacle: end.obstacle, Reason: end.reason})
	p.mu.Lock()
	p.how, p.detail = end.how, end.detail
	p.mu.Unlock()
	p.markWritten()
	p.markResponded(nil)
	close(p.over)
}

// attempt performs the exchange once, as soon as the pacer releases it. If a reused connection
// turns out to be closed, it sends the request again on a new one.
func (c *Client) attempt(ctx context.Context, p *Pending, r Request) ending {
	p.attempts++
	err := c.awaitPass(ctx, p)
	raw := transcript.HeadBytes(c.Reach.requestHead(r))
	var conn *connection
	if err == nil {
		conn, err = c.connect(ctx, p, r)
	}
	p.mu.Lock()
	p.number = c.Record.Add(transcript.Event{Kind: transcript.Requested, Raw: raw}).Exchange
	p.mu.Unlock()
	if err != nil {
		return ending{how: transcript.Unreachable, detail: explain(err), stage: stageOf(err), obstacle: obstacleOf(err)}
	}
	p.setQuit(func() { _ = conn.Close() })
	end := c.sendAndReceive(ctx, p, conn, raw, r)
	if conn.used && end.how == transcript.Broken && end.stage == beforeResponse && p.endCause(ctx) == nil {
		if fresh, err := c.open(ctx, p, r.URL); err == nil { // if this fails, the server has ended
			conn.discard()
			conn = fresh
			p.setQuit(func() { _ = conn.Close() })
			end = c.exchange(ctx, p, conn, raw, r)
		}
	}
	p.setQuit(func() {}) // ending this exchange later must not close a connection that another one reuses
	c.release(conn, p, r, end, p.endCause(ctx) == nil)
	return end
}

// describeDrop describes why the client closed the connection, and at which stage of the exchange.
// The description has no cause if the caller ended the exchange, and no stage if there was a
// response.
func describeDrop(cause error, stage string) string {
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

func (p *Pending) markWritten() { closeOnce(p.written) }

func (p *Pending) markResponded(head *transcript.Head) {
	if head != nil {
		p.mu.Lock()
		p.head = head
		p.mu.Unlock()
	}
	closeOnce(p.responded)
}

// closeOnce closes c unless it is already closed. Only the goroutine of the exchange may call it.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// sendAndReceive records and writes the request, and reads the response.
func (c *Client) sendAndReceive(ctx context.Context, p *Pending, conn *connection, head []byte, r Request) ending {
	if r.Body != nil {
		c.Record.Add(transcript.Event{Kind: transcript.Sent, Exchange: p.number, Raw: r.Body, Frame: r.Frame})
	}
	return c.exchange(ctx, p, conn, head, r)
}

// exchange writes the request and reads the response.
func (c *Client) exchange(ctx context.Context, p *Pending, conn *connection, head []byte, r Request) ending {
	if whole := r.Chunks == nil && r.Pieces == nil; whole && len(head)+len(r.Body) <= shortRequest {
		conn.sent = write(ctx, conn, head, r) == nil // a write error shows in the response
		p.markWritten()
		return c.readResponse(p, r, conn.in)
	}
	return c.exchangeLong(ctx, p, conn, head, r)
}

// shortRequest is the size up to which a request fits in the socket buffers, so that the write does
// not block.
const shortRequest = 4 << 10

// exchangeLong is like exchange, for requests whose write may block. A server may respond
// before it has read the body, so the response is read concurrently.
func (c *Client) exchangeLong(ctx context.Context, p *Pending, conn *connection, head []byte, r Request) ending {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p.setQuit(func() { stop(); _ = conn.Close() })
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
		p.markWritten()
		<-first
	case <-first:
		p.markWritten()
	}
	return c.readResponse(p, r, conn.in)
}

// write sends the head with CR LF line ends, and the body.
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
		return sendParts(r.Pieces, r.Body, func(b []byte) error {
			pause(ctx, r.Pause)
			_, err := conn.Write(b)
			return err
		})
	}
	err := sendParts(r.Chunks, r.Body, func(b []byte) error {
		_, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(b), b)
		return err
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, "0\r\n\r\n")
	return err
}

// sendParts splits the body at the offsets in ends, and calls send with each part.
func sendParts(ends []int, body []byte, send func([]byte) error) error {
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
