package engine_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
)

// TestInitializeWithoutResponseOnAnOpenStream checks that a stream that the server ends because the
// client ends the session is not reported as one that ended before the response.
func TestInitializeWithoutResponseOnAnOpenStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ends   bool // at once
		within time.Duration
		want   string
	}{ // a busy machine may need long for the head of a response
		"that stays open": {false, time.Second, "an event stream that got no response within 1s, only comments or empty events"},
		"that ends":       {true, 20 * time.Second, "an event stream that ended without the response"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deleted := make(chan struct{})
			once := sync.OnceFunc(func() { close(deleted) })
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					once()
					return
				}
				if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), `"initialize"`) {
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Mcp-Session-Id", "a")
				_, _ = io.WriteString(w, "id: 1\ndata:\n\n")
				_ = http.NewResponseController(w).Flush()
				if !c.ends {
					<-deleted
				}
			}))
			defer server.Close()
			defer once()
			u, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			_, err = engine.Run(t.Context(), engine.Options{
				Dialer: streamablehttp.NewDialer(u, exchange.Reach{}), Cases: areaCases(false), Revisions: []spec.Revision{spec.V20251125},
				StartTimeout: c.within,
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}
