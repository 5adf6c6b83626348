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
	helloHTTP = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	readyHTTP = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	pingHTTP  = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	slowHTTP  = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow","arguments":{"durationMs":20,"steps":2},"_meta":{"progressToken":"t"}}}`
)

func callHTTP(tool string) string {
	return `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"` + tool + `"}}`
}

// site is a reference server over HTTP, and a client's view of it.
type site struct {
	t       *testing.T
	url     string
	session string
}

func newSite(t *testing.T, o refserver.Options) *site {
	h := refserver.NewHTTPHandler(t.Context(), o)
	server := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); server.Close() })
	s := &site{t: t, url: server.URL + "/mcp"}
	w := s.do("POST", helloHTTP)
	s.session = w.Header.Get("Mcp-Session-Id")
	if w.StatusCode != 200 || s.session == "" {
		t.Fatalf("initialize: %s, session %q", w.Status, s.session)
	}
	if w := s.do("POST", readyHTTP); w.StatusCode != 202 || text(t, w) != "" {
		t.Fatalf("initialized: %s", w.Status)
	}
	return s
}

// do sends a request.
func (s *site) do(method, body string, more ...string) *http.Response {
	s.t.Helper()
	w, err := http.DefaultClient.Do(s.request(method, body, more...))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = w.Body.Close() })
	return w
}

// request makes a request with the headers that it must have; more are "Name: value",
// and a name alone takes a header away.
func (s *site) request(method, body string, more ...string) *http.Request {
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

func text(t *testing.T, w *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestHTTPStatuses(t *testing.T) {
	s := newSite(t, refserver.Options{})
	for _, c := range []struct {
		name, method, body string
		headers            []string
		want               int
	}{
		{"a request", "POST", pingHTTP, nil, 200},
		{"a notification", "POST", readyHTTP, nil, 202},
		{"the version of the session", "POST", pingHTTP, []string{"MCP-Protocol-Version: 2025-11-25"}, 200},
		{"another version", "POST", pingHTTP, []string{"MCP-Protocol-Version: 1999-01-01"}, 400},
		{"no session", "POST", pingHTTP, []string{"Mcp-Session-Id"}, 400},
		{"a session that is none", "POST", pingHTTP, []string{"Mcp-Session-Id: x"}, 404},
		{"no JSON", "POST", "{", nil, 400},
		{"a batch where there are none", "POST", "[" + pingHTTP + "]", nil, 400},
		{"a type that is not JSON", "POST", pingHTTP, []string{"Content-Type: text/plain"}, 415},
		{"JSON with parameters", "POST", pingHTTP, []string{"Content-Type: Application/JSON; charset=utf-8"}, 200},
		{"streams are not accepted", "POST", pingHTTP, []string{"Accept: application/json"}, 406},
		{"anything is accepted", "POST", pingHTTP, []string{"Accept: */*"}, 200},
		{"weights", "POST", pingHTTP, []string{"Accept: text/event-stream;q=0.5, application/*;q=0.9"}, 200},
		{"a foreign page", "POST", pingHTTP, []string{"Origin: http://evil.example"}, 403},
		{"no origin to speak of", "POST", pingHTTP, []string{"Origin: null"}, 403},
		{"a page of the same host", "POST", pingHTTP, []string{"Origin: http://localhost:1234"}, 200},
		{"a host that was rebound", "POST", pingHTTP, []string{"Host: evil.example"}, 403},
		{"another method", "PUT", "{}", nil, 405},
		{"a GET for something else", "GET", "", []string{"Accept: text/html"}, 406},
		{"an event that never was", "GET", "", []string{"Last-Event-ID: 99-1"}, 400},
		{"an event id of nobody", "GET", "", []string{"Last-Event-ID: x"}, 400},
		{"the end", "DELETE", "", nil, 204},
		{"after the end", "POST", pingHTTP, nil, 404},
		{"the end once more", "DELETE", "", nil, 404},
	} {
		if w := s.do(c.method, c.body, c.headers...); w.StatusCode != c.want {
			t.Errorf("%s: %d instead of %d", c.name, w.StatusCode, c.want)
		}
	}
}

// What belongs to a call comes on its stream, which ends with the answer; the
// stream can be had again from any of its events.
func TestHTTPStream(t *testing.T) {
	s := newSite(t, refserver.Options{})
	w := s.do("POST", slowHTTP)
	if got := w.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("the answer is %s", got)
	}
	all := text(t, w)
	events := strings.SplitAfter(strings.TrimSuffix(all, "\n\n"), "\n\n")
	if len(events) != 4 || !strings.HasPrefix(events[0], "id: 2-0\ndata:\n") || !strings.Contains(events[3], `"id":3,"result"`) {
		t.Fatalf("the stream is %q", all)
	}
	_, rest, _ := strings.Cut(all, events[1])
	again := text(t, s.do("GET", "", "Last-Event-ID: 2-1", "Accept: text/event-stream"))
	if diff := cmp.Diff(rest, again); diff != "" {
		t.Errorf("the rest of the stream (-first +again):\n%s", diff)
	}
}

// An answer that comes alone comes as JSON, however busy the server is.
func TestHTTPOneAnswerIsPlain(t *testing.T) {
	s := newSite(t, refserver.Options{})
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
					t.Errorf("an answer alone is %s", got)
				}
				_ = w.Body.Close()
			}
		})
	}
	side.Wait()
}

