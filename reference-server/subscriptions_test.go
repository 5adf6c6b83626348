package refserver_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func listenBody(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + metaOnly + `}}`
}

var changeBody = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"trigger-list-changed",` + metaOnly + `}}`

// TestSubscriptionsEndGracefullyOverStdio checks that a subscription gets
// notifications/cancelled and a response when the server exits, at the end of the input and
// after TERM.
func TestSubscriptionsEndGracefullyOverStdio(t *testing.T) {
	for name, end := range map[string]func(r *stdioServer){
		"end of input": func(r *stdioServer) { r.in.Close() },
		"TERM":         func(r *stdioServer) { r.signals <- "TERM" },
	} {
		t.Run(name, func(t *testing.T) {
			r := startStdio(t, refserver.Options{})
			r.send(listenBody(`"a"`))
			r.nextLine()
			end(r)
			got := r.remainingLines()
			if len(got) != 2 || !strings.Contains(got[0], `"method":"notifications/cancelled"`) || !strings.Contains(got[0], `"requestId":"a"`) ||
				!strings.Contains(got[1], `"id":"a","result"`) || strings.Count(strings.Join(got, ""), `"io.modelcontextprotocol/subscriptionId":"a"`) != 2 ||
				!strings.Contains(got[1], `"resultType":"complete"`) {
				t.Errorf("got %q", got)
			}
			if code := r.exitCode(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// TestSubscriptionsEndGracefullyOverHTTP checks that a subscription over Streamable HTTP gets
// a response, without notifications/cancelled, when the server shuts down, with JSONOnly too.
func TestSubscriptionsEndGracefullyOverHTTP(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		server, err := refserver.Listen(t.Context(), "127.0.0.1:0", spec.StreamableHTTP, refserver.Options{DrainTimeout: testTimeout, JSONOnly: asJSON})
		if err != nil {
			t.Fatal(err)
		}
		s := &httpClient{t: t, url: server.URL.String()}
		w := s.do("POST", listenBody("7"), mirrored(listenBody("7"))...)
		if got := w.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("got Content-Type %s", got)
		}
		in := bufio.NewScanner(w.Body)
		for in.Scan() && !strings.Contains(in.Text(), "acknowledged") {
			continue
		}
		server.Shutdown(context.WithoutCancel(t.Context()))
		rest := ""
		for in.Scan() {
			rest += in.Text()
		}
		if !strings.Contains(rest, `"id":7,"result"`) || strings.Contains(rest, "cancelled") {
			t.Errorf("after Shutdown the stream ends with %q", rest)
		}
	}
}

// TestSubscriptionEndsWithItsStream checks that a subscription over HTTP ends when the
// client closes the stream, and that the client can then use its id again.
func TestSubscriptionEndsWithItsStream(t *testing.T) {
	ended := make(chan struct{}, 2)
	p := startHTTP(t, refserver.Options{Seams: refserver.Seams{
		Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			if c.Method == spec.MethodListen {
				defer func() { ended <- struct{}{} }()
			}
			return next(c)
		},
	}})
	s := &httpClient{t: t, url: p.url}
	ctx, cancel := context.WithCancel(t.Context())
	w, err := http.DefaultClient.Do(s.request("POST", listenBody("1"), mirrored(listenBody("1"))...).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	if in := bufio.NewScanner(w.Body); !in.Scan() {
		t.Fatal("no acknowledgement")
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(testTimeout):
		t.Fatal("the subscription goes on without the client")
	}
	p.send(listenBody("1"))
	if got := p.nextLine(); !strings.Contains(got, "acknowledged") {
		t.Errorf("a second subscription gets %s", got)
	}
	p.send(changeBody)
	for range 2 {
		if got := p.nextLine(); !strings.Contains(got, "list_changed") && !strings.Contains(got, `"id":9,"result"`) {
			t.Errorf("got %s", got)
		}
	}
}
