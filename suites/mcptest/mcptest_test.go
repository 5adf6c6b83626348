package mcptest_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites/mcptest"
)

// inMemory returns the reference server on a stream, which misbehaves if a fault is named.
func inMemory(t *testing.T, fault string) mcptest.Server {
	t.Helper()
	seams := func() refserver.Seams { return refserver.Seams{} }
	if fault != "" {
		f, ok := faults.Lookup(fault)
		if !ok {
			t.Fatalf("there is no fault %s", fault)
		}
		seams = f.Seams
	}
	return mcptest.Stream(func(ctx context.Context) (io.ReadWriteCloser, error) {
		near, far := net.Pipe()
		go func() {
			refserver.ServeStdio(ctx, far, far, io.Discard, nil, refserver.Options{Seams: seams()})
			_ = far.Close()
		}()
		return near, nil
	})
}

func TestStream(t *testing.T) {
	mcptest.Run(t, inMemory(t, ""), mcptest.Options{Strict: true})
}

func TestHandler(t *testing.T) {
	mcptest.Run(t, mcptest.Handler(handler(t, spec.StreamableHTTP)), mcptest.Options{Quick: true, Strict: true})
}

func TestSSEHandler(t *testing.T) {
	mcptest.Run(t, mcptest.SSEHandler(handler(t, spec.SSE), "/sse"), mcptest.Options{Quick: true, Strict: true})
}

func TestURL(t *testing.T) {
	s, err := refserver.Listen(t.Context(), "127.0.0.1:0", spec.StreamableHTTP, refserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mcptest.Run(t, mcptest.URL(s.URL.String(), http.Header{"X-Of-The-Test": {"value"}}), mcptest.Options{Requirements: []string{`^ping\.`}, Revisions: []string{"2025-11-25"}, Strict: true})
}

func TestProfile(t *testing.T) {
	mcptest.Run(t, inMemory(t, ""), mcptest.Options{Profiles: []string{"stdio@1", "logging@1"}, Revisions: []string{"2025-11-25"}, Strict: true})
}

// handler returns the reference server over HTTP as a handler.
func handler(t *testing.T, over spec.Transport) http.Handler {
	t.Helper()
	s, err := refserver.Listen(t.Context(), "127.0.0.1:0", over, refserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: s.URL.Scheme, Host: s.URL.Host})
	}}
}

// The environment of a test process that judges a server with a fault.
const (
	faultVariable    = "MCPTEST_FAULT"
	strictVariable   = "MCPTEST_STRICT"
	baselineVariable = "MCPTEST_BASELINE"
	profileVariable  = "MCPTEST_PROFILE"
	addressVariable  = "MCPTEST_ADDRESS"
)

// TestWithFault is what TestFindings runs in a process of its own.
func TestWithFault(t *testing.T) {
	fault := os.Getenv(faultVariable)
	if fault == "" {
		t.Skip("TestFindings runs it")
	}
	var profiles []string
	if name := os.Getenv(profileVariable); name != "" {
		profiles = []string{name}
	}
	mcptest.Run(t, inMemory(t, fault), mcptest.Options{
		Profiles: profiles, Requirements: []string{"ping.responds", "pagination.cursor.invalid-code", "ping.empty-result"}, Revisions: []string{"2025-11-25"},
		Strict: os.Getenv(strictVariable) != "", Baseline: os.Getenv(baselineVariable),
	})
}

// TestUnreachable is run by TestFindings, too.
func TestUnreachable(t *testing.T) {
	address := os.Getenv(addressVariable)
	if address == "" {
		t.Skip("TestFindings runs it")
	}
	mcptest.Run(t, mcptest.URL(address, nil), mcptest.Options{})
}

// TestHangs is run by TestFindings, too.
func TestHangs(t *testing.T) {
	if os.Getenv(addressVariable) == "" {
		t.Skip("TestFindings runs it")
	}
	next := handler(t, spec.StreamableHTTP)
	mcptest.Run(t, mcptest.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(`"ping"`)) {
			select {} // it heeds no context
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})), mcptest.Options{Requirements: []string{"^ping.responds$"}, Revisions: []string{"2025-11-25"}, Timeout: 300 * time.Millisecond})
}

