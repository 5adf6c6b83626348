package engine_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// spoilable is an HTTP server. Once a session has sent spoilingMethod, it gets only empty streams as
// responses.
type spoilable struct {
	toy
	// resumable adds an event without a message to these streams, so that a
	// client can resume them: once with another such event, then with an empty
	// stream.
	resumable bool

	mu       sync.Mutex
	sessions int
	spoilt   map[string]bool
}

const spoilingMethod = "com.example/unbearable"

func (s *spoilable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch last := r.Header.Get("Last-Event-ID"); {
	case last != "":
		w.Header().Set("Content-Type", "text/event-stream")
		if last == "first" {
			_, _ = io.WriteString(w, "id: second\nretry: 1\ndata:\n\n")
		}
		return
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m := &wire.Parse(body).Messages[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.Header.Get("Mcp-Session-Id")
	if m.Method == spec.MethodInitialize {
		s.sessions++
		id = fmt.Sprint("session-", s.sessions)
		w.Header().Set("Mcp-Session-Id", id)
	}
	s.spoilt[id] = s.spoilt[id] || m.Method == spoilingMethod
	switch {
	case m.Kind != wire.Request:
		w.WriteHeader(http.StatusAccepted)
	case s.spoilt[id]:
		w.Header().Set("Content-Type", "text/event-stream")
		if s.resumable {
			_, _ = io.WriteString(w, "id: first\nretry: 1\ndata:\n\n")
		}
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.usualResponse(m))
	}
}

func TestLostSessionIsReplaced(t *testing.T) {
	for _, resumable := range []bool{false, true} {
		t.Run(fmt.Sprintf("resumable %v", resumable), func(t *testing.T) {
			t.Parallel()
			testReplaced(t, resumable)
		})
	}
}

func testReplaced(t *testing.T, resumable bool) {
	t.Helper()
	s := &spoilable{toy: toy{speaks: []spec.Revision{spec.V20251125}}, resumable: resumable, spoilt: map[string]bool{}}
	server := httptest.NewServer(s)
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := engine.Run(ctx, engine.Options{
		Dialer: streamablehttp.NewDialer(u, exchange.Reach{}), Cases: []suite.Case{spoilingCase, pinging(true)}, Timeout: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(allOutcomes("kept", spec.V20251125), summary(p)); diff != "" {
		t.Errorf("verdicts of the case after it (-want +got):\n%s", diff)
	}
}

// spoilingCase sends the method after which the server no longer serves the session.
var spoilingCase = suite.Case{ID: "toy.before", Title: "spoil the session", SharesConversation: true, Provokes: []string{pinged}, Run: func(ctx context.Context, t *suite.T) {
	t.Conversation(ctx).Do(ctx, spoilingMethod, nil)
}}

func TestServerThatHangsIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hanging sync.Map // starts whose server responds no more
		y := &toy{speaks: []spec.Revision{spec.V20251125}, answer: func(start int64, m *wire.Message) []byte {
			if m.Method == spoilingMethod {
				hanging.Store(start, true)
			}
			if _, hangs := hanging.Load(start); hangs {
				return []byte("silence")
			}
			return nil
		}}
		p, err := judge(t, y, engine.Options{Cases: []suite.Case{spoilingCase, pinging(true)}, Timeout: 500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(allOutcomes("kept", spec.V20251125), summary(p)); diff != "" {
			t.Errorf("verdicts of the case after it (-want +got):\n%s", diff)
		}
	})
}
