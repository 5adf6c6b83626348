package streamablehttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	call        = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}`
)

// server is a Streamable HTTP server whose responses tests can replace.
type server struct {
	version string
	post    func(w http.ResponseWriter, r *http.Request, m *wire.Message)
	get     func(w http.ResponseWriter, r *http.Request)

	mu   sync.Mutex
	seen []string // method, session, version and last event id of each request
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	what := r.Method
	var m *wire.Message
	if len(body) > 0 {
		m = &wire.Parse(body).Messages[0]
		what += " " + m.Method
	}
	for _, name := range []string{"Mcp-Session-Id", "MCP-Protocol-Version", "Last-Event-ID"} {
		if v := r.Header.Get(name); v != "" {
			what += " " + v
		}
	}
	s.mu.Lock()
	s.seen = append(s.seen, what)
	s.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && s.get != nil:
		s.get(w, r)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Method == http.MethodDelete:
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "s-1")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%q}}`, s.version)
	case m.Kind == wire.Notification:
		w.WriteHeader(http.StatusAccepted)
	case s.post != nil:
		s.post(w, r, m)
	}
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// open starts the server and opens a link to it.
func open(t *testing.T, s http.Handler) (*streamablehttp.Link, *transcript.Transcript) {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	u, err := url.Parse(h.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	rec := transcript.New()
	l, err := streamablehttp.NewDialer(u, exchange.Reach{}).Dial(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Shutdown(patience) })
	return l.(*streamablehttp.Link), rec
}

var patience = transport.Patience{AfterClose: 5 * time.Second}

// await waits for an event.
func await(t *testing.T, rec *transcript.Transcript, match func(*transcript.Event) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for at := 0; ; {
		events, err := rec.Wait(ctx, at)
		if err != nil {
			t.Fatalf("it did not come: %v", err)
		}
		for _, e := range events {
			if match(e) {
				return
			}
			at = e.Seq + 1
		}
	}
}

func responds(id string) func(*transcript.Event) bool {
	return func(e *transcript.Event) bool {
		for _, m := range e.Messages() {
			if e.Kind == transcript.Received && m.Kind == wire.Response && m.ID.Raw() == id {
				return true
			}
		}
		return false
	}
}

func handshake(t *testing.T, l *streamablehttp.Link, rec *transcript.Transcript) {
	t.Helper()
	send(t, l, initialize)
	await(t, rec, responds("1"))
	send(t, l, initialized)
}

func send(t *testing.T, l *streamablehttp.Link, frames ...string) {
	t.Helper()
	raw := make([][]byte, 0, len(frames))
	for _, f := range frames {
		raw = append(raw, []byte(f))
	}
	if err := l.Send(t.Context(), raw...); err != nil {
		t.Fatal(err)
	}
}

// TestSession checks that requests carry the session id and the version from the
// response to initialize, and that Shutdown ends the session.
func TestSession(t *testing.T) {
	for _, c := range []struct {
		version string
		want    []string
	}{
		{"2025-03-26", []string{"POST initialize", "POST notifications/initialized s-1", "GET s-1", "POST tools/call s-1", "DELETE s-1"}},
		{"2025-11-25", []string{
			"POST initialize", "POST notifications/initialized s-1 2025-11-25", "GET s-1 2025-11-25", "POST tools/call s-1 2025-11-25", "DELETE s-1 2025-11-25",
		}},
	} {
		t.Run(c.version, func(t *testing.T) {
			s := &server{version: c.version, post: func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{}}`)
			}}
			l, rec := open(t, s)
			handshake(t, l, rec)
			send(t, l, call)
			await(t, rec, responds("2"))
			l.Shutdown(patience)
			if diff := cmp.Diff(c.want, s.requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if err := l.Send(t.Context(), []byte(call)); err == nil {
				t.Error("a link that was shut down sends")
			}
		})
	}
}

// TestResume checks that a stream which ends before the response is resumed
// after its last event.
func TestResume(t *testing.T) {
	const stream = "text/event-stream"
	s := &server{
		version: "2025-11-25",
		post: func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
			w.Header().Set("Content-Type", stream)
			_, _ = io.WriteString(w, "id: a\nretry: 1\ndata:\n\n")
		},
	}
	s.get = func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Last-Event-ID") {
		case "":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case "a":
			w.Header().Set("Content-Type", stream)
			_, _ = io.WriteString(w, "id: b\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")
		default:
			w.Header().Set("Content-Type", stream)
			_, _ = io.WriteString(w, "id: c\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
		}
	}
	l, rec := open(t, s)
	handshake(t, l, rec)
	send(t, l, call)
	await(t, rec, responds("2"))
	l.Shutdown(patience)
	want := []string{
		"POST initialize", "POST notifications/initialized s-1 2025-11-25", "GET s-1 2025-11-25", "POST tools/call s-1 2025-11-25",
		"GET s-1 2025-11-25 a", "GET s-1 2025-11-25 b", "DELETE s-1 2025-11-25",
	}
	if diff := cmp.Diff(want, s.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestListen checks that messages which the server sends on its own arrive on
// the stream that is opened after the handshake.
func TestListen(t *testing.T) {
	s := &server{version: "2025-11-25", get: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}}
	l, rec := open(t, s)
	handshake(t, l, rec)
	await(t, rec, func(e *transcript.Event) bool {
		return e.Kind == transcript.Received && strings.Contains(string(e.Raw), "list_changed")
	})
	l.Shutdown(patience)
	exchanges := transcript.ExchangesOf(rec.From(0)).All()
	if got := exchanges[2]; got.Method() != "GET" || got.HowEnded() != transcript.Dropped || !got.IsStream() {
		t.Errorf("the third exchange is %s, %s", got.Method(), got.HowEnded())
	}
}

// TestRedirect checks that redirects on the same host that keep the method are
// followed.
func TestRedirect(t *testing.T) {
	s := &server{version: "2025-11-25"}
	l, rec := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			w.Header().Set("Location", "/mcp/")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		s.ServeHTTP(w, r)
	}))
	handshake(t, l, rec)
	if l.URL().Path != "/mcp/" || l.Session() != "s-1" {
		t.Errorf("the endpoint is %s, the session %q", l.URL(), l.Session())
	}
	if n := len(transcript.ExchangesOf(rec.From(0)).All()); n != 4 { // 307, initialize, initialized, GET
		t.Errorf("%d exchanges", n)
	}
}

// TestGone checks that the link ends if the server can't be reached.
func TestGone(t *testing.T) {
	h := httptest.NewServer(&server{version: "2025-11-25"})
	u, _ := url.Parse(h.URL)
	h.Close()
	rec := transcript.New()
	l, err := streamablehttp.NewDialer(u, exchange.Reach{}).Dial(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Shutdown(patience)
	if err := l.Send(t.Context(), []byte(initialized)); err == nil || !strings.HasPrefix(err.Error(), "the server can't be reached: nothing listens at ") {
		t.Errorf("sending says %v", err)
	}
	select {
	case <-l.Ended():
	case <-time.After(10 * time.Second):
		t.Error("the link has not ended")
	}
	await(t, rec, func(e *transcript.Event) bool { return e.Kind == transcript.OutputClosed })
}

func TestNoURL(t *testing.T) {
	for _, text := range []string{"", "ftp://x", "http:///mcp", "/mcp"} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := streamablehttp.NewDialer(u, exchange.Reach{}).Dial(t.Context(), transcript.New()); err == nil {
			t.Errorf("%q can be dialled", text)
		}
	}
}
