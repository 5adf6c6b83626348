package record

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A proxied is a proxy and the server behind it.
type proxied struct {
	*Proxy
	url    string // of the MCP endpoint, at the proxy
	direct string // at the server
	said   func() []string
	stop   func() // ends the proxy, and with it all exchanges
}

// startProxy starts a proxy for a server.
func startProxy(t testing.TB, server http.HandlerFunc) *proxied {
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	return startProxyTo(t, s.URL)
}

func startProxyTo(t testing.TB, origin string) *proxied {
	t.Helper()
	u, err := url.Parse(origin + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var said []string
	p := NewProxy(u, "127.0.0.1", func(line string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, line)
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx, l) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return &proxied{Proxy: p, url: "http://" + l.Addr().String() + "/mcp", direct: u.String(), stop: stop, said: func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(said)
	}}
}

// fetch sends a request with these headers, each "Name: value".
func fetch(t testing.TB, method, url string, body io.Reader, headers ...string) (*http.Response, []byte) {
	r, err := http.NewRequestWithContext(context.Background(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	got, _ := io.ReadAll(response.Body)
	return response, got
}

// recordedBodies returns the recorded bodies of requests if sent, else those of responses.
func recordedBodies(rec *transcript.Transcript, sent bool) []byte {
	var b []byte
	for _, e := range rec.From(0) {
		switch {
		case e.Kind == transcript.Sent && sent, e.Kind == transcript.Received && !sent && e.Stream == nil:
			b = append(b, e.Raw...)
		case !sent:
			b = append(b, e.Stream...)
		}
	}
	return b
}

// TestBodiesAreUnchanged is a law: whatever a client posts, in HTTP chunks or with a length, reaches
// an echoing server and comes back unchanged, as a stream or not, and is recorded in both
// directions.
func TestBodiesAreUnchanged(t *testing.T) {
	p := startProxy(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		w.Header().Set(sessionHeader, r.Header.Get("Want-Session"))
		all, _ := io.ReadAll(r.Body)
		if r.Header.Get("Flush") == "" {
			_, _ = w.Write(all)
			return
		}
		for chunk := range slices.Chunk(all, 7) {
			_, _ = w.Write(chunk)
			_ = http.NewResponseController(w).Flush()
		}
	})
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		in := rapid.SliceOfN(rapid.SampledFrom([]byte("da:\n\n\r\x00\xff{}\"\xe2\x82\xac")), 0, 200).Draw(rt, "body")
		media := rapid.SampledFrom([]string{"application/json", transcript.EventStream, "application/octet-stream"}).Draw(rt, "type")
		headers := []string{"Content-Type: " + media}
		if rapid.Bool().Draw(rt, "flush") {
			headers = append(headers, "Flush: yes")
		}
		var body io.Reader = bytes.NewReader(in)
		if rapid.Bool().Draw(rt, "chunked") {
			body = io.MultiReader(body)
		}
		p.mu.Lock()
		p.sessions, p.byID, p.current, p.stateless = nil, map[string]*Session{}, nil, nil
		p.mu.Unlock()
		_, got := fetch(t, "POST", p.url, body, headers...)
		if !bytes.Equal(got, in) {
			rt.Errorf("the client gets %q, not %q", got, in)
		}
		rec := p.Sessions()[0].Transcript
		waitOver(t, rec, 1)
		for _, sent := range []bool{true, false} {
			if got := recordedBodies(rec, sent); !bytes.Equal(got, in) {
				rt.Errorf("recorded (of the client: %t) %q, not %q", sent, got, in)
			}
		}
	})
}

// waitOver waits until n exchanges are over.
func waitOver(t testing.TB, rec *transcript.Transcript, n int) []*transcript.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for at := 0; ; {
		events, err := rec.Wait(ctx, at)
		if err != nil {
			t.Fatalf("%v after %d events", err, at)
		}
		for _, e := range events {
			if at = e.Seq + 1; e.Kind == transcript.Over {
				n--
			}
		}
		if n <= 0 {
			return rec.From(0)
		}
	}
}

