package refserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const (
	initializeBody  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	pingBody        = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	slowCallBody    = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow","arguments":{"durationMs":20,"steps":2},"_meta":{"progressToken":"t"}}}`
)

func callBody(tool string) string {
	return `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"` + tool + `"}}`
}

// An httpClient sends requests to a reference server over HTTP.
type httpClient struct {
	t       *testing.T
	url     string
	session string
}

func newHTTPClient(t *testing.T, o refserver.Options) *httpClient {
	h := refserver.NewHTTPHandler(t.Context(), o)
	server := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); server.Close() })
	s := &httpClient{t: t, url: server.URL + "/mcp"}
	w := s.do("POST", initializeBody)
	s.session = w.Header.Get("Mcp-Session-Id")
	if w.StatusCode != 200 || s.session == "" {
		t.Fatalf("initialize: %s, session %q", w.Status, s.session)
	}
	if w := s.do("POST", initializedBody); w.StatusCode != 202 || bodyText(t, w) != "" {
		t.Fatalf("initialized: %s", w.Status)
	}
	return s
}

// do sends a request, made by request, and returns the response.
func (s *httpClient) do(method, body string, more ...string) *http.Response {
	s.t.Helper()
	w, err := http.DefaultClient.Do(s.request(method, body, more...))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = w.Body.Close() })
	return w
}

