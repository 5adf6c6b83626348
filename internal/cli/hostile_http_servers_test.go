package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// peer is the server's end of one connection.
type peer struct {
	*net.TCPConn
	in   *bufio.Reader
	done <-chan struct{} // closed at the end of the test
	nth  int             // number of the connection, counted from 1
}

// ask reads a request with its body. It returns nil if there is none.
func (p *peer) ask() *http.Request {
	r, err := http.ReadRequest(p.in)
	if err != nil {
		return nil
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}

// say writes text, and reports whether that succeeded.
func (p *peer) say(text string) bool {
	_, err := io.WriteString(p, text)
	return err == nil
}

// drip writes text byte by byte, with pauses.
func (p *peer) drip(text string, pause time.Duration) {
	for _, b := range []byte(text) {
		if !p.say(string(b)) {
			return
		}
		p.wait(pause)
	}
}

// flood writes the text repeatedly until a write fails.
func (p *peer) flood(text string) {
	chunk := strings.Repeat(text, max(1, 64<<10/len(text)))
	for p.say(chunk) {
	}
}

// bomb sends a small compressed body that expands to 1 GB.
func (p *peer) bomb(head, text string) {
	p.say(head + "Content-Encoding: gzip\r\n\r\n")
	z, err := gzip.NewWriterLevel(p, gzip.BestSpeed)
	if err != nil {
		panic(err)
	}
	for chunk, left := strings.Repeat(text, 1<<20/len(text)), 1<<10; left > 0; left-- {
		if _, err := z.Write([]byte(chunk)); err != nil {
			return
		}
	}
	_ = z.Close()
}

// wait waits for a duration, or until the test ends.
func (p *peer) wait(d time.Duration) {
	select {
	case <-p.done:
	case <-time.After(d):
	}
}

// hold keeps the connection open until the client or the test closes it.
func (p *peer) hold() {
	go func() { <-p.done; _ = p.Close() }()
	_, _ = io.Copy(io.Discard, p.in)
}

// reset closes the connection with a TCP reset.
func (p *peer) reset() {
	_ = p.SetLinger(0)
	_ = p.Close()
}

// raw accepts connections until the test ends, calls serve for each of them,
// and returns the address.
func raw(t *testing.T, serve func(p *peer)) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); work.Wait() })
	work.Go(func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				tcp := c.(*net.TCPConn)
				defer func() { _ = tcp.Close() }()
				defer context.AfterFunc(t.Context(), func() { _ = tcp.Close() })()
				serve(&peer{tcp, bufio.NewReader(c), t.Context().Done(), n})
			})
		}
	})
	return l.Addr().String()
}

// served returns a server that calls serve for each connection.
func served(serve func(p *peer)) func(*testing.T, *hostileRun) string {
	return func(t *testing.T, _ *hostileRun) string { return "http://" + raw(t, serve) + "/mcp" }
}

// says returns a server that sends this text in response to every request, and
// closes the connection.
func says(text string) func(*testing.T, *hostileRun) string {
	return served(func(p *peer) {
		if p.ask() != nil {
			p.say(text)
		}
	})
}

// answers returns a server that responds with a status, headers and a body.
func answers(status, fields, body string) func(*testing.T, *hostileRun) string {
	return says("HTTP/1.1 " + status + "\r\n" + fields + "Connection: close\r\n\r\n" + body)
}

// over makes the run use the transport with this name of --transport; over sse, the revision is
// 2024-11-05.
func over(name string, serve func(*testing.T, *hostileRun) string) func(*testing.T, *hostileRun) string {
	return func(t *testing.T, r *hostileRun) string {
		r.flags = append(r.flags, "--transport", name)
		if name == "sse" {
			r.flags = append(r.flags, "--revision", "2024-11-05")
		}
		return serve(t, r)
	}
}

// handled returns a server that uses net/http.
func handled(h http.HandlerFunc) func(*testing.T, *hostileRun) string {
	return func(t *testing.T, _ *hostileRun) string {
		s := httptest.NewServer(h)
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
		return s.URL + "/mcp"
	}
}

// asked returns the methods of the messages in a body.
func asked(body []byte) string {
	var methods []string
	for _, m := range wire.Parse(body).Messages {
		methods = append(methods, m.Method)
	}
	return strings.Join(methods, " ")
}

