package load_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/load"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// transports are the transports to test, each with its newest handshake revision.
var transports = map[spec.Transport]spec.Revision{
	spec.Stdio: spec.V20251125, spec.StreamableHTTP: spec.V20251125, spec.SSE: spec.V20241105,
}

// number returns a number from the environment.
func number(t *testing.T, name string, standard int) int {
	t.Helper()
	text, ok := os.LookupEnv(name)
	if !ok {
		return standard
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestSideBySide holds concurrent sessions with the reference server, and
// judges them with the rules.
//
// MCP_CONFORM_LOAD_SESSIONS is the number of sessions, MCP_CONFORM_LOAD_RATE
// the number of requests per second of all sessions together, and
// MCP_CONFORM_LOAD_SECONDS how long new sessions begin. If that is more than a
// second, the memory in use must not grow.
func TestSideBySide(t *testing.T) {
	sessions, rate, seconds := number(t, "MCP_CONFORM_LOAD_SESSIONS", 16), number(t, "MCP_CONFORM_LOAD_RATE", 0), number(t, "MCP_CONFORM_LOAD_SECONDS", 0)
	// Clients, server and judges share this process and allocate a lot of
	// short-lived memory.
	defer debug.SetGCPercent(debug.SetGCPercent(300))
	for over, revision := range transports {
		t.Run(string(over), func(t *testing.T) {
			dialer, stop := suitetest.ReferenceOver(over, refserver.Options{RequestTimeout: time.Minute}) // a client that waits for a core must not look unresponsive
			defer stop()
			memory := watch(time.Duration(seconds) * time.Second)
			report := load.Run(t.Context(), load.Plan{
				Dialer: dialer, Revision: revision, Sessions: sessions, Requests: 42, Rate: float64(rate), Time: time.Duration(seconds) * time.Second,
			})
			t.Logf("%d sessions, %d at once: %d requests in %v, %.0f a second while sessions were begun, the slowest took %v",
				report.Sessions, sessions, report.Requests, report.Took.Round(time.Millisecond), float64(report.InTime)/report.Time.Seconds(), report.Slowest.Round(time.Millisecond))
			for _, complaint := range report.Complaints() {
				t.Error(complaint)
			}
			memory.judge(t)
		})
	}
}

// gauge measures the memory in use during the test.
type gauge struct {
	stop, done chan struct{}
	live       []uint64
	most       uint64
}

// watch measures the memory until judge is called: ten times within the duration, but not more
// often than every 100 ms.
func watch(within time.Duration) *gauge {
	g := &gauge{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(g.done)
		every := time.NewTicker(max(within/10, 100*time.Millisecond))
		defer every.Stop()
		for {
			select {
			case <-every.C:
				g.measure()
			case <-g.stop:
				return
			}
		}
	}()
	return g
}

func (g *gauge) measure() {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	g.live = append(g.live, m.HeapAlloc>>20)
	g.most = max(g.most, m.Sys>>20)
}

// judge compares the memory in use in the second half of the time with that in
// the first half.
func (g *gauge) judge(t *testing.T) {
	close(g.stop)
	<-g.done
	t.Logf("MiB in use, in the order of time: %v; at most %d from the system; %d goroutines are left", g.live, g.most, runtime.NumGoroutine())
	if len(g.live) < 8 {
		return
	}
	half := len(g.live) / 2
	if before, after := most(g.live[1:half]), most(g.live[half:]); after > before+before/2+32 {
		t.Errorf("the memory in use grew from %d to %d MiB", before, after)
	}
}

func most(values []uint64) (n uint64) {
	for _, v := range values {
		n = max(n, v)
	}
	return n
}