// TestHeadsAreUnchanged checks what reaches the server and the client. Only Host and
// Accept-Encoding change.
func TestHeadsAreUnchanged(t *testing.T) {
	var got http.Header
	var host, target string
	p := startProxy(t, func(w http.ResponseWriter, r *http.Request) {
		got, host, target = r.Header.Clone(), r.Host, r.RequestURI
		w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
		w.Header().Set("X-Own", "1")
		_, _ = io.WriteString(w, "<html>")
	})
	u, _ := url.Parse(p.url)
	origin, _ := url.Parse(p.direct)
	for _, c := range []struct{ host, want string }{
		{u.Host, origin.Host},
		{"localhost:" + u.Port(), origin.Host},
		{"evil.example:" + u.Port(), "evil.example:" + u.Port()}, // DNS rebinding
		{"127.0.0.1:1", "127.0.0.1:1"},
		{"localhost", "localhost"},
		{"[::1]:" + u.Port(), "[::1]:" + u.Port()},
	} {
		response, _ := fetch(t, "POST", p.url+"?a=1;b=%zz", strings.NewReader("{}"), "Host: "+c.host, "Origin: http://evil.example", "X-Forwarded-For: 192.0.2.1", "Accept-Encoding: br", "User-Agent: x")
		want := http.Header{"Origin": {"http://evil.example"}, "X-Forwarded-For": {"192.0.2.1"}, "Accept-Encoding": {"identity"}, "User-Agent": {"x"}, "Host": nil, "Content-Length": {"2"}}
		delete(want, "Host")
		got.Del("Host")
		delete(got, "Connection")
		if diff := cmp.Diff(want, got); diff != "" || host != c.want || target != "/mcp?a=1;b=%zz" {
			t.Errorf("%s: Host %s, target %s (-want +got):\n%s", c.host, host, target, diff)
		}
		delete(response.Header, "Connection")
		if diff := cmp.Diff(http.Header{"X-Own": {"1"}, "Content-Length": {"6"}}, response.Header); diff != "" {
			t.Errorf("response (-want +got):\n%s", diff)
		}
	}
}

// TestRedirectsStayAtTheProxy checks Location: one to the server's origin leads to the proxy.
func TestRedirectsStayAtTheProxy(t *testing.T) {
	var location string
	p := startProxy(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, location, http.StatusTemporaryRedirect)
	})
	origin := strings.TrimSuffix(p.direct, "/mcp")
	for to, want := range map[string]string{
		origin + "/mcp/": "/mcp/", origin: "/", "/other": "/other", "https://example.com/mcp": "https://example.com/mcp", origin + "0/mcp": origin + "0/mcp",
	} {
		location = to
		if response, _ := fetch(t, "POST", p.url, strings.NewReader("{}")); response.Header.Get("Location") != want {
			t.Errorf("%s becomes %s, not %s", to, response.Header.Get("Location"), want)
		}
	}
}

// TestStreamsPassAtOnce checks that an event reaches the client while the stream is open, and that
// an exchange that the client drops is dropped at the server.
func TestStreamsPassAtOnce(t *testing.T) {
	gone := make(chan struct{})
	p := startProxy(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", transcript.EventStream)
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "GET", p.url, nil)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if line, err := bufio.NewReader(response.Body).ReadString('}'); !strings.HasPrefix(line, "data: {") || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	cancel()
	<-gone
	events := waitOver(t, p.Sessions()[0].Transcript, 1)
	if last := events[len(events)-1]; last.How != transcript.Dropped {
		t.Errorf("the exchange is %s: %s", last.How, last.Detail)
	}
}

// TestEndings checks what the client gets and what is recorded if the server fails.
func TestEndings(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	hijacked := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}
	}
	for _, c := range []struct {
		name   string
		server http.HandlerFunc // nil for one that is not there
		status int
		how    transcript.How
		said   string
	}{
		{"not there", nil, 502, transcript.Unreachable, "can't be reached"},
		{"no response", hijacked(""), 502, transcript.Broken, "sent no response"},
		{"half a body", hijacked("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), 200, transcript.Broken, ""},
		{"an error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, 500, transcript.Complete, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := startProxyTo(t, closed.URL)
			if c.server != nil {
				p = startProxy(t, c.server)
			}
			response, body := fetch(t, "POST", p.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
			events := waitOver(t, p.Sessions()[0].Transcript, 1)
			if last := events[len(events)-1]; response.StatusCode != c.status || last.How != c.how {
				t.Errorf("status %d, %s; want %d, %s", response.StatusCode, last.How, c.status, c.how)
			}
			if said := strings.Join(p.said(), "\n"); !strings.Contains(said, c.said) || (said == "") != (c.said == "") || c.said != "" && !strings.Contains(string(body), c.said) {
				t.Errorf("said %q, and the client %q", said, body)
			}
		})
	}
}

// BenchmarkRequest measures a POST to an echoing server: through the proxy, and without it.
func BenchmarkRequest(b *testing.B) {
	p := startProxy(b, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	})
	for name, url := range map[string]string{"proxied": p.url, "direct": p.direct} {
		b.Run(name, func(b *testing.B) {
			times := make([]time.Duration, 0, b.N)
			for b.Loop() {
				began := time.Now()
				response, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":"x","method":"notifications/x"}`))
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				times = append(times, time.Since(began))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "µs/median")
		})
	}
}
