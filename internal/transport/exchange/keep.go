package exchange

import (
	"bufio"
	"context"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// connection is a connection to a server and its read buffer.
type connection struct {
	net.Conn
	in *bufio.Reader
	to string
	// sent is set once the whole request was written, see isReusable.
	sent bool
	used bool // the connection was used for an earlier exchange

	idleSince time.Time
}

// readers pools the read buffers of closed connections.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readSize) }}

func newConnection(conn net.Conn, to string) *connection {
	in, _ := readers.Get().(*bufio.Reader)
	in.Reset(&stickyReader{r: conn})
	return &connection{Conn: conn, in: in, to: to}
}

// discard closes the connection and reuses its buffer. The connection must not be read afterwards.
func (c *connection) discard() {
	_ = c.Close()
	c.in.Reset(nil)
	readers.Put(c.in)
	c.in = nil
}

// isUsable reports whether the idle connection can be used again: it has been idle for at most
// longestIdle, is open, and the server has sent nothing on it since.
func (c *connection) isUsable() bool {
	return time.Since(c.idleSince) <= longestIdle && isQuiet(c.Conn)
}

// maxIdle is the maximum number of idle connections of a client. longestIdle is how long a
// connection may be idle and still be used again. It is shorter than the time for which most
// servers keep an idle connection open, so that requests seldom fail because the server closes the
// connection at the same moment.
const (
	maxIdle     = 4
	longestIdle = time.Second
)

// idleConnections holds the idle connections.
type idleConnections struct {
	mu     sync.Mutex
	conns  []*connection
	closed bool
}

// take removes and returns a usable connection to an address, or nil.
func (i *idleConnections) take(to string) *connection {
	for c := i.remove(to); c != nil; c = i.remove(to) {
		if c.isUsable() {
			c.sent, c.used = false, true
			return c
		}
		c.discard()
	}
	return nil
}

// remove removes and returns the most recently used connection to an address, or nil.
func (i *idleConnections) remove(to string) *connection {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := len(i.conns) - 1; n >= 0; n-- {
		if c := i.conns[n]; c.to == to {
			i.conns = append(i.conns[:n], i.conns[n+1:]...)
			return c
		}
	}
	return nil
}

// put adds an idle connection. It returns false if there is no room for it, or if close was called.
func (i *idleConnections) put(c *connection) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || len(i.conns) == maxIdle {
		return false
	}
	c.idleSince = time.Now()
	i.conns = append(i.conns, c)
	return true
}

// close closes all idle connections and rejects later ones.
func (i *idleConnections) close() {
	i.mu.Lock()
	conns := i.conns
	i.conns, i.closed = nil, true
	i.mu.Unlock()
	for _, c := range conns {
		c.discard()
	}
}

// connect returns a connection for one exchange.
func (c *Client) connect(ctx context.Context, p *Pending, r Request) (*connection, error) {
	if r.Keep {
		if conn := c.idle.take(origin(r.URL)); conn != nil {
			return conn, nil
		}
	}
	return c.open(ctx, p, r.URL)
}

// awaitPass waits until the pacer releases the request.
func (c *Client) awaitPass(ctx context.Context, p *Pending) (err error) {
	if c.Reach.Pacer == nil {
		return nil
	}
	ctx, quit := context.WithCancelCause(ctx)
	defer quit(nil)
	p.setQuit(func() { quit(errDropped) })
	p.passed, err = c.Reach.Pacer.waitTurn(ctx, &c.Record.Clock, &c.sender, p.attempts > 1)
	return withStage(ctx, "", "while the server's rate limit delayed it", err)
}

// origin returns the scheme and host of a URL.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// open returns a fresh connection.
func (c *Client) open(ctx context.Context, p *Pending, u *url.URL) (*connection, error) {
	ctx, quit := context.WithCancelCause(ctx)
	defer quit(nil)
	p.setQuit(func() { quit(errDropped) })
	conn, err := c.Reach.dial(ctx, u)
	if err != nil {
		return nil, err
	}
	return newConnection(conn, origin(u)), nil
}

// release puts the connection into the idle pool after its exchange, or closes it if no other
// exchange can use it. undisturbed reports whether the exchange took place without the client
// ending it early.
func (c *Client) release(conn *connection, p *Pending, r Request, end ending, undisturbed bool) {
	keep := r.Keep && undisturbed && end.how == transcript.Complete && conn.isReusable(p.Head())
	if !keep || !c.idle.put(conn) {
		conn.discard()
	}
}

// isReusable reports whether another exchange is possible on the connection: the request was
// written, the response was HTTP/1.1, delimited and not compressed, nothing follows it, and the
// server did not announce that it closes the connection.
func (c *connection) isReusable(head *transcript.Head) bool {
	if !c.sent || head == nil || !strings.HasPrefix(head.Line, "HTTP/1.1 ") || strings.Contains(strings.ToLower(head.Get("Connection")), "close") {
		return false
	}
	if head.Has("Content-Encoding") { // decompression may leave bytes unread
		return false
	}
	switch {
	case head.Status() == 204 || head.Status() == 304:
	case head.Has("Transfer-Encoding"): // the reader stops before the blank line of the empty trailer
		if end, _ := c.in.Peek(min(2, c.in.Buffered())); string(end) != "\r\n" {
			return false
		}
		_, _ = c.in.Discard(2)
	case !head.Has("Content-Length"):
		return false
	}
	return c.in.Buffered() == 0
}
