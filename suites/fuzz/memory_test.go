package fuzz_test

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// leakingVariable is the environment variable that makes the test binary run as a server that leaks
// memory.
const leakingVariable = "MCP_CONFORM_TEST_KEEPING"

func TestMain(m *testing.M) {
	what, ok := os.LookupEnv(leakingVariable)
	if !ok {
		os.Exit(m.Run())
	}
	os.Exit(refserver.ServeStdio(context.Background(), os.Stdin, os.Stdout, os.Stderr, nil, refserver.Options{Seams: leakingSeams(what)}))
}

// leakingSeams returns the seams of a server that leaks 64 KiB for each request of a kind.
func leakingSeams(what string) refserver.Seams {
	var mu sync.Mutex
	var kept [][]byte
	keep := func(most int) {
		mu.Lock()
		defer mu.Unlock()
		kept = append(kept, bytes.Repeat([]byte{1}, 64<<10))
		if most > 0 && len(kept) > most {
			kept = kept[1:]
		}
	}
	onRequest := func(most int) refserver.Seams {
		return refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			keep(most)
			return next(c)
		}}
	}
	onCancelled := func(most int) refserver.Seams {
		return refserver.Seams{HandleNotification: func(n *refserver.Notification, next func(*refserver.Notification)) {
			if n.Method == spec.MethodCancelled {
				keep(most)
			}
			next(n)
		}}
	}
	switch what {
	case "cancelled requests":
		return onCancelled(0)
	case "some cancelled requests":
		return onCancelled(200)
	case "requests":
		return onRequest(0)
	case "garbage":
		debug.SetGCPercent(800)
		return onRequest(1)
	default:
		return refserver.Seams{}
	}
}

func leakingDialer(t testing.TB, what string) transport.Dialer {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells how much memory a process has")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return stdio.NewDialer(stdio.Command{Argv: []string{self}, Env: append(os.Environ(), leakingVariable+"="+what)})
}

func repeating(method, params string) script.Script {
	m := script.Message{ID: wire.IntID(1), Method: method}
	if params != "" {
		m.Params = []byte(params)
	}
	return script.Script{Revision: spec.V20251125, Operations: []script.Operation{{Do: script.Repeat, Method: method, Message: m.Bytes()}}}
}

// TestMemory checks that a server that leaks memory with each request, or with each cancelled
// one, is noted, with different summaries. A server that keeps only some is not.
func TestMemory(t *testing.T) {
	skip.Slowest(t)
	if suitetest.RaceDetector {
		t.Skip("is about the memory of a server that is this binary")
	}
	const (
		each      = "base.request-answered"
		cancelled = "cancellation.free-resources"
		echo      = `{"name":"echo","arguments":{"text":"x"}}`
	)
	for _, c := range []struct {
		keeps, method, params string
		want                  []string
	}{
		{"nothing", spec.MethodPing, "", nil},
		{"nothing", spec.MethodToolsCall, echo, nil},
		{"nothing", spec.MethodToolsList, "", nil},
		{"some cancelled requests", spec.MethodPing, "", nil},
		{"garbage", spec.MethodPing, "", nil},
		{"cancelled requests", spec.MethodPing, "", []string{cancelled}},
		{"cancelled requests", spec.MethodToolsCall, echo, []string{cancelled}},
		{"requests", spec.MethodPing, "", []string{each}},
	} {
		t.Run(c.keeps+" of "+c.method, func(t *testing.T) {
			p := script.Player{Dialer: leakingDialer(t, c.keeps), Timeout: 5 * time.Second, Start: 20 * time.Second}
			began := time.Now()
			o := &fuzz.Execution{Playback: p.Play(t.Context(), repeating(c.method, c.params))}
			if len(o.Conversations) == 0 || len(o.Conversations[0].Growths) == 0 {
				t.Fatal("nothing was held", o.Refused)
			}
			g := o.Conversations[0].Growths[0]
			t.Logf("%v: %d, %d and %d windows %v", time.Since(began), len(g.Plain), len(g.Cancelled), len(g.After), g)
			if g.Why != "" || len(g.Plain) == 0 {
				t.Fatalf("nothing was seen: %s", g.Why)
			}
			var got []string
			for _, s := range fuzz.Judge(lawsWithIDs("memory-steady"), o) {
				if got = append(got, s.Requirement); s.Outcome != verdict.Note || s.Method != c.method {
					t.Errorf("%s: %s about %s", s.Summary, s.Outcome, s.Method)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMemoryOfSlowTools checks that slow requests are not repeated many times.
func TestMemoryOfSlowTools(t *testing.T) {
	p := script.Player{Dialer: leakingDialer(t, "nothing"), Timeout: 5 * time.Second, Start: 20 * time.Second}
	o := &fuzz.Execution{Playback: p.Play(t.Context(), repeating(spec.MethodToolsCall, `{"name":"slow","arguments":{"durationMs":60}}`))}
	if g := o.Conversations[0].Growths[0]; g.Why == "" || len(g.Plain) > 0 || len(fuzz.Judge(lawsWithIDs("memory-steady"), o)) > 0 {
		t.Errorf("%+v", g)
	}
}

// TestMemorySearched checks that a search finds a leak, confirms it and can replay it. If the
// server's memory can't be measured, the search says so at once.
func TestMemorySearched(t *testing.T) {
	skip.Slowest(t)
	o := fuzz.Options{
		Dialer: leakingDialer(t, "cancelled requests"), Laws: lawsWithIDs("memory-steady"), Revisions: []spec.Revision{spec.V20251125}, Jobs: 2,
		Time: time.Minute, Seed: 1, Shrink: fuzz.Budget{Time: 5 * time.Second, Attempts: 20}, StopAt: func(*fuzz.Finding) bool { return true },
	}
	report, err := fuzz.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) == 0 {
		t.Fatalf("nothing was found: %+v", report)
	}
	t.Logf("found after %v, made sure of after %v", report.Findings[0].After, report.Took)
	f := report.Findings[0]
	if f.Requirement != "cancellation.free-resources" || f.Outcome != verdict.Note || len(f.Script.Operations) != 1 {
		t.Errorf("found was %v", describeFindings(report))
	}
	r, err := script.ReadFile(f.File().Encode())
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]fuzz.Verdict{"cancelled requests": fuzz.StillBroken, "nothing": fuzz.Fixed} {
		o.Dialer = leakingDialer(t, what)
		played, err := fuzz.Replay(t.Context(), o, r)
		if err != nil || played.Verdict != want {
			t.Errorf("a server that keeps %s: %v, %+v", what, err, played)
		}
	}
}

// TestUnmeasurableMemory checks that a search whose only law is about memory says that it is
// incomplete if the memory of the server can't be measured.
func TestUnmeasurableMemory(t *testing.T) {
	web, stop := suitetest.ReferenceOver(spec.StreamableHTTP, refserver.Options{})
	defer stop()
	for name, d := range map[string]transport.Dialer{"within the process": inprocess.Dialer(nil), "over HTTP": web} {
		report, err := fuzz.Run(t.Context(), fuzz.Options{
			Dialer: d, Laws: lawsWithIDs("memory-steady"), Revisions: []spec.Revision{spec.V20251125}, Time: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		if report.Incomplete == "" || len(report.Findings) > 0 {
			t.Errorf("%s: %+v", name, report)
		}
	}
}