// TestFindings checks which subtests fail, and what they print.
func TestFindings(t *testing.T) {
	known := filepath.Join(t.TempDir(), "known.yaml")
	if err := os.WriteFile(known, []byte("known:\n  - requirement: ping.responds\n    reason: it is being fixed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, fault, run string
		environment      []string
		passes           bool
		prints, omits    []string
	}{
		{
			name: "broken", fault: "ping.responds/unknown", run: "TestWithFault",
			prints: []string{"--- FAIL: TestWithFault/ping.responds", "broken · MUST · 2025-11-25 · stdio", "permitted: ", `→ {"jsonrpc":"2.0",`},
		},
		{
			name: "another is selected", fault: "ping.responds/unknown", run: `TestWithFault/cursor\.invalid-code`, passes: true,
			prints: []string{"TestWithFault/pagination.cursor.invalid-code"}, omits: []string{"TestWithFault/ping"},
		},
		{
			name: "in a profile", fault: "ping.responds/unknown", run: "TestWithFault", environment: []string{profileVariable + "=core@1"},
			prints: []string{"--- FAIL: TestWithFault/ping.responds", "profile core@1 failed · ", "1 broken"},
		},
		{
			name: "in no profile", fault: "ping.responds/unknown", run: "TestWithFault", environment: []string{profileVariable + "=tools@1"},
			prints: []string{"Options.Requirements: no requirement matches"},
		},
		{
			name: "an unknown profile", fault: "ping.responds/unknown", run: "TestWithFault", environment: []string{profileVariable + "=tool@1"},
			prints: []string{`there is no profile "tool@1"`, "did you mean tools@1?"},
		},
		{name: "none is selected", fault: "ping.responds/unknown", run: `TestWithFault/no-such-id`, passes: true, omits: []string{"TestWithFault/"}},
		{
			name: "after another test", fault: "ping.responds/unknown", run: "TestUnreachable/nothing|TestWithFault",
			prints: []string{"--- FAIL: TestWithFault/ping.responds"},
		},
		{
			name: "two patterns", fault: "ping.responds/unknown", run: "TestWithFault/cursor|TestWithFault/ping",
			prints: []string{"--- FAIL: TestWithFault/ping.responds"},
		},
		{
			name: "it ends before anything is judged", fault: "base.request-answered/first-request-ends", run: "TestWithFault",
			prints: []string{"the run is incomplete: the first requests after the handshake got no responses"},
		},
		{
			name: "known", fault: "ping.responds/unknown", run: "TestWithFault", environment: []string{baselineVariable + "=" + known}, passes: true,
			prints: []string{"broken · MUST · 2025-11-25 · stdio"},
		},
		{
			name: "a stale entry", fault: "pagination.cursor.invalid-code/internal", run: "TestWithFault", environment: []string{baselineVariable + "=" + known},
			prints: []string{"known.yaml:2: ping.responds: it does not occur any more"},
		},
		{
			name: "a warning", fault: "pagination.cursor.invalid-code/internal", run: "TestWithFault", passes: true,
			prints: []string{"warning · SHOULD · 2025-11-25 · stdio", "--- PASS: TestWithFault/pagination.cursor.invalid-code"},
		},
		{
			name: "a warning, strictly", fault: "pagination.cursor.invalid-code/internal", run: "TestWithFault", environment: []string{strictVariable + "=1"},
			prints: []string{"--- FAIL: TestWithFault/pagination.cursor.invalid-code"},
		},
		{
			name: "not reached", run: "TestUnreachable", environment: []string{addressVariable + "=http://127.0.0.1:9/mcp"},
			prints: []string{"the server can't be reached: ", "\n        check that the server runs, and the URL\n"},
		},
		{
			name: "a handler hangs", run: "TestHangs", environment: []string{addressVariable + "=none"},
			prints: []string{"--- FAIL: TestHangs"}, omits: []string{"test timed out"},
		},
		{
			name: "a secret in the address", run: "TestUnreachable", environment: []string{addressVariable + "=127.0.0.1:9/mcp?api_key=sk-live-4fT9qLw2ZxVb71Kd"},
			prints: []string{"mcp?api_key=REDACTED"}, omits: []string{"sk-live"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			test := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.timeout", "1m", "-test.run", c.run)
			test.Env = append(append(os.Environ(), faultVariable+"="+c.fault), c.environment...)
			var out bytes.Buffer
			test.Stdout, test.Stderr = &out, &out
			if err := test.Run(); (err == nil) != c.passes {
				t.Errorf("the test ends with %v", err)
			}
			for _, text := range c.prints {
				if !strings.Contains(out.String(), text) {
					t.Errorf("it does not print %q", text)
				}
			}
			for _, text := range c.omits {
				if regexp.MustCompile(regexp.QuoteMeta(text)).Match(out.Bytes()) {
					t.Errorf("it prints %q", text)
				}
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}
