package record

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestOpenings is a law: whatever the chunks of a stream, its bytes pass unchanged, except those of
// an absolute URL of the server in an endpoint event that is the first event.
func TestOpenings(t *testing.T) {
	p := NewProxy(&url.URL{Scheme: "http", Host: "server:3000", Path: "/sse"}, "", func(string) {})
	first := []string{ // what the server sends, and what the client gets
		"event: endpoint\ndata: /m?id=1\n\n", "event: endpoint\ndata: /m?id=1\n\n",
		"event:endpoint\r\ndata:http://server:3000/m?id=1\r\n\r\n", "event:endpoint\r\ndata:/m?id=1\r\n\r\n",
		"data: HTTP://Server:3000/m\revent: endpoint\r\r", "data: /m\revent: endpoint\r\r",
		"id: 7\nevent: endpoint\ndata: //server:3000/m\nretry: 5\n\n", "id: 7\nevent: endpoint\ndata: /m\nretry: 5\n\n",
		"event: endpoint\ndata: http://server:3000//m/\n\n", "event: endpoint\ndata: /.//m/\n\n",
		"event: endpoint\ndata: http://server:3000\n\n", "event: endpoint\ndata: /\n\n",
		"event: endpoint\ndata: http://other:3000/m\n\n", "event: endpoint\ndata: http://other:3000/m\n\n",
		"event: endpoint\ndata: http://server/m\n\n", "event: endpoint\ndata: http://server/m\n\n",
		"event: endpoint\ndata: https://server:3000/m\n\n", "event: endpoint\ndata: https://server:3000/m\n\n",
		"event: endpoint\ndata: http://server:3000/m", "event: endpoint\ndata: http://server:3000/m", // is cut off
		"data: http://server:3000/m\n\n", "data: http://server:3000/m\n\n",
	}
	rapid.Check(t, func(rt *rapid.T) {
		before := rapid.SampledFrom([]string{"", "\xef\xbb\xbf", ": hi\n", ": hi\n\n: ho\n", "retry: 5\n\n"}).Draw(rt, "before")
		i := 2 * rapid.IntRange(0, len(first)/2-1).Draw(rt, "first")
		after := rapid.SampledFrom([]string{"", "event: endpoint\ndata: http://server:3000/m\n\n", "data: {}\n\n: ", "\x00\xff"}).Draw(rt, "after")
		if !strings.HasSuffix(first[i], "\n\n") && !strings.HasSuffix(first[i], "\n\r\n") && !strings.HasSuffix(first[i], "\r\r") {
			after = ""
		}
		stream := before + first[i] + after
		o := &opening{x: &liveExchange{p: p}, base: p.url}
		var got []byte
		for stream != "" {
			n := rapid.IntRange(1, len(stream)).Draw(rt, "bytes")
			got = append(got, o.feed([]byte(stream[:n]))...)
			stream = stream[n:]
			if o.over {
				got = append(got, stream...)
				break
			}
		}
		if !o.over {
			got = append(got, o.finish()...)
		}
		if want := before + first[i+1] + after; string(got) != want {
			rt.Errorf("the client gets %q, not %q", got, want)
		}
	})
}

// TestOpeningsPassAtOnce checks that only an incomplete event is held back.
func TestOpeningsPassAtOnce(t *testing.T) {
	o := &opening{}
	for _, c := range []struct{ in, want string }{
		{": keep", ""}, {"-alive\r\n", ": keep-alive\r\n"}, {":\nid: 1\n", ":\n"}, {"data: x\n", ""}, {"\nda", "id: 1\ndata: x\n\nda"},
	} {
		if got := o.feed([]byte(c.in)); string(got) != c.want {
			t.Errorf("after %q, %q passes, not %q", c.in, got, c.want)
		}
	}
}

func TestLongOpeningsPass(t *testing.T) {
	o := &opening{}
	long := []byte("data: " + strings.Repeat("x", openingKept))
	if got := o.feed(long); !o.over || len(got) != len(long) {
		t.Errorf("%d of %d bytes have passed", len(got), len(long))
	}
}

