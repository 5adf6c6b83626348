package suitetest

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Pipes is a listener whose connections are in memory. Between goroutines of one bubble of
// testing/synctest, waiting for them takes no time, unlike for connections of the network.
type Pipes struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

// NewPipes returns a listener without connections.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), ended: make(chan struct{})} }

// Dial opens a connection to the listener, whatever the address.
func (p *Pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return newPipe(ours), nil
	case <-p.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case end := <-p.conns:
		return newPipe(end), nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.ended) })
	return nil
}

// Addr implements net.Listener.
func (*Pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// A pipe is one end of a net.Pipe that, like a socket, buffers what is written, and delivers that
// also after it is closed.
type pipe struct {
	net.Conn
	closed  atomic.Bool
	mu      sync.Mutex
	pending [][]byte // nil marks the end
	wake    chan struct{}
	over    chan struct{} // closed when nothing is delivered any more
}

func newPipe(end net.Conn) *pipe {
	c := &pipe{Conn: end, wake: make(chan struct{}, 1), over: make(chan struct{})}
	go c.deliver()
	return c
}

// deliver writes what is pending, until the end.
func (c *pipe) deliver() {
	defer close(c.over)
	defer c.Conn.Close()
	for range c.wake {
		c.mu.Lock()
		pending := c.pending
		c.pending = nil
		c.mu.Unlock()
		for _, b := range pending {
			if b == nil {
				return
			}
			if _, err := c.Conn.Write(b); err != nil {
				return
			}
		}
	}
}

func (c *pipe) push(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, b)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Write implements net.Conn.
func (c *pipe) Write(b []byte) (int, error) {
	select {
	case <-c.over:
		return 0, io.ErrClosedPipe
	default:
	}
	if c.closed.Load() {
		return 0, net.ErrClosed
	}
	if len(b) > 0 {
		c.push(slices.Clone(b))
	}
	return len(b), nil
}

// Read implements net.Conn.
func (c *pipe) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && c.closed.Load() {
		err = net.ErrClosed
	}
	return n, err
}

// Close implements net.Conn. The other end still gets what was written.
func (c *pipe) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	c.push(nil)
	return c.SetReadDeadline(time.Unix(1, 0))
}

// LocalAddr implements net.Conn.
func (*pipe) LocalAddr() net.Addr { return (*Pipes)(nil).Addr() }