// request returns a request with the headers that MCP requires. Each of more is
// "Name: value", which sets a header, or a name alone, which removes it.
func (s *httpClient) request(method, body string, more ...string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.session != "" {
		r.Header.Set("Mcp-Session-Id", s.session)
	}
	for _, h := range more {
		name, value, _ := strings.Cut(h, ":")
		switch value = strings.TrimSpace(value); {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	return r
}

func bodyText(t *testing.T, w *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestHTTPStatuses(t *testing.T) {
	s := newHTTPClient(t, refserver.Options{})
	for _, c := range []struct {
		name, method, body string
		headers            []string
		want               int
	}{
		{"a request", "POST", pingBody, nil, 200},
		{"a notification", "POST", initializedBody, nil, 202},
		{"the version of the session", "POST", pingBody, []string{"MCP-Protocol-Version: 2025-11-25"}, 200},
		{"another version", "POST", pingBody, []string{"MCP-Protocol-Version: 1999-01-01"}, 400},
		{"no session", "POST", pingBody, []string{"Mcp-Session-Id"}, 400},
		{"an unknown session", "POST", pingBody, []string{"Mcp-Session-Id: x"}, 404},
		{"a body that is not JSON", "POST", "{", nil, 400},
		{"a batch in a revision without batches", "POST", "[" + pingBody + "]", nil, 400},
		{"a Content-Type that is not JSON", "POST", pingBody, []string{"Content-Type: text/plain"}, 415},
		{"a Content-Type with parameters", "POST", pingBody, []string{"Content-Type: Application/JSON; charset=utf-8"}, 200},
		{"Accept without streams", "POST", pingBody, []string{"Accept: application/json"}, 406},
		{"Accept of any type", "POST", pingBody, []string{"Accept: */*"}, 200},
		{"Accept with weights", "POST", pingBody, []string{"Accept: text/event-stream;q=0.5, application/*;q=0.9"}, 200},
		{"Accept with a weight of zero", "POST", pingBody, []string{"Accept: text/event-stream;q=0.0, application/json"}, 406},
		{"a page of another origin", "POST", pingBody, []string{"Origin: http://evil.example"}, 403},
		{"an opaque origin", "POST", pingBody, []string{"Origin: null"}, 403},
		{"a page of the same host", "POST", pingBody, []string{"Origin: http://localhost:1234"}, 200},
		{"a rebound host name", "POST", pingBody, []string{"Host: evil.example"}, 403},
		{"another method", "PUT", "{}", nil, 405},
		{"a GET for another media type", "GET", "", []string{"Accept: text/html"}, 406},
		{"an unknown event", "GET", "", []string{"Last-Event-ID: 99-1"}, 400},
		{"a malformed event id", "GET", "", []string{"Last-Event-ID: x"}, 400},
		{"DELETE", "DELETE", "", nil, 204},
		{"a request after DELETE", "POST", pingBody, nil, 404},
		{"a second DELETE", "DELETE", "", nil, 404},
	} {
		if w := s.do(c.method, c.body, c.headers...); w.StatusCode != c.want {
			t.Errorf("%s: got status %d, want %d", c.name, w.StatusCode, c.want)
		}
	}
}

// TestHTTPStream checks that the messages of a call are sent on its stream, that the
// stream ends with the response, and that it can be resumed.
func TestHTTPStream(t *testing.T) {
	s := newHTTPClient(t, refserver.Options{})
	w := s.do("POST", slowCallBody)
	if got := w.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("got Content-Type %s", got)
	}
	all := bodyText(t, w)
	events := strings.SplitAfter(strings.TrimSuffix(all, "\n\n"), "\n\n")
	if len(events) != 4 || !strings.HasPrefix(events[0], "id: 2-0\ndata:\n") || !strings.Contains(events[3], `"id":3,"result"`) {
		t.Fatalf("got stream %q", all)
	}
	_, rest, _ := strings.Cut(all, events[1])
	resumed := bodyText(t, s.do("GET", "", "Last-Event-ID: 2-1", "Accept: text/event-stream"))
	if diff := cmp.Diff(rest, resumed); diff != "" {
		t.Errorf("resumed stream (-first +resumed):\n%s", diff)
	}
}

// TestHTTPListeningStreams checks that a message is sent on the newest of two listening streams only,
// and that the other one does not repeat it when it is resumed.
func TestHTTPListeningStreams(t *testing.T) {
	const message = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"once"}}`
	s := newHTTPClient(t, refserver.Options{Seams: refserver.Seams{HandleNotification: func(n *refserver.Notification, next func(*refserver.Notification)) {
		if n.Method == "com.example/send" {
			n.Session.SendRaw([]byte(message))
		}
		next(n)
	}}})
	open := func(more ...string) (*bufio.Reader, string) {
		r := bufio.NewReader(s.do("GET", "", more...).Body)
		if len(more) > 0 {
			return r, ""
		}
		line, err := r.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "id: ") {
			t.Fatalf("the stream begins with %q, %v", line, err)
		}
		return r, strings.TrimSpace(strings.TrimPrefix(line, "id: "))
	}
	first, id := open()
	second, _ := open()
	s.do("POST", `{"jsonrpc":"2.0","method":"com.example/send"}`)
	for line := ""; !strings.Contains(line, message); {
		var err error
		if line, err = second.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	resumed, _ := open("Last-Event-ID: " + id)
	s.do("DELETE", "")
	for name, r := range map[string]*bufio.Reader{"first": first, "resumed": resumed, "second": second} {
		if text, err := io.ReadAll(r); err != nil || strings.Contains(string(text), message) {
			t.Errorf("the %s stream went on with %q, %v", name, text, err)
		}
	}
}

// TestHTTPSingleResponseIsJSON checks that a response without other messages is sent
// as JSON, even under load.
func TestHTTPSingleResponseIsJSON(t *testing.T) {
	s := newHTTPClient(t, refserver.Options{})
	var side sync.WaitGroup
	for client := range 16 {
		side.Go(func() {
			for i := range 50 {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/list"}`, client*1000+i)
				w, err := http.DefaultClient.Do(s.request("POST", body))
				if err != nil {
					t.Error(err)
					return
				}
				if got := w.Header.Get("Content-Type"); got != "application/json" {
					t.Errorf("got Content-Type %s for a single response", got)
				}
				_ = w.Body.Close()
			}
		})
	}
	side.Wait()
}

// TestHTTPJSONOnly checks that with JSONOnly a call reports no progress and sends no
// requests, and that log messages are sent on the listening stream.
func TestHTTPJSONOnly(t *testing.T) {
	s := newHTTPClient(t, refserver.Options{JSONOnly: true})
	listening := s.do("GET", "", "Accept: text/event-stream")
	w := s.do("POST", slowCallBody)
	if got := w.Header.Get("Content-Type"); got != "application/json" {
		t.Fatalf("got Content-Type %s", got)
	}
	if got := bodyText(t, w); !strings.Contains(got, `"id":3,"result"`) {
		t.Errorf("got response %s", got)
	}
	if got := bodyText(t, s.do("POST", callBody("ask-ping"))); !strings.Contains(got, `"isError":true`) {
		t.Errorf("ask-ping: got %s", got)
	}
	bodyText(t, s.do("POST", callBody("log")))
	for in := bufio.NewScanner(listening.Body); in.Scan(); {
		switch {
		case strings.Contains(in.Text(), "notifications/progress"):
			t.Error("progress was sent on the listening stream")
		case strings.Contains(in.Text(), "notifications/message"):
			return
		}
	}
	t.Error("no log message was sent")
}