// With JSON alone, a call reports no progress and can't ask; what belongs to
// the session comes where the client listens.
func TestHTTPJSONOnly(t *testing.T) {
	s := newSite(t, refserver.Options{JSONOnly: true})
	listening := s.do("GET", "", "Accept: text/event-stream")
	w := s.do("POST", slowHTTP)
	if got := w.Header.Get("Content-Type"); got != "application/json" {
		t.Fatalf("the answer is %s", got)
	}
	if got := text(t, w); !strings.Contains(got, `"id":3,"result"`) {
		t.Errorf("the answer is %s", got)
	}
	if got := text(t, s.do("POST", callHTTP("ask-ping"))); !strings.Contains(got, `"isError":true`) {
		t.Errorf("a tool that asks says %s", got)
	}
	text(t, s.do("POST", callHTTP("log")))
	for in := bufio.NewScanner(listening.Body); in.Scan(); {
		switch {
		case strings.Contains(in.Text(), "notifications/progress"):
			t.Error("progress came on the listening stream")
		case strings.Contains(in.Text(), "notifications/message"):
			return
		}
	}
	t.Error("no log message came")
}

// The older transport: one stream, which names where messages are posted.
func TestSSE(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := httptest.NewServer(refserver.NewSSEHandler(ctx, refserver.Options{}))
	defer server.Close()
	s := &site{t: t, url: server.URL + "/sse"}
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
		{"initialize", helloHTTP, nil, 202},
		{"no JSON type", pingHTTP, []string{"Content-Type: text/plain"}, 415},
		{"a foreign page", pingHTTP, []string{"Origin: http://evil.example"}, 403},
	} {
		if w := s.do("POST", c.body, c.headers...); w.StatusCode != c.want {
			t.Errorf("%s: %d instead of %d", c.name, w.StatusCode, c.want)
		}
	}
	if got := next("data: "); !strings.Contains(got, `"id":1,"result"`) {
		t.Errorf("the answer is %s", got)
	}
	cancel()
	rest := 0
	for in.Scan() && rest < 3 { // the blank line behind the last event may still come
		rest++
	}
	if rest > 1 {
		t.Error("the stream goes on")
	}
	s.url = server.URL + "/sse?sessionId=none"
	if w := s.do("POST", pingHTTP); w.StatusCode != 404 {
		t.Errorf("a session that is none: %d", w.StatusCode)
	}
}

