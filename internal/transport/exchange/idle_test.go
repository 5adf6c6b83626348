package exchange

import (
	"net"
	"testing"
	"time"
)

// TestIdle checks which idle connections are used again: not those that have ended, that something
// arrived on, or that have been idle for long.
func TestIdle(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(server net.Conn, c *connection)
		want bool
	}{
		"just now":  {func(net.Conn, *connection) {}, true},
		"for long":  {func(_ net.Conn, c *connection) { c.since = time.Now().Add(-idleTime) }, false},
		"ended":     {func(server net.Conn, c *connection) { _ = server.Close(); <-c.ended }, false},
		"more came": {func(server net.Conn, c *connection) { _, _ = server.Write([]byte("x")); <-c.ended }, false},
	} {
		t.Run(name, func(t *testing.T) {
			ours, server := net.Pipe()
			defer func() { _ = server.Close() }()
			var i idle
			conn := newConnection(ours, "here")
			if !i.put(conn) {
				t.Fatal("there is no room")
			}
			c.do(server, conn)
			if got := i.take("here"); (got != nil) != c.want {
				t.Errorf("used again: %v", got != nil)
			}
			if c.want {
				conn.discard()
			}
			if len(i.conns) != 0 {
				t.Errorf("%d connections are left", len(i.conns))
			}
		})
	}
}