// sseServer is a server over HTTP+SSE that echoes messages as events. endpoint returns
// the URL for the messages of the stream with this number.
func sseServer(endpoint func(r *http.Request, n int) string) http.HandlerFunc {
	var mu sync.Mutex
	n := 0
	streams := map[string]chan string{}
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			out := make(chan string, 10)
			mu.Lock()
			n++
			to := endpoint(r, n)
			u, _ := url.Parse(to)
			streams[u.RequestURI()] = out
			mu.Unlock()
			w.Header().Set("Content-Type", transcript.EventStream)
			_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", to)
			_ = http.NewResponseController(w).Flush()
			for {
				select {
				case message := <-out:
					if message == "end" {
						return
					}
					_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", message)
					_ = http.NewResponseController(w).Flush()
				case <-r.Context().Done():
					return
				}
			}
		case r.URL.Path == "/mcp" && r.URL.RawQuery == "":
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			out := streams[r.RequestURI]
			mu.Unlock()
			out <- string(body)
			w.WriteHeader(http.StatusAccepted)
		}
	}
}

// A stream is the client's end of a stream of HTTP+SSE.
type stream struct {
	t        *testing.T
	lines    *bufio.Reader
	endpoint string // where messages go
	close    func()
}

func openStream(t *testing.T, at string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", transcript.EventStream)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{t: t, lines: bufio.NewReader(response.Body), close: sync.OnceFunc(func() { cancel(); _ = response.Body.Close() })}
	t.Cleanup(s.close)
	u, err := response.Request.URL.Parse(s.nextData())
	if err != nil {
		t.Fatal(err)
	}
	s.endpoint = u.String()
	return s
}

// nextData returns the data of the next event, or "" at the end of the stream.
func (s *stream) nextData() string {
	for {
		line, err := s.lines.ReadString('\n')
		if data, found := strings.CutPrefix(line, "data: "); found || err != nil {
			return strings.TrimSpace(data)
		}
	}
}

// describeSession lists the transport of a session, its messages, the end of its output and its
// remarks.
func describeSession(s *Session) string {
	out := []string{string(s.Transport())}
	for _, e := range s.From(0) {
		for _, m := range e.Messages() {
			out = append(out, string(e.Kind)+" "+m.Method)
		}
		if e.Kind == transcript.OutputClosed || e.Kind == transcript.Remark {
			out = append(out, strings.TrimSpace(string(e.Kind)+" "+e.Detail))
		}
	}
	return strings.Join(out, ", ")
}

