package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
)

// areaCases returns 16 cases in two areas that share a conversation. If meet is
// set, the cases of one area wait until those of the other run, and observe
// nothing if those do not run.
func areaCases(meet bool) []suite.Case {
	here := map[string]chan bool{"tools": make(chan bool, 100), "prompts": make(chan bool, 100)}
	other := map[string]string{"tools": "prompts", "prompts": "tools"}
	var out []suite.Case
	for i := range 16 {
		area := "tools"
		if i >= 8 {
			area = "prompts"
		}
		c := pinging(true)
		c.ID = fmt.Sprintf("%s.case-%d", area, i)
		ping := c.Run
		c.Run = func(ctx context.Context, t *suite.T) {
			here[area] <- true
			if meet {
				select {
				case <-here[other[area]]:
				case <-time.After(10 * time.Second):
					t.GiveUp("the other area does not run")
				}
			}
			ping(ctx, t)
		}
		out = append(out, c)
	}
	return out
}

func TestCasesShareSeveralSessions(t *testing.T) {
	for _, c := range []struct {
		name     string
		sessions int // the number that the server opens
		meet     bool
	}{
		{"as many as wanted", 1 << 20, true},
		{"one alone", 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &spoilable{toy: toy{speaks: []spec.Revision{spec.V20251125}}, spoilt: map[string]bool{}}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s.mu.Lock()
				full := s.sessions >= c.sessions && r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == ""
				s.mu.Unlock()
				if full {
					http.Error(w, "one session is open", http.StatusConflict)
					return
				}
				s.ServeHTTP(w, r)
			}))
			defer server.Close()
			u, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			p, err := engine.Run(t.Context(), engine.Options{
				Dialer: streamablehttp.NewDialer(u, exchange.Reach{}), Cases: areaCases(c.meet), Timeout: 20 * time.Second,
				Revisions: []spec.Revision{spec.V20251125},
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(allOutcomes("kept", spec.V20251125), summary(p)); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if p.Stats.Cases != 16 {
				t.Errorf("%d cases ran", p.Stats.Cases)
			}
		})
	}
}

// TestBusyServerGetsFewLanes checks that a server whose responses are slow only at first gets as many
// shared conversations as one that is never slow.
func TestBusyServerGetsFewLanes(t *testing.T) {
	for _, c := range []struct {
		name   string
		isSlow func(session string) bool
		lanes  int
	}{
		{"slow in the first session", func(session string) bool { return session == "" || session == "session-1" }, 2},
		{"always slow", func(string) bool { return true }, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &spoilable{toy: toy{speaks: []spec.Revision{spec.V20251125}}, spoilt: map[string]bool{}}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.isSlow(r.Header.Get("Mcp-Session-Id")) {
					<-time.After(client.SlowResponse + 10*time.Millisecond)
				}
				s.ServeHTTP(w, r)
			}))
			defer server.Close()
			u, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			lanes := 0
			_, err = engine.Run(t.Context(), engine.Options{
				Dialer: streamablehttp.NewDialer(u, exchange.Reach{}), Cases: areaCases(false),
				Revisions: []spec.Revision{spec.V20251125},
				Record: func(r engine.Recorded) {
					mu.Lock()
					defer mu.Unlock()
					if r.Occasion == "shared" {
						lanes++
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if lanes != c.lanes {
				t.Errorf("%d conversations were shared, want %d", lanes, c.lanes)
			}
		})
	}
}
