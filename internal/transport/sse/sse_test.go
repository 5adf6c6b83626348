package sse_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// A server first writes to its stream, and then echoes each POST on it.
type server struct {
	first  func(host string) string
	status int // the HTTP status of the stream; 0 for 200
	echoes chan string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		s.echoes <- r.URL.RequestURI() + " " + string(body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if s.status != 0 {
		w.WriteHeader(s.status)
		return
	}
	_, _ = io.WriteString(w, s.first(r.Host))
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case text := <-s.echoes:
			if text == "" {
				return
			}
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func open(t *testing.T, s *server) (transport.Link, *transcript.Transcript) {
	t.Helper()
	s.echoes = make(chan string, 10)
	h := httptest.NewServer(s)
	u, err := url.Parse(h.URL + "/deep/sse")
	if err != nil {
		t.Fatal(err)
	}
	rec := transcript.New()
	l, err := sse.NewDialer(u, exchange.Reach{}).Dial(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Shutdown(transport.Patience{}); h.Close() })
	return l, rec
}

// TestEndpoint checks every form of URL that the endpoint event may contain.
func TestEndpoint(t *testing.T) {
	for _, c := range []struct {
		name, data string // HOST is replaced by the server's own host
		want       string
	}{
		{"an absolute path", "/messages?session=1", "/messages?session=1"},
		{"a relative path", "messages", "/deep/messages"},
		{"a query alone", "?s=1", "/deep/sse?s=1"},
		{"a whole URL", "http://HOST/m", "/m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, rec := open(t, &server{first: func(host string) string {
				return ": hi\n\nevent: endpoint\ndata: " + strings.ReplaceAll(c.data, "HOST", host) + "\n\n"
			}})
			if err := l.Send(t.Context(), []byte(ping)); err != nil {
				t.Fatal(err)
			}
			want := c.want + " " + ping
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			for at := 0; ; {
				events, err := rec.Wait(ctx, at)
				if err != nil {
					t.Fatalf("the message %q did not come back", want)
				}
				for _, e := range events {
					at = e.Seq + 1
					if ev := e.StreamEvent(); ev != nil && string(ev.Data) == want {
						return
					}
				}
			}
		})
	}
}

// TestNoEndpoint checks that Send returns why nothing can be sent.
func TestNoEndpoint(t *testing.T) {
	for _, c := range []struct {
		name string
		s    *server
		want string
	}{
		{"another origin", &server{first: func(string) string { return "event: endpoint\ndata: http://evil.example/m\n\n" }}, "the endpoint event names another origin, http://evil.example, to which the client sends nothing"},
		{"no URL", &server{first: func(string) string { return "event: endpoint\ndata: http://[\n\n" }}, "the endpoint event names no URL: "},
		{"a refusal", &server{status: http.StatusNotFound}, "the stream ended before it named an endpoint"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, _ := open(t, c.s)
			if err := l.Send(t.Context(), []byte(ping)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("sending says %v", err)
			}
		})
	}
}

// TestEnd checks that the link ends with its stream.
func TestEnd(t *testing.T) {
	s := &server{first: func(string) string { return "event: endpoint\ndata: /m\n\n" }}
	l, rec := open(t, s)
	if err := l.Send(t.Context(), []byte(ping)); err != nil {
		t.Fatal(err)
	}
	s.echoes <- ""
	select {
	case <-l.Ended():
	case <-time.After(20 * time.Second):
		t.Fatal("the link goes on")
	}
	closed := false
	for _, e := range rec.From(0) {
		closed = closed || e.Kind == transcript.OutputClosed
	}
	if !closed {
		t.Error("the end is not recorded")
	}
	if err := l.Send(t.Context(), []byte(ping)); err == nil {
		t.Error("a link that has ended sends")
	}
}
