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
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// leaky is an HTTP server that mixes up sessions: for a while after one session
// sends the method talks, it sends the others a notification before each
// response.
type leaky struct {
	toy
	tells string // the method of the notification

	mu       sync.Mutex
	sessions int
	talker   string
	until    time.Time
}

const (
	talks   = "com.example/talk"
	talking = 150 * time.Millisecond
)

func (l *leaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m := &wire.Parse(body).Messages[0]
	l.mu.Lock()
	defer l.mu.Unlock()
	id := r.Header.Get("Mcp-Session-Id")
	if m.Method == spec.MethodInitialize {
		l.sessions++
		id = fmt.Sprint("session-", l.sessions)
		w.Header().Set("Mcp-Session-Id", id)
	}
	if m.Method == talks {
		l.talker, l.until = id, time.Now().Add(talking/5)
	}
	switch {
	case m.Kind != wire.Request:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == spec.MethodPing && id != l.talker && time.Now().Before(l.until):
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: %s\n\n", wire.NewNotification(l.tells, nil), l.usualResponse(m))
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(l.usualResponse(m))
	}
}

// TestMessagesFromOtherSessions checks that a message that reaches a session
// only while others are served is a warning. When retried alone, it would be
// flaky.
func TestMessagesFromOtherSessions(t *testing.T) {
	const tells = "notifications/message"
	noNotification := rules.Rule{ID: "rule.no-notification", Title: "no notification", Requirements: []string{pinged}, Start: func() rules.Fold {
		return rules.Fold{OnEvent: func(_ *rules.Session, e *transcript.Event, out *rules.Reporter) {
			for _, m := range e.Messages() {
				if e.Kind == transcript.Received && m.Kind == wire.Notification {
					out.Report(verdict.Deviation{Requirement: pinged, Summary: "told", Permitted: "silence", Seen: "words", At: []int{e.Seq}})
				}
			}
		}}
	}}
	asking := func(id, method string, long time.Duration) suite.Case {
		return suite.Case{ID: id, Title: "ask for a while", Provokes: []string{pinged}, Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			for end := time.Now().Add(long); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(talking / 10) {
				c.Do(ctx, method, nil)
			}
		}}
	}
	for _, c := range []struct {
		name, tells string
		cases       []suite.Case
		want        []string
	}{
		{"messages of another session", tells, []suite.Case{asking("toy.listens", spec.MethodPing, 2*talking), asking("toy.talks", talks, talking)}, []string{"warning true words; only while other clients are served"}},
		{"what a server may tell all", spec.MethodToolsChanged, []suite.Case{asking("toy.listens", spec.MethodPing, 2*talking), asking("toy.talks", talks, talking)}, []string{"flaky false words"}},
		{"nobody talks", tells, []suite.Case{asking("toy.listens", spec.MethodPing, 2*talking)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(&leaky{toy: toy{speaks: []spec.Revision{spec.V20251125}}, tells: c.tells})
			defer server.Close()
			u, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			p, err := engine.Run(t.Context(), engine.Options{
				Dialer: streamablehttp.NewDialer(u, exchange.Reach{}), Cases: c.cases, Rules: []rules.Rule{noNotification}, Jobs: 2, Timeout: 20 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range p.Findings {
				got = append(got, fmt.Sprintf("%v %v %s", f.Outcome, f.Reproduced > 0, f.Seen))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
