package pipes

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A Listener is a net.Listener whose connections are pairs of pipes.
type Listener struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

// NewListener returns a listener without connections.
func NewListener() *Listener {
	return &Listener{conns: make(chan net.Conn), ended: make(chan struct{})}
}

// Dial opens a connection to the listener, whatever the address. It waits until Accept takes the
// other end.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	to, from := New(), New()
	select {
	case l.conns <- conn{to.ReadEnd(), from.WriteEnd()}:
		return conn{from.ReadEnd(), to.WriteEnd()}, nil
	case <-l.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case end := <-l.conns:
		return end, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.ended) })
	return nil
}

// Addr implements net.Listener.
func (*Listener) Addr() net.Addr { return address }

var address = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}

// A conn is one end of a connection.
type conn struct {
	in  Reader
	out Writer
}

// Read implements net.Conn.
func (c conn) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	return n, asNetError(err)
}

// Write implements net.Conn.
func (c conn) Write(b []byte) (int, error) {
	n, err := c.out.Write(b)
	return n, asNetError(err)
}

// Close implements net.Conn. The other end can still read what was written.
func (c conn) Close() error {
	_ = c.in.Close() // in and out are always closed together, so both calls return the same error
	return asNetError(c.out.Close())
}

// asNetError replaces os.ErrClosed with net.ErrClosed, the error that package net returns for a
// closed connection. It returns any other error unchanged.
func asNetError(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return net.ErrClosed
	}
	return err
}

// LocalAddr implements net.Conn.
func (conn) LocalAddr() net.Addr { return address }

// RemoteAddr implements net.Conn.
func (conn) RemoteAddr() net.Addr { return address }

// SetDeadline implements net.Conn. It bounds Read alone.
func (c conn) SetDeadline(t time.Time) error { return asNetError(c.in.SetReadDeadline(t)) }

// SetReadDeadline implements net.Conn.
func (c conn) SetReadDeadline(t time.Time) error { return asNetError(c.in.SetReadDeadline(t)) }

// SetWriteDeadline implements net.Conn, and has no effect.
func (conn) SetWriteDeadline(time.Time) error { return nil }
