package exchange_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
)

// serve returns the URL of a server that responds to a request on every connection with the
// same bytes, and closes the connection.
func serve(t *testing.T, answer string) *url.URL {
	t.Helper()
	at := make(chan struct{})
	close(at)
	return hang(t, answer, at)
}

// hang is like serve, but closes connections only when until is closed.
func hang(t *testing.T, answer string, until <-chan struct{}) *url.URL {
	t.Helper()
	return serveEach(t, func(conn net.Conn) {
		if readRequest(bufio.NewReader(conn)) {
			_, _ = io.WriteString(conn, answer)
			<-until
		}
	})
}

// serveEach returns the URL of a server that calls each for every connection, and then closes it.
func serveEach(t *testing.T, each func(conn net.Conn)) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				each(conn)
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/mcp"}
}

// readRequest reads a request to its end, and reports whether there was one.
func readRequest(in *bufio.Reader) bool {
	r, err := http.ReadRequest(in)
	if err == nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	return err == nil
}

// describe formats one event.
func describe(e *transcript.Event) string {
	switch e.Kind {
	case transcript.Requested, transcript.Responded:
		return string(e.Kind) + " " + strings.ReplaceAll(string(e.Raw), "\r", "")
	case transcript.Over:
		return strings.TrimSpace(fmt.Sprintf("over %s %s", e.How, e.Detail))
	case transcript.Received, transcript.Streamed, transcript.Sent:
		text := e.Raw
		if e.Stream != nil {
			text = e.Stream
		}
		if len(text) > 80 {
			text = text[:80]
		}
		mark := ""
		if e.Unterminated {
			mark = " cut short"
		}
		return fmt.Sprintf("%s%s %q", e.Kind, mark, text)
	default:
		return string(e.Kind) + " " + e.Detail
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func TestResponses(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct {
		name, answer string
		want         []string // the events after the request
	}{
		{
			"a body with its length", ok + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
			[]string{"response HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 2", `received "{}"`, "over complete"},
		},
		{
			"a body in chunks", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
			[]string{"response HTTP/1.1 200 OK\nTransfer-Encoding: chunked", `received "{}"`, "over complete"},
		},
		{
			"a body to the end of the connection", "HTTP/1.0 200 Fine\r\nX: y\r\n\r\n{}",
			[]string{"response HTTP/1.0 200 Fine\nX: y", `received "{}"`, "over complete"},
		},
		{"no body", "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", []string{"response HTTP/1.1 202 Accepted\nContent-Length: 0", "over complete"}},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", []string{"response HTTP/1.1 204 No Content", "over complete"}},
		{"line feeds alone", "HTTP/1.1 204 No Content\nX: y\n\n", []string{"response HTTP/1.1 204 No Content\nX: y", "over complete"}},
		{
			"an interim response", "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 2\r\n\r\n{}",
			[]string{"response HTTP/1.1 100 Continue", "response HTTP/1.1 200 OK\nContent-Length: 2", `received "{}"`, "over complete"},
		},
		{
			"an event stream", ok + "Content-Type: text/event-stream\r\n\r\n: hello\n\nid: 7\ndata: {}\n\ndata: {",
			[]string{
				"response HTTP/1.1 200 OK\nContent-Type: text/event-stream", `streamed ": hello\n\n"`, `received "id: 7\ndata: {}\n\n"`, `streamed "data: {"`, "over complete",
			},
		},
		{
			"an error that says it is an event stream", "HTTP/1.1 500 Oops\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\n",
			[]string{"response HTTP/1.1 500 Oops\nContent-Type: text/event-stream", `received "data: {}\n\n"`, "over complete"},
		},
		{
			"a body that is too short", ok + "Content-Length: 5\r\n\r\n{}",
			[]string{"response HTTP/1.1 200 OK\nContent-Length: 5", `received cut short "{}"`, "over broken the connection was closed after 2 bytes of the body, of the 5 that its Content-Length promises"},
		},
		{
			"chunks without an end", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
			[]string{"response HTTP/1.1 200 OK\nTransfer-Encoding: chunked", `received cut short "{}"`, "over broken the connection was closed after 2 bytes of the body"},
		},
		{
			"chunks that are none", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n",
			[]string{"response HTTP/1.1 200 OK\nTransfer-Encoding: chunked", `received cut short "{}"`, "over unreadable the body can't be read after 2 bytes: invalid byte in chunk length"},
		},
		{"nothing", "", []string{"over broken the connection was closed before a response came"}},
		{"half a head", ok + "Content-Le", []string{"over broken the connection was closed within the head of the response"}},
		{"another protocol", "SSH-2.0-OpenSSH_9.6\r\n\r\n", []string{`over unreadable the response is not HTTP: it begins with "SSH-2.0-OpenSSH_9.6"`}},
		{"HTTP/2", "\x00\x00\x12\x04\x00\x00\x00\x00\x00more", []string{"over unreadable the response is HTTP/2, but mcp-conform speaks HTTP/1.1"}},
		{"no status", "HTTP/1.1 fine\r\n\r\n", []string{`over unreadable the response begins with "HTTP/1.1 fine", where the status belongs`}},
		{"two lengths", ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", []string{
			"response HTTP/1.1 200 OK\nContent-Length: 2\nContent-Length: 3", `over unreadable there are two different Content-Lengths, "2" and "3"`,
		}},
		{"a length that is none", ok + "Content-Length: -1\r\n\r\n", []string{"response HTTP/1.1 200 OK\nContent-Length: -1", `over unreadable the Content-Length is "-1"`}},
		{"a head without end", ok + strings.Repeat("X: y\r\n", 20_000), []string{"over unreadable the head is longer than 65536 bytes"}},
		{"interim responses without end", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 20), append(slicesRepeat("response HTTP/1.1 103 Early Hints", 10), "over unreadable too many interim responses")},
		{
			"a body that was compressed without a request for it", ok + "Content-Encoding: gzip\r\n\r\n" + zipped(`{"a":1}`),
			[]string{"response HTTP/1.1 200 OK\nContent-Encoding: gzip", `received "{\"a\":1}"`, "over complete"},
		},
		{
			"a body that is not packed, though it says so", ok + "Content-Encoding: gzip\r\n\r\n{}{}{}{}{}{}{}{}",
			[]string{"response HTTP/1.1 200 OK\nContent-Encoding: gzip", "over unreadable the body does not match its Content-Encoding: gzip: invalid header"},
		},
		{
			"a small body that unpacks to a great one", ok + "Content-Encoding: gzip\r\n\r\n" + zipped(strings.Repeat(" ", 1<<20)),
			[]string{"response HTTP/1.1 200 OK\nContent-Encoding: gzip", "flooded a body of more than 100000 bytes", "over dropped the server sent more than the limits permit"},
		},
		{
			"a stream without events", ok + "Content-Type: text/event-stream\r\n\r\n" + strings.Repeat(": more\n", 20_000),
			[]string{
				"response HTTP/1.1 200 OK\nContent-Type: text/event-stream", "flooded more than 100000 bytes of a stream without a blank line",
				"over dropped the server sent more than the limits permit",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := &exchange.Client{Record: transcript.NewWithin(nil, transcript.Limits{Frame: 100_000})}
			p := x.Begin(t.Context(), exchange.Request{URL: serve(t, c.answer), Request: transport.Request{Method: "POST", Body: []byte(`{"a":1}`)}})
			<-p.Over()
			x.Wait()
			var got []string
			for _, e := range x.Record.From(0) {
				if e.Exchange != 1 {
					t.Errorf("%s belongs to exchange %d", e.Kind, e.Exchange)
				}
				if e.Kind != transcript.Requested && e.Kind != transcript.Sent {
					got = append(got, describe(e))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBodyAfterAFlood checks that an exchange counts as dropped, not as complete without a
// body, if the limits of the conversation leave no room for its body.
func TestBodyAfterAFlood(t *testing.T) {
	for name, answer := range map[string]string{
		"a body":          "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"an event stream": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &exchange.Client{Record: transcript.NewWithin(nil, transcript.Limits{Frames: 1})}
			for range 2 {
				p := x.Begin(t.Context(), exchange.Request{URL: serve(t, answer), Request: transport.Request{Method: "POST", Body: []byte(`{"a":1}`)}})
				<-p.Over()
			}
			x.Wait()
			var got []string
			for _, e := range x.Record.From(0) {
				if e.Kind == transcript.Over {
					got = append(got, string(e.How))
				}
			}
			if diff := cmp.Diff([]string{string(transcript.Complete), string(transcript.Dropped)}, got); diff != "" {
				t.Errorf("ends of exchanges (-want +got):\n%s", diff)
			}
		})
	}
}

func slicesRepeat(s string, n int) []string {
	var out []string
	for range n {
		out = append(out, s)
	}
	return out
}

// TestRequests checks that the record has the bytes that were sent, apart from line
// endings.
func TestRequests(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct {
		name string
		r    transport.Request
		want string
	}{
		{"a body", transport.Request{Method: "POST", Body: []byte("{}")}, "POST /a?b=c HTTP/1.1\r\nHost: HOST\r\nX-Mine: 1\r\nAccept-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}"},
		{"headers in their order", transport.Request{Method: "GET", Fields: []transcript.Field{
			{Name: "host", Value: "evil.example"}, {Name: "Accept", Value: "a"}, {Name: "x-mine", Value: "2"},
		}}, "GET /a?b=c HTTP/1.1\r\nhost: evil.example\r\nAccept: a\r\nx-mine: 2\r\nAccept-Encoding: identity\r\n\r\n"},
		{
			"chunks", transport.Request{Method: "POST", Body: []byte("hello"), Chunks: []int{2, 2, 5}},
			"POST /a?b=c HTTP/1.1\r\nHost: HOST\r\nX-Mine: 1\r\nAccept-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
		},
		{
			"pieces", transport.Request{Method: "POST", Body: []byte("hello"), Pieces: []int{2}, Pause: time.Millisecond},
			"POST /a?b=c HTTP/1.1\r\nHost: HOST\r\nX-Mine: 1\r\nAccept-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
		},
		{"an empty body", transport.Request{Method: "POST"}, "POST /a?b=c HTTP/1.1\r\nHost: HOST\r\nX-Mine: 1\r\nAccept-Encoding: identity\r\nContent-Length: 0\r\n\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &exchange.Client{Record: transcript.New(), Reach: exchange.Reach{Fields: []transcript.Field{{Name: "X-Mine", Value: "1"}}}}
			u := &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/a", RawQuery: "b=c"}
			p := x.Begin(t.Context(), exchange.Request{URL: u, Request: c.r})
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(c.want, "HOST", l.Addr().String())
			got := make([]byte, len(want))
			if _, err := io.ReadFull(conn, got); err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			<-p.Over()
			head, _, _ := strings.Cut(want, "\r\n\r\n")
			if diff := cmp.Diff(strings.ReplaceAll(head, "\r", ""), string(x.Record.From(0)[0].Raw)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	for _, c := range []struct {
		name, url, want string
		obstacle        transcript.Obstacle
	}{
		{"connection refused", "http://" + at, "nothing listens at " + at, ""},
		{"no such host", "http://no-such-host.invalid/", "there is no host no-such-host.invalid", transcript.NoHost},
		{"TLS with a server that has none", "https://" + strings.TrimPrefix(serve(t, "").String(), "http://"), "TLS with the server fails: the server closed the connection during the handshake", transcript.TLSFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := url.Parse(c.url)
			if err != nil {
				t.Fatal(err)
			}
			x := &exchange.Client{Record: transcript.New()}
			p := x.Begin(t.Context(), exchange.Request{URL: u, Request: transport.Request{Method: "GET"}})
			<-p.Over()
			if how, detail := p.HowEnded(); how != transcript.Unreachable || !strings.HasPrefix(detail, c.want) {
				t.Errorf("over %s: %s", how, detail)
			}
			events := x.Record.From(0)
			if got := events[len(events)-1].Obstacle; got != c.obstacle {
				t.Errorf("the obstacle is %q, want %q", got, c.obstacle)
			}
			if p.Head() != nil {
				t.Error("Head() is not nil")
			}
		})
	}
}

// TestDrop checks that the end of the context, or Drop, ends an exchange without a
// response.
func TestDrop(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u := &url.URL{Scheme: "http", Host: l.Addr().String()}
	x := &exchange.Client{Record: transcript.New()}
	p := x.Begin(t.Context(), exchange.Request{URL: u, Request: transport.Request{Method: "GET"}})
	<-p.Written()
	p.Drop()
	<-p.Over()
	if how, detail := p.HowEnded(); how != transcript.Dropped || detail != "the client closed the connection before a response came" {
		t.Errorf("over %s: %s", how, detail)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, io.ErrNoProgress)
	defer cancel()
	p = x.Begin(ctx, exchange.Request{URL: u, Request: transport.Request{Method: "GET"}})
	<-p.Over()
	if how, detail := p.HowEnded(); how != transcript.Dropped || detail != io.ErrNoProgress.Error()+", before a response came" {
		t.Errorf("over %s: %s", how, detail)
	}
	x.Wait()
}
