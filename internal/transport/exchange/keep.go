package exchange

import (
	"bufio"
	"context"
	"net"
	"net/url"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// connection is one to a server, with what was read of it and not looked at.
type connection struct {
	net.Conn
	in *bufio.Reader
	to string
	// sent: all of the request was written, see reusable.
	sent bool
	used bool // it carried an exchange before
}

// readers are those of connections that are closed.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readSize) }}

func newConnection(conn net.Conn, to string) *connection {
	in, _ := readers.Get().(*bufio.Reader)
	in.Reset(&sticky{r: conn})
	return &connection{Conn: conn, in: in, to: to}
}

// discard closes the connection, of which nobody reads any more.
func (c *connection) discard() {
	_ = c.Close()
	c.in.Reset(nil)
	readers.Put(c.in)
	c.in = nil
}

// maxIdle bounds the connections that one client keeps though nothing goes over
// them.
const maxIdle = 4

// idle are the connections over which the next exchange may go.
type idle struct {
	mu     sync.Mutex
	conns  []*connection
	closed bool
}

// take returns one that leads to a place, nil where there is none.
func (i *idle) take(to string) *connection {
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

// put keeps a connection; it reports false where there is no room for it.
func (i *idle) put(c *connection) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || len(i.conns) == maxIdle {
		return false
	}
	i.conns = append(i.conns, c)
	return true
}

// close closes all, and keeps none from now on.
func (i *idle) close() {
	i.mu.Lock()
	conns := i.conns
	i.conns, i.closed = nil, true
	i.mu.Unlock()
	for _, c := range conns {
		c.discard()
	}
}

// keeps reports whether the request may go over a connection that was kept, and
// its own may be kept.
func (c *Client) keeps(r Request) bool { return c.Reach.Keep || r.Keep }

// connect returns a connection for one exchange.
func (c *Client) connect(ctx context.Context, p *Pending, r Request) (*connection, error) {
	if c.keeps(r) {
		if conn := c.idle.take(place(r.URL)); conn != nil {
			conn.sent, conn.used = false, true
			return conn, nil
		}
	}
	return c.open(ctx, p, r.URL)
}

// place names where a connection leads.
func place(u *url.URL) string { return u.Scheme + "://" + u.Host }

// open returns a fresh connection.
func (c *Client) open(ctx context.Context, p *Pending, u *url.URL) (*connection, error) {
	ctx, quit := context.WithCancelCause(ctx)
	defer quit(nil)
	p.quits(func() { quit(errDropped) })
	conn, err := c.Reach.dial(ctx, u)
	if err != nil {
		return nil, err
	}
	return newConnection(conn, place(u)), nil
}

// release lets go of a connection behind its exchange; undisturbed tells that
// nobody has closed it meanwhile.
func (c *Client) release(conn *connection, p *Pending, r Request, end ended, undisturbed bool) {
	keep := c.keeps(r) && undisturbed && end.how == transcript.Complete && conn.reusable(p.Head())
	if !keep || !c.idle.put(conn) {
		conn.discard()
	}
}

// reusable reports whether the connection stands, as HTTP has it, where the next
// exchange may begin: the response had an end of its own, nothing lies behind
// it, and neither side wants to close.
func (c *connection) reusable(head *transcript.Head) bool {
	if !c.sent || head == nil || !strings.HasPrefix(head.Line, "HTTP/1.1 ") || strings.Contains(strings.ToLower(head.Get("Connection")), "close") {
		return false
	}
	if head.Has("Content-Encoding") { // who unpacks may leave bytes unread
		return false
	}
	switch {
	case head.Status() == 204 || head.Status() == 304:
	case head.Has("Transfer-Encoding"): // the end of the chunks was read, and not that of the trailer, of which there is none
		if end, _ := c.in.Peek(min(2, c.in.Buffered())); string(end) != "\r\n" {
			return false
		}
		_, _ = c.in.Discard(2)
	case !head.Has("Content-Length"):
		return false
	}
	return c.in.Buffered() == 0
}