// opening reports whether a request belongs to the handshake.
func opening(r *http.Request, body []byte) bool {
	method := asked(body)
	return r.Method == http.MethodPost && (method == spec.MethodInitialize || method == spec.MethodInitialized)
}

// turned returns the reference server, except that do handles the requests for
// which when returns true. when gets the number of the request.
func turned(when func(n int32, r *http.Request, body []byte) bool, do func(p *peer)) func(*testing.T, *hostileRun) string {
	return turnedOver("2025-11-25", func(ctx context.Context) http.Handler { return refserver.NewHTTPHandler(ctx, refserver.Options{}) }, when, do)
}

// turnedSSE is like turned over the older transport. do handles only POSTs.
func turnedSSE(when func(n int32, r *http.Request, body []byte) bool, do func(p *peer)) func(*testing.T, *hostileRun) string {
	posts := func(n int32, r *http.Request, body []byte) bool {
		return r.Method == http.MethodPost && when(n, r, body)
	}
	return over("sse", turnedOver("2024-11-05", sseHandler, posts, do))
}

func sseHandler(ctx context.Context) http.Handler {
	return refserver.NewSSEHandler(ctx, refserver.Options{})
}

func turnedOver(revision string, good func(context.Context) http.Handler, when func(n int32, r *http.Request, body []byte) bool, do func(p *peer)) func(*testing.T, *hostileRun) string {
	return func(t *testing.T, run *hostileRun) string {
		run.flags = append(run.flags, "--revision", revision)
		h := good(t.Context())
		var n atomic.Int32
		return handled(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if !when(n.Add(1), r, body) {
				h.ServeHTTP(w, r)
				return
			}
			p := taken(t, w)
			defer func() { _ = p.Close() }()
			do(p)
		})(t, run)
	}
}

// streamTurns returns the reference server over the older transport, except
// that do takes over its streams after that many events.
func streamTurns(events int, do func(p *peer)) func(*testing.T, *hostileRun) string {
	return over("sse", func(t *testing.T, run *hostileRun) string {
		h := sseHandler(t.Context())
		return handled(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(&streamWriter{ResponseWriter: w, left: events, do: func(w http.ResponseWriter) {
				p := taken(t, w)
				go func() {
					defer func() { _ = p.Close() }()
					do(p)
				}()
			}}, r)
		})(t, run)
	})
}

// streamWriter counts the events that are written to a stream.
type streamWriter struct {
	http.ResponseWriter
	left int
	do   func(w http.ResponseWriter)
}

// Unwrap is called by http.ResponseController.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// FlushError is called by http.ResponseController.
func (w *streamWriter) FlushError() error {
	if w.left <= 0 {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *streamWriter) Write(data []byte) (int, error) {
	if w.Header().Get("Content-Type") != "text/event-stream" {
		return w.ResponseWriter.Write(data)
	}
	w.left--
	switch {
	case w.left > 0:
		return w.ResponseWriter.Write(data)
	case w.left == 0:
		w.do(w.ResponseWriter)
	}
	return len(data), nil
}

// chunk writes a chunk of a body in chunked encoding.
func (p *peer) chunk(text string) bool { return p.say(fmt.Sprintf("%x\r\n%s\r\n", len(text), text)) }

// taken hijacks a connection from net/http.
func taken(t *testing.T, w http.ResponseWriter) *peer {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	p := &peer{TCPConn: c.(*net.TCPConn), in: rw.Reader, done: t.Context().Done()}
	context.AfterFunc(t.Context(), func() { _ = p.Close() })
	return p
}

// briefly limits the run to the cases of three areas.
func briefly(serve func(*testing.T, *hostileRun) string) func(*testing.T, *hostileRun) string {
	return func(t *testing.T, run *hostileRun) string {
		run.flags = append(run.flags, "--label-filter", "ping || tools || lifecycle")
		return serve(t, run)
	}
}

// afterHandshake matches every request after the handshake.
func afterHandshake(_ int32, r *http.Request, body []byte) bool { return !opening(r, body) }

// late matches every request after the first 60, which is in the middle of the run.
func late(n int32, _ *http.Request, _ []byte) bool { return n > 60 }

// seldom matches one request in nine.
func seldom(n int32, _ *http.Request, _ []byte) bool { return n%9 == 0 }

// rarely matches one request in 61.
func rarely(n int32, _ *http.Request, _ []byte) bool { return n%61 == 0 }