// TestSSE opens a session over HTTP+SSE and posts to its endpoint.
func TestSSE(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := httptest.NewServer(refserver.NewSSEHandler(ctx, refserver.Options{}))
	defer server.Close()
	s := &httpClient{t: t, url: server.URL + "/sse"}
	stream := s.do("GET", "")
	in := bufio.NewScanner(stream.Body)
	next := func(prefix string) string {
		for in.Scan() {
			if value, ok := strings.CutPrefix(in.Text(), prefix); ok {
				return value
			}
		}
		t.Fatalf("the stream ended without %q", prefix)
		return ""
	}
	if got := next("event: "); got != "endpoint" {
		t.Fatalf("the first event is %s", got)
	}
	s.url = server.URL + next("data: ")
	for _, c := range []struct {
		name, body string
		headers    []string
		want       int
	}{
		{"initialize", initializeBody, nil, 202},
		{"a Content-Type that is not JSON", pingBody, []string{"Content-Type: text/plain"}, 415},
		{"a page of another origin", pingBody, []string{"Origin: http://evil.example"}, 403},
	} {
		if w := s.do("POST", c.body, c.headers...); w.StatusCode != c.want {
			t.Errorf("%s: got status %d, want %d", c.name, w.StatusCode, c.want)
		}
	}
	if got := next("data: "); !strings.Contains(got, `"id":1,"result"`) {
		t.Errorf("got response %s", got)
	}
	cancel()
	rest := 0
	for in.Scan() && rest < 3 { // the blank line after the last event may still come
		rest++
	}
	if rest > 1 {
		t.Error("the stream did not end with the context")
	}
	s.url = server.URL + "/sse?sessionId=none"
	if w := s.do("POST", pingBody); w.StatusCode != 404 {
		t.Errorf("unknown session: got status %d", w.StatusCode)
	}
}

// TestHTTPWithoutSessions checks that with NoSessions every POST is independent, and
// that features that need a session are disabled.
func TestHTTPWithoutSessions(t *testing.T) {
	server := httptest.NewServer(refserver.NewHTTPHandler(t.Context(), refserver.Options{NoSessions: true}))
	t.Cleanup(server.Close)
	s := &httpClient{t: t, url: server.URL + "/mcp"}
	const list = `{"jsonrpc":"2.0","id":4,"method":"tools/list"}`
	for _, c := range []struct {
		name, method, body, header string
		status                     int
		contains, lacks            string
	}{
		{"initialize", "POST", initializeBody, "", 200, `"protocolVersion":"2025-11-25"`, `"tasks"`},
		{"the revision before Streamable HTTP", "POST", strings.Replace(initializeBody, "2025-11-25", "2024-11-05", 1), "", 200, `"protocolVersion":"2025-11-25"`, ""},
		{"initialized", "POST", initializedBody, "", 202, "", ""},
		{"a list", "POST", list, "MCP-Protocol-Version: 2025-11-25", 200, `"icons"`, ""},
		{"a list without a version", "POST", list, "", 200, `"annotations"`, `"icons"`},
		{"an unsupported version", "POST", list, "MCP-Protocol-Version: 2024-11-05", 400, "", ""},
		{"a call", "POST", callBody("fail"), "", 200, `"isError":true`, ""},
		{"a call that would send a request", "POST", callBody("ask-ping"), "", 200, `"code":-32602`, ""},
		{"setLevel", "POST", `{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"error"}}`, "", 200, `"code":-32601`, ""},
		{"listening", "GET", "", "", 405, "", ""},
		{"DELETE", "DELETE", "", "", 405, "", ""},
	} {
		w := s.do(c.method, c.body, c.header)
		got := bodyText(t, w)
		if w.StatusCode != c.status || !strings.Contains(got, c.contains) || c.lacks != "" && strings.Contains(got, c.lacks) || w.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %d %v %s", c.name, w.StatusCode, w.Header, got)
		}
	}
}

