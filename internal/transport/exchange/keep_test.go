package exchange_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
)

// serveOn answers each request of each connection with the same bytes, and
// counts the connections.
func serveOn(t *testing.T, answer string) (u *url.URL, connections *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	connections = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				defer conn.Close()
				for in := bufio.NewReader(conn); ; {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					if _, err := io.WriteString(conn, answer); err != nil || !strings.Contains(answer, "Length") && !strings.Contains(answer, "chunked") {
						return
					}
				}
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/mcp"}, connections
}

// Exchanges follow each other on one connection where that is asked for, and
// where HTTP says that the response is over and another may follow. The record
// is the same.
func TestKeep(t *testing.T) {
	const length, chunked = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	long := strings.Repeat("x", 10_000)
	for _, c := range []struct {
		name, answer, body string
		want               int64 // connections for three exchanges
	}{
		{"a length", length + "\r\n{}", "{}", 1},
		{"chunks", chunked + "\r\n2\r\n{}\r\n0\r\n\r\n", "{}", 1},
		{"no body", "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", "{}", 1},
		{"the server closes", length + "Connection: close\r\n\r\n{}", "{}", 3},
		{"an older server", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", "{}", 3},
		{"more than the body", length + "\r\n{}{}", "{}", 3},
		{"a trailer", chunked + "\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n", "{}", 3},
		{"no length", "HTTP/1.1 200 OK\r\n\r\n{}", "{}", 3},
		{"packed", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 26\r\n\r\n" + zipped("{}")[:26], "{}", 3},
		{"a long request", length + "\r\n{}", long, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var records [2][]string
			u, connections := serveOn(t, c.answer)
			for i, keep := range []bool{false, true} {
				before := connections.Load()
				x := &exchange.Client{Record: transcript.New(), Reach: exchange.Reach{Keep: keep}}
				for range 3 {
					<-x.Begin(t.Context(), exchange.Request{URL: u, Request: transport.Request{Method: "POST", Body: []byte(c.body)}}).Over()
				}
				x.Wait()
				want := c.want
				if !keep {
					want = 3
				}
				if got := connections.Load() - before; got != want {
					t.Errorf("keep %v: %d connections for three exchanges, not %d", keep, got, want)
				}
				for _, e := range x.Record.From(0) {
					records[i] = append(records[i], told(e))
				}
			}
			if diff := cmp.Diff(records[0], records[1]); diff != "" {
				t.Errorf("the record (-one connection an exchange +kept):\n%s", diff)
			}
		})
	}
}

// What was dropped is not used again.
func TestDroppedIsNotKept(t *testing.T) {
	u, connections := serveOn(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
	x := &exchange.Client{Record: transcript.New(), Reach: exchange.Reach{Keep: true}}
	for range 2 {
		p := x.Begin(t.Context(), exchange.Request{URL: u, Request: transport.Request{Method: "POST", Body: []byte("{}")}})
		<-p.Responded()
		p.Drop()
		<-p.Over()
	}
	x.Wait()
	if got := connections.Load(); got != 2 {
		t.Errorf("%d connections for two exchanges that were dropped", got)
	}
}
