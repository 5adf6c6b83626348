package suitetest_test

import (
	"sync"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites"
)

func TestWaited(t *testing.T) {
	const ms = time.Millisecond
	ping, pong := `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`
	note := `{"jsonrpc":"2.0","method":"notifications/cancelled"}`
	type line struct {
		at   time.Duration
		kind transcript.Kind
		raw  string
	}
	for name, c := range map[string]struct {
		lines            []line
		longest, slowest time.Duration
	}{
		"after an answer": {[]line{{0, transcript.Sent, ping}, {9 * ms, transcript.Received, pong}, {309 * ms, transcript.Sent, note}}, 300 * ms, 9 * ms},
		"for an answer":   {[]line{{0, transcript.Sent, ping}, {900 * ms, transcript.Received, pong}, {901 * ms, transcript.Sent, note}}, ms, 900 * ms},
		"before the end":  {[]line{{0, transcript.Sent, note}, {200 * ms, transcript.InputClosed, ""}, {900 * ms, transcript.Exited, ""}}, 200 * ms, 0},
		"for an answer that never comes": {[]line{{0, transcript.Sent, ping}, {500 * ms, transcript.Sent, note}, {510 * ms, transcript.Sent, note}},
			10 * ms, 0},
		"between cases": {[]line{{0, transcript.Sent, note}, {ms, transcript.CaseBegan, ""}, {600 * ms, transcript.CaseBegan, ""}, {601 * ms, transcript.Sent, note}},
			ms, 0},
		"after it was left to later cases": {[]line{{0, transcript.Sent, note}, {ms, transcript.Remark, ""}, {200 * ms, transcript.Received, note}, {600 * ms, transcript.InputClosed, ""}},
			ms, 0},
	} {
		var events []*transcript.Event
		for i, l := range c.lines {
			e := &transcript.Event{Seq: i, At: l.at, Kind: l.kind}
			if l.raw != "" {
				e.Raw, e.Frame = []byte(l.raw), wire.Parse([]byte(l.raw))
			}
			events = append(events, e)
		}
		if w := suitetest.LongestWait(events); w.Longest != c.longest || w.Slowest != c.slowest {
			t.Errorf("%s: waited %v, and %v for the slowest answer; want %v and %v", name, w.Longest, w.Slowest, c.longest, c.slowest)
		}
	}
}

// TestNoCaseWaitsLong checks that a case waits only for the grace to show that
// no message arrives. A busy machine prolongs any wait, so a wait must be too
// long in each of several runs to fail.
func TestNoCaseWaitsLong(t *testing.T) {
	const runs, slack = 5, 20 * time.Millisecond
	for _, over := range []spec.Transport{spec.Stdio, spec.StreamableHTTP, spec.SSE} {
		t.Run(string(over), func(t *testing.T) {
			var long map[string]suitetest.Wait
			for range runs {
				found := map[string]suitetest.Wait{}
				for name, w := range waits(t, over) {
					if w.Longest > w.Allowed()+slack {
						found[name] = w
					}
				}
				for name := range long {
					if _, again := found[name]; !again {
						delete(long, name)
					}
				}
				if long == nil {
					long = found
				}
				if len(long) == 0 {
					return
				}
			}
			for name, w := range long {
				t.Errorf("%s: %v before %v at %d %s, where the slowest answer took %v", name, w.Longest, w.Before.Kind, w.Before.Seq, w.Before.Raw, w.Slowest)
			}
		})
	}
}

// waits judges the reference server in its last handshake revision over the
// transport, and returns the longest wait of each conversation by name.
func waits(t *testing.T, over spec.Transport) map[string]suitetest.Wait {
	t.Helper()
	d, stop := suitetest.ReferenceOver(over, refserver.Options{})
	defer stop()
	revision := spec.V20251125
	if over == spec.SSE {
		revision = spec.V20241105
	}
	var mu sync.Mutex
	all := map[string]suitetest.Wait{}
	_, err := engine.Run(t.Context(), engine.Options{
		Dialer: d, Cases: suites.Cases(), Rules: ruleset.All(), Revisions: []spec.Revision{revision}, Unconfirmed: true,
		Record: func(r engine.Recorded) {
			mu.Lock()
			defer mu.Unlock()
			all[r.Name] = suitetest.LongestWait(r.Events)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