// TestHTTPPolicy checks that pages of Options.Origins may use the server, with CORS
// headers, and that only Options.Hosts are permitted.
func TestHTTPPolicy(t *testing.T) {
	s := newHTTPClient(t, refserver.Options{Origins: []string{"https://app.example"}, Hosts: []string{"127.0.0.1", "mcp.example"}})
	for _, c := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"an allowed origin", []string{"Origin: https://app.example"}, 200},
		{"another origin", []string{"Origin: https://other.example"}, 403},
		{"an allowed host", []string{"Host: MCP.example:8080"}, 200},
		{"the server's own origin", []string{"Host: mcp.example", "Origin: http://mcp.example"}, 200},
		{"another host", []string{"Host: localhost"}, 403},
	} {
		if w := s.do("POST", pingBody, c.headers...); w.StatusCode != c.want {
			t.Errorf("%s: got status %d, want %d", c.name, w.StatusCode, c.want)
		}
	}
	w := s.do("OPTIONS", "", "Origin: https://app.example", "Access-Control-Request-Method: POST")
	if got := w.Header.Get("Access-Control-Allow-Origin"); w.StatusCode != 204 || got != "https://app.example" {
		t.Errorf("preflight: got status %d, allowed origin %q", w.StatusCode, got)
	}
	if w := s.do("OPTIONS", ""); w.StatusCode != 405 {
		t.Errorf("OPTIONS without Origin: got status %d", w.StatusCode)
	}
}

// TestListen checks that a server is reachable at its address until it is closed.
func TestListen(t *testing.T) {
	for _, c := range []struct {
		address, path string
		over          spec.Transport
	}{
		{"127.0.0.1:0", "/mcp", spec.StreamableHTTP},
		{":0", "/sse", spec.SSE},
	} {
		server, err := refserver.Listen(t.Context(), c.address, c.over, refserver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if server.URL.Path != c.path || server.URL.Hostname() != "127.0.0.1" {
			t.Errorf("got URL %s", server.URL)
		}
		s := &httpClient{t: t, url: server.URL.String()}
		if w := s.do("PUT", "{}"); w.StatusCode != 405 {
			t.Errorf("PUT at %s: %s", server.URL, w.Status)
		}
		if _, err := refserver.Listen(t.Context(), server.URL.Host, c.over, refserver.Options{}); err == nil {
			t.Error("a second server listens at the same address")
		}
		server.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := http.DefaultClient.Do(r); err == nil {
			_ = w.Body.Close()
			t.Error("the server still responds after Close")
		}
	}
}

// TestExitOverHTTP checks that a fault that ends the process breaks all connections,
// and that the server accepts no new ones.
func TestExitOverHTTP(t *testing.T) {
	for _, over := range []spec.Transport{spec.StreamableHTTP, spec.SSE} {
		server, err := refserver.Listen(t.Context(), "127.0.0.1:0", over, refserver.Options{Seams: refserver.Seams{
			Incoming: func(*refserver.Session, []byte) refserver.FrameAction { return refserver.ExitWith(1) },
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		s := &httpClient{t: t, url: server.URL.String()}
		if over == spec.SSE {
			w := s.do("GET", "")
			lines := bufio.NewReader(w.Body)
			_, _ = lines.ReadString('\n')
			endpoint, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			_, query, _ := strings.Cut(strings.TrimSpace(endpoint), "?")
			defer func() {
				if _, err := io.ReadAll(lines); err == nil {
					t.Error("the stream ended without an error")
				}
			}()
			s.url += "?" + query
		}
		w, err := http.DefaultClient.Do(s.request("POST", initializeBody))
		if err == nil {
			_ = w.Body.Close()
		}
		if over == spec.StreamableHTTP && err == nil {
			t.Errorf("the POST got %s", w.Status)
		}
		if err := <-server.Failed(); err == nil {
			t.Errorf("over %s: Failed received no error", over)
		}
		if w, err := http.DefaultClient.Do(s.request("POST", pingBody)); err == nil {
			_ = w.Body.Close()
			t.Errorf("over %s: a new connection was accepted: %s", over, w.Status)
		}
	}
}
