package refserver_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// TestShutdownOverHTTP checks that Shutdown waits for the response to a request in
// flight and refuses new requests.
func TestShutdownOverHTTP(t *testing.T) {
	server, err := refserver.Listen(t.Context(), "127.0.0.1:0", spec.StreamableHTTP, refserver.Options{DrainTimeout: testTimeout})
	if err != nil {
		t.Fatal(err)
	}
	s := &httpClient{t: t, url: server.URL.String()}
	s.session = s.do("POST", initializeBody).Header.Get("Mcp-Session-Id")
	listening := s.do("GET", "", "Accept: text/event-stream")
	w := s.do("POST", strings.Replace(slowCallBody, `"durationMs":20`, `"durationMs":300`, 1))
	in := bufio.NewScanner(w.Body)
	for in.Scan() && !strings.Contains(in.Text(), "notifications/progress") {
		continue
	}
	ended := make(chan struct{})
	go func() { server.Shutdown(context.WithoutCancel(t.Context())); close(ended) }()
	for {
		w, err := http.DefaultClient.Do(s.request("POST", pingBody))
		if err != nil || w.StatusCode != 200 {
			if err == nil && w.StatusCode != 503 {
				t.Errorf("a new request got status %d, want 503", w.StatusCode)
			}
			break
		}
		_ = w.Body.Close()
	}
	responded := false
	for in.Scan() {
		responded = responded || strings.Contains(in.Text(), `"id":3,"result"`)
	}
	if !responded {
		t.Error("the call in flight got no response")
	}
	bodyText(t, listening)
	<-ended
}

// TestShutdownOverSSE checks that Shutdown of a server over HTTP+SSE waits for the response
// to a request in flight.
func TestShutdownOverSSE(t *testing.T) {
	server, err := refserver.Listen(t.Context(), "127.0.0.1:0", spec.SSE, refserver.Options{DrainTimeout: testTimeout})
	if err != nil {
		t.Fatal(err)
	}
	s := &httpClient{t: t, url: server.URL.String()}
	in := bufio.NewScanner(s.do("GET", "").Body)
	until := func(part string) string {
		for in.Scan() {
			if strings.Contains(in.Text(), part) {
				return in.Text()
			}
		}
		t.Fatalf("the stream ended without %s", part)
		return ""
	}
	s.url = "http://" + server.URL.Host + strings.TrimPrefix(until("data: "), "data: ")
	s.do("POST", initializeBody)
	until(`"id":1,"result"`)
	s.do("POST", strings.Replace(slowCallBody, `"durationMs":20`, `"durationMs":300`, 1))
	until("notifications/progress")
	server.Shutdown(t.Context())
	until(`"id":3,"result"`)
}
