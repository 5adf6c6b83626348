package cli

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/pipes"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites"
)

// perSecond permits a number of requests a second.
func perSecond(n int) func() bool { return rate.NewLimiter(rate.Limit(n), n).Allow }

// first permits the first n requests, and none after them.
func first(n int64) func() bool {
	var used atomic.Int64
	return func() bool { return used.Add(1) <= n }
}

// judgeLimited judges the reference server behind a rate limit.
func judgeLimited(t *testing.T, over spec.Transport, r spec.Revision, filter string, retryAfter func() string, permits func() bool) (report *verdict.Report, refusals int64) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var serve http.Handler = refserver.NewHTTPHandler(ctx, refserver.Options{})
	if over == spec.SSE {
		serve = refserver.NewSSEHandler(ctx, refserver.Options{})
	}
	var refused atomic.Int64
	front := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if permits() {
			serve.ServeHTTP(w, q)
			return
		}
		refused.Add(1)
		if after := retryAfter(); after != "" {
			w.Header().Set("Retry-After", after)
		}
		http.Error(w, "slow down", http.StatusTooManyRequests)
	})}
	listener := pipes.NewListener()
	go func() { _ = front.Serve(listener) }()
	defer front.Close()
	u := &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: map[spec.Transport]string{spec.SSE: "/sse", spec.StreamableHTTP: "/mcp"}[over]}
	reach := exchange.Reach{Pacer: exchange.NewPacer(), Dial: listener.Dial}
	dialer := transport.Dialer(streamablehttp.NewDialer(u, reach))
	if over == spec.SSE {
		dialer = sse.NewDialer(u, reach)
	}
	report, err := engine.Run(ctx, engine.Options{
		Dialer: dialer, Cases: suites.Cases(), Rules: ruleset.All(), Revisions: []spec.Revision{r},
		Selection: engine.Selection{Labels: filter}, RateLimit: reach.Pacer.Notice, Timeout: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return report, refused.Load()
}

// verdictsOf returns the verdict of each requirement.
func verdictsOf(r *verdict.Report) map[string]verdict.Outcome {
	out := map[string]verdict.Outcome{}
	for i := range r.Verdicts {
		out[r.Verdicts[i].Requirement] = r.Verdicts[i].Outcome
	}
	return out
}

// TestRateLimit checks that a server that permits 20 requests a second gets the verdicts that it
// gets without a limit, except for two at most, that it refuses 60 requests at most, and that the
// report mentions the limit.
func TestRateLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes seconds")
	}
	t.Parallel()
	const filter = "ping || lifecycle || completion"
	for _, c := range []struct {
		name       string
		over       spec.Transport
		revision   spec.Revision
		retryAfter func() string
		notice     string
	}{
		{"seconds", spec.StreamableHTTP, spec.V20251125, func() string { return "1" }, `^the server limits requests \(429, Retry-After: 1\): mcp-conform waited .*, .* s in all, and slowed down to \d+ requests a second; this is not counted as a failure$`},
		{"a date", spec.StreamableHTTP, spec.V20260728, func() string { return time.Now().Add(2 * time.Second).UTC().Format(http.TimeFormat) }, `^the server limits requests \(429, Retry-After: \w{3}, \d.* GMT\): mcp-conform waited `},
		{"sse, without a time", spec.SSE, spec.V20241105, func() string { return "" }, `^the server limits requests \(429 without Retry-After\): mcp-conform waited `},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				free, refusals := judgeLimited(t, c.over, c.revision, filter, c.retryAfter, func() bool { return true })
				if refusals != 0 || len(free.Findings) > 0 || strings.Contains(strings.Join(free.Notices, " "), "limits requests") {
					t.Fatalf("without a limit: %d refusals, %d findings, %q", refusals, len(free.Findings), free.Notices)
				}
				limited, refusals := judgeLimited(t, c.over, c.revision, filter, c.retryAfter, perSecond(20))
				t.Logf("%d refusals, %d messages, %v", refusals, limited.Stats.Messages, limited.Stats.Took)
				if len(limited.Findings) > 0 {
					t.Errorf("there are findings: %v", limited.Findings)
				}
				unseen, got := 0, verdictsOf(limited)
				for id, want := range verdictsOf(free) {
					if got[id] != want {
						t.Logf("%s: %s, without a limit %s", id, got[id], want)
						unseen++
					}
				}
				if unseen > 2 { // a task or a call may be over too soon
					t.Errorf("%d verdicts are others", unseen)
				}
				if refusals == 0 || refusals > 60 {
					t.Errorf("there were %d refusals", refusals)
				}
				if n := len(regexp.MustCompile(`(?m)`+c.notice).FindAllString(strings.Join(limited.Notices, "\n"), -1)); n != 1 {
					t.Errorf("the notices are %q", limited.Notices)
				}
			})
		})
	}
}

// TestRateLimitWithoutEnd checks that a run with a server that soon refuses everything takes two
// minutes at most, and that it has no findings.
func TestRateLimitWithoutEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes seconds")
	}
	t.Parallel()
	for _, c := range []struct {
		name, after, notice string
	}{
		{"half a minute", "31", `\(429, Retry-After: 31\): mcp-conform waited once, for 31 s, which did not help, and stopped waiting`},
		{"an hour", "3600", `\(429, Retry-After: 3600\): mcp-conform waits at most 60 s, and sent no refused request again`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				report, refusals := judgeLimited(t, spec.StreamableHTTP, spec.V20251125, "ping || tools", func() string { return c.after }, first(60))
				if len(report.Findings) > 0 {
					t.Errorf("there are findings: %v", report.Findings)
				}
				if report.Stats.Took > 2*time.Minute || refusals == 0 {
					t.Errorf("it took %v, with %d refusals", report.Stats.Took, refusals)
				}
				if n := len(regexp.MustCompile(c.notice).FindAllString(strings.Join(report.Notices, "\n"), -1)); n != 1 {
					t.Errorf("the notices are %q", report.Notices)
				}
				t.Logf("%v, %d refusals, %s", report.Stats.Took, refusals, report.Incomplete)
			})
		})
	}
}