// Without sessions a message needs nothing but itself, and what it can't have
// by itself is not offered.
func TestHTTPWithoutSessions(t *testing.T) {
	server := httptest.NewServer(refserver.NewHTTPHandler(t.Context(), refserver.Options{NoSessions: true}))
	t.Cleanup(server.Close)
	s := &site{t: t, url: server.URL + "/mcp"}
	const list = `{"jsonrpc":"2.0","id":4,"method":"tools/list"}`
	for _, c := range []struct {
		name, method, body, header string
		status                     int
		says, saysNot              string
	}{
		{"initialize", "POST", helloHTTP, "", 200, `"protocolVersion":"2025-11-25"`, `"tasks"`},
		{"the first transport's revision", "POST", strings.Replace(helloHTTP, "2025-11-25", "2024-11-05", 1), "", 200, `"protocolVersion":"2025-11-25"`, ""},
		{"initialized", "POST", readyHTTP, "", 202, "", ""},
		{"a list", "POST", list, "MCP-Protocol-Version: 2025-11-25", 200, `"icons"`, ""},
		{"a list without a version", "POST", list, "", 200, `"annotations"`, `"icons"`},
		{"a version that is none", "POST", list, "MCP-Protocol-Version: 2024-11-05", 400, "", ""},
		{"a call", "POST", callHTTP("fail"), "", 200, `"isError":true`, ""},
		{"a call that would ask", "POST", callHTTP("ask-ping"), "", 200, `"code":-32602`, ""},
		{"a level", "POST", `{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"error"}}`, "", 200, `"code":-32601`, ""},
		{"listening", "GET", "", "", 405, "", ""},
		{"the end", "DELETE", "", "", 405, "", ""},
	} {
		w := s.do(c.method, c.body, c.header)
		got := text(t, w)
		if w.StatusCode != c.status || !strings.Contains(got, c.says) || c.saysNot != "" && strings.Contains(got, c.saysNot) || w.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %d %v %s", c.name, w.StatusCode, w.Header, got)
		}
	}
}

// Pages of origins that were named may use the server, and their browsers are
// told so; the server answers to the names that were given alone.
func TestHTTPPolicy(t *testing.T) {
	s := newSite(t, refserver.Options{Origins: []string{"https://app.example"}, Hosts: []string{"127.0.0.1", "mcp.example"}})
	for _, c := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"a page that was named", []string{"Origin: https://app.example"}, 200},
		{"another page", []string{"Origin: https://other.example"}, 403},
		{"a name of the server", []string{"Host: MCP.example:8080"}, 200},
		{"a page of the server", []string{"Host: mcp.example", "Origin: http://mcp.example"}, 200},
		{"a name that was not given", []string{"Host: localhost"}, 403},
	} {
		if w := s.do("POST", pingHTTP, c.headers...); w.StatusCode != c.want {
			t.Errorf("%s: %d instead of %d", c.name, w.StatusCode, c.want)
		}
	}
	w := s.do("OPTIONS", "", "Origin: https://app.example", "Access-Control-Request-Method: POST")
	if got := w.Header.Get("Access-Control-Allow-Origin"); w.StatusCode != 204 || got != "https://app.example" {
		t.Errorf("a browser that asks beforehand gets %d, %q", w.StatusCode, got)
	}
	if w := s.do("OPTIONS", ""); w.StatusCode != 405 {
		t.Errorf("OPTIONS without a page gets %d", w.StatusCode)
	}
}

// A server at an address can be reached there over either transport, and is
// gone when it is closed.
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
			t.Errorf("it is at %s", server.URL)
		}
		s := &site{t: t, url: server.URL.String()}
		if w := s.do("PUT", "{}"); w.StatusCode != 405 {
			t.Errorf("PUT at %s: %s", server.URL, w.Status)
		}
		if _, err := refserver.Listen(t.Context(), server.URL.Host, c.over, refserver.Options{}); err == nil {
			t.Error("an address is served twice")
		}
		server.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := http.DefaultClient.Do(r); err == nil {
			_ = w.Body.Close()
			t.Error("it goes on when it is closed")
		}
	}
}

// TestDeathOverHTTP: where a fault ends the process, the connections break in
// the middle of what they carry, and no new ones are taken.
func TestDeathOverHTTP(t *testing.T) {
	for _, over := range []spec.Transport{spec.StreamableHTTP, spec.SSE} {
		server, err := refserver.Listen(t.Context(), "127.0.0.1:0", over, refserver.Options{Seams: refserver.Seams{
			Incoming: func(*refserver.Session, []byte) refserver.Verdict { return refserver.Die(1) },
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		s := &site{t: t, url: server.URL.String()}
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
					t.Error("the stream ended as if all had been said")
				}
			}()
			s.url += "?" + query
		}
		w, err := http.DefaultClient.Do(s.request("POST", helloHTTP))
		if err == nil {
			_ = w.Body.Close()
		}
		if over == spec.StreamableHTTP && err == nil {
			t.Errorf("the POST was answered with %s", w.Status)
		}
		if err := <-server.Failed(); err == nil {
			t.Errorf("over %s nobody is told", over)
		}
		if w, err := http.DefaultClient.Do(s.request("POST", pingHTTP)); err == nil {
			_ = w.Body.Close()
			t.Errorf("over %s a new connection is taken: %s", over, w.Status)
		}
	}
}