// TestSSESessions checks that each stream of HTTP+SSE is a session, with the messages to its URL,
// that all of them pass the proxy, and how a session ends.
func TestSSESessions(t *testing.T) {
	const notification = `{"jsonrpc":"2.0","method":%q}`
	for _, c := range []struct {
		name     string
		endpoint func(r *http.Request, n int) string
		want     []string
	}{
		{"a query parameter", func(_ *http.Request, n int) string { return fmt.Sprintf("/mcp?sessionId=%d&x=%%20", n) }, nil},
		{"an absolute URL with a path", func(r *http.Request, n int) string { return fmt.Sprintf("http://%s/messages/%d", r.Host, n) }, nil},
		{"one URL for all", func(*http.Request, int) string { return "/messages" }, []string{
			"sse, remark nothing is recorded from here on: the server gives several clients the same URL for messages, so their sessions can't be told apart",
			"sse, remark nothing is recorded from here on: the server gives several clients the same URL for messages, so their sessions can't be told apart",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := startProxy(t, sseServer(c.endpoint))
			a, b := openStream(t, p.url), openStream(t, p.url)
			if c.want == nil {
				c.want = []string{"sse, sent a1, received a1, sent a2, received a2", "sse, sent b1, received b1, output-closed"}
				for _, to := range []struct {
					*stream
					method string
				}{{a, "a1"}, {b, "b1"}, {a, "a2"}} {
					if !strings.HasPrefix(to.endpoint, strings.TrimSuffix(p.url, "/mcp")) {
						t.Fatalf("messages go to %s", to.endpoint)
					}
					fetch(t, "POST", to.endpoint, strings.NewReader(fmt.Sprintf(notification, to.method)))
					if got := to.nextData(); got != fmt.Sprintf(notification, to.method) {
						t.Errorf("the client gets %q", got)
					}
				}
				fetch(t, "POST", b.endpoint, strings.NewReader("end"))
				if rest := b.nextData(); rest != "" {
					t.Errorf("after the end comes %q", rest)
				}
			}
			a.close()
			p.stop()
			got := make([]string, 0, 2)
			for _, s := range p.Sessions() {
				got = append(got, describeSession(s))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestSSEAfterRefusal checks a client that tries Streamable HTTP first: the attempt is a session of
// its own, and it is no mistake of the client that it initializes again with the same id.
func TestSSEAfterRefusal(t *testing.T) {
	p := startProxy(t, sseServer(func(*http.Request, int) string { return "/messages?id=1" }))
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize"}`
	accept := "Accept: application/json, " + transcript.EventStream
	if response, _ := fetch(t, "POST", p.url, strings.NewReader(initialize), accept); response.StatusCode != 405 {
		t.Fatal(response.Status)
	}
	s := openStream(t, p.url)
	fetch(t, "POST", s.endpoint, strings.NewReader(initialize))
	s.nextData()
	s.close()
	p.stop()
	got := make([]string, 0, 2)
	for _, s := range p.Sessions() {
		got = append(got, describeSession(s))
		for _, m := range ClientMistakes(s.From(0), s.Transport()) {
			t.Errorf("the client is wrong: %s", m.Summary)
		}
	}
	if diff := cmp.Diff([]string{"sse, sent initialize", "sse, sent initialize, received initialize"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPollsShareASession checks that a browser or a health check does not use up the sessions.
func TestPollsShareASession(t *testing.T) {
	p := startProxy(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) })
	for range 3 {
		fetch(t, "GET", p.url, nil)
		waitListening(p, 0)
	}
	p.stop()
	if n := len(p.Sessions()); n != 1 {
		t.Errorf("%d sessions are recorded", n)
	}
}

// waitListening waits until n GETs of the current session are not over.
func waitListening(p *proxied, n int) {
	for {
		p.mu.Lock()
		done := p.current.listening == n
		p.mu.Unlock()
		if done {
			return
		}
		runtime.Gosched()
	}
}

// TestStreamsWithoutSessionIDs checks that a client of Streamable HTTP without a session id keeps
// its session when it opens a stream.
func TestStreamsWithoutSessionIDs(t *testing.T) {
	p := startProxy(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", transcript.EventStream)
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\nevent: endpoint\ndata: /messages\n\n")
		}
	})
	fetch(t, "POST", p.url, strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`))
	_, got := fetch(t, "GET", p.url, nil)
	if !strings.HasSuffix(string(got), "data: /messages\n\n") {
		t.Errorf("the client gets %q", got)
	}
	p.stop()
	sessions := p.Sessions()
	if len(sessions) != 1 || describeSession(sessions[0]) != "streamable-http, sent initialize, received x" {
		t.Errorf("%d sessions: %s", len(sessions), describeSession(sessions[0]))
	}
	if i := slices.IndexFunc(sessions, func(s *Session) bool { return s.Transport() != spec.StreamableHTTP }); i >= 0 {
		t.Errorf("session %d is one of HTTP+SSE", i)
	}
}

// TestRecordedHost checks that the recorded Host is the one that the server gets, because a server
// may make its endpoint URL from it.
func TestRecordedHost(t *testing.T) {
	p := startProxy(t, sseServer(func(r *http.Request, _ int) string { return "http://" + r.Host + "/messages" }))
	openStream(t, p.url).close()
	p.stop()
	want := strings.TrimSuffix(strings.TrimPrefix(p.direct, "http://"), "/mcp")
	for _, e := range p.Sessions()[0].From(0) {
		if e.Kind == transcript.Requested && !strings.Contains(string(e.Raw), "Host: "+want) {
			t.Errorf("the server at %s got the request that is recorded as %q", want, e.Raw)
		}
	}
}
