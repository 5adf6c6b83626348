package exchange_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
)

// serveOn returns the URL of a server that responds to each request on each connection with
// the same bytes, and the number of connections. The server closes each connection after
// most responses, unless most is 0.
func serveOn(t *testing.T, answer string, most int) (u *url.URL, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	return serveEach(t, func(conn net.Conn) {
		connections.Add(1)
		in := bufio.NewReader(conn)
		for n := 1; (most == 0 || n <= most) && readRequest(in); n++ {
			if _, err := io.WriteString(conn, answer); err != nil || !strings.Contains(answer, "Length") && !strings.Contains(answer, "chunked") {
				return
			}
		}
	}), connections
}

// TestKeep checks that, with Keep, exchanges share one connection if HTTP allows it, and
// that the record is the same as without Keep.
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
			u, connections := serveOn(t, c.answer, 0)
			for i, keep := range []bool{false, true} {
				before := connections.Load()
				x := &exchange.Client{Record: transcript.New()}
				for range 3 {
					<-x.Begin(t.Context(), exchange.Request{URL: u, Request: transport.Request{Method: "POST", Body: []byte(c.body), Keep: keep}}).Over()
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
					records[i] = append(records[i], describe(e))
				}
			}
			if diff := cmp.Diff(records[0], records[1]); diff != "" {
				t.Errorf("the record (-one connection an exchange +kept):\n%s", diff)
			}
		})
	}
}

// TestClosedThoughKept checks that a kept connection that the server closed without notice is
// replaced.
func TestClosedThoughKept(t *testing.T) {
	u, connections := serveOn(t, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", 1)
	x := &exchange.Client{Record: transcript.New()}
	for range 3 {
		p := x.Begin(t.Context(), exchange.Request{URL: u, Request: transport.Request{Method: "POST", Body: []byte("{}"), Keep: true}})
		<-p.Over()
		if how, detail := p.HowEnded(); how != transcript.Complete {
			t.Errorf("the exchange ended as %s: %s", how, detail)
		}
	}
	x.Wait()
	if got := connections.Load(); got != 3 {
		t.Errorf("%d connections, not one for each exchange", got)
	}
	if sent := len(transcript.ExchangesOf(x.Record.From(0)).All()); sent != 3 {
		t.Errorf("%d exchanges are recorded, not 3", sent)
	}
}

// TestUnaskedBytesAreNotAResponse checks that a kept connection is not used again if the server
// has sent something on it meanwhile.
func TestUnaskedBytesAreNotAResponse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what has arrived on an idle connection is not known on Windows")
	}
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
	unasked := make(chan bool)
	u := serveEach(t, func(conn net.Conn) {
		for in := bufio.NewReader(conn); readRequest(in); {
			_, _ = io.WriteString(conn, answer)
			<-unasked
			_, _ = io.WriteString(conn, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
			unasked <- true
		}
	})
	x := &exchange.Client{Record: transcript.New()}
	for i := range 2 {
		p := x.Begin(t.Context(), exchange.Request{URL: u, Request: transport.Request{Method: "POST", Body: []byte("{}"), Keep: true}})
		<-p.Over()
		if status := p.Head().Status(); status != http.StatusOK {
			t.Errorf("request %d: status %d", i+1, status)
		}
		unasked <- true
		<-unasked // the bytes have reached the client's socket
	}
	x.Wait()
}

// TestHead checks that the response to HEAD is complete without a body, although it has a
// Content-Length.
func TestHead(t *testing.T) {
	u, _ := serveOn(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 0)
	x := &exchange.Client{Record: transcript.New()}
	p := x.Begin(t.Context(), exchange.Request{URL: u, Request: transport.Request{Method: "HEAD"}})
	<-p.Over()
	x.Wait()
	if how, detail := p.HowEnded(); how != transcript.Complete {
		t.Errorf("the exchange ended as %s: %s", how, detail)
	}
}

// TestDroppedIsNotKept checks that a dropped connection is not reused.
func TestDroppedIsNotKept(t *testing.T) {
	u, connections := serveOn(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", 0)
	x := &exchange.Client{Record: transcript.New()}
	for range 2 {
		p := x.Begin(t.Context(), exchange.Request{URL: u, Request: transport.Request{Method: "POST", Body: []byte("{}"), Keep: true}})
		<-p.Responded()
		p.Drop()
		<-p.Over()
	}
	x.Wait()
	if got := connections.Load(); got != 2 {
		t.Errorf("%d connections for two exchanges that were dropped", got)
	}
}
