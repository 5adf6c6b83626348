package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// same lets cmp compare judged values.
var same = cmp.AllowUnexported(judgement{})

func write(t *testing.T, parts ...string) {
	t.Helper()
	name, content := filepath.Join(parts[:len(parts)-1]...), parts[len(parts)-1]
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReadReport checks that the most severe outcome of all revisions of a report counts, and that
// requirements that were not judged do not.
func TestReadReport(t *testing.T) {
	said := map[string][]verdict.Outcome{
		"b.twice":   {verdict.Kept, verdict.Warning, verdict.Note},
		"a.once":    {verdict.Kept},
		"c.partly":  {verdict.NotObserved, verdict.Kept},
		"d.flaky":   {verdict.Flaky, verdict.Warning},
		"e.broken":  {verdict.Broken, verdict.Flaky},
		"f.nowhere": {verdict.NotObserved, verdict.Blocked, verdict.NotApplicable},
	}
	var r verdict.Report
	for id, outcomes := range said {
		for i, o := range outcomes {
			r.Verdicts = append(r.Verdicts, verdict.Verdict{Requirement: id, Revision: spec.HandshakeRevisions()[i], Outcome: o})
		}
	}
	var out strings.Builder
	if err := reporters.JSON(&out, &r); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write(t, folder, "report.json", out.String())
	got, err := readReport(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := []judgement{{"a.once", "kept"}, {"b.twice", "warning"}, {"c.partly", "kept"}, {"d.flaky", "flaky"}, {"e.broken", "broken"}}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("what was judged (-want +got):\n%s", diff)
	}
	if _, err := readReport(t.TempDir()); err == nil {
		t.Error("a run without a report is not an error")
	}
}

func TestReadChecks(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "server-ping-2026-01-31T12-00-00-000Z", "checks.json", `[{"id":"answers","status":"SUCCESS"},{"id":"told","status":"INFO"}]`)
	write(t, folder, "server-lists-2026-01-31T12-00-00-000Z", "checks.json", `[{"id":"names","status":"FAILURE"},{"id":"left-out","status":"SKIPPED"}]`)
	got, err := readChecks(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]judgement{{"lists names", "failure"}, {"ping answers", "success"}}, got, same); diff != "" {
		t.Errorf("what was judged (-want +got):\n%s", diff)
	}
	if _, err := readChecks(t.TempDir()); err == nil {
		t.Error("a suite without results is not an error")
	}
}

func TestTable(t *testing.T) {
	times := []time.Duration{3 * time.Second, time.Second, 2500 * time.Millisecond}
	var out strings.Builder
	printTable(&out, []*contestant{{
		name: "one", wall: times, cpu: times[:1], requests: 7,
		found: []judgement{{"a", "kept"}, {"b", "broken"}, {"c", "kept"}},
	}}, len(times))
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := "| one | 2.50 s (1.00–3.00) | 3.00 s (3.00–3.00) | not measured | 7 | 3 | 2 kept, 1 broken |"
	if got := rows[len(rows)-1]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestCounter checks the count of requests over one connection and over several, and of bytes that
// are not HTTP.
func TestCounter(t *testing.T) {
	for _, c := range []struct {
		name  string
		sends [][]string // by connection
		want  int
	}{
		{"nothing", nil, 0},
		{"one", [][]string{{"GET / HTTP/1.1\r\nHost: a\r\n\r\n"}}, 1},
		{"two on one connection", [][]string{{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", "GET /b HTTP/1.1\r\nHost: a\r\n\r\n"}}, 2},
		{"two connections", [][]string{{"GET / HTTP/1.1\r\nHost: a\r\n\r\n"}, {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"}}, 2},
		{"no HTTP", [][]string{{"hello\r\n\r\n"}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // a read error shows up as a missing body in the response
				_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, body)
			}))
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			n, err := newCounter(ctx, server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer n.close()
			for _, requests := range c.sends {
				through, direct := exchange(ctx, t, n.address(), requests), exchange(ctx, t, server.Listener.Addr().String(), requests)
				if diff := cmp.Diff(direct, through); diff != "" {
					t.Errorf("the relay changes responses (-direct +relayed):\n%s", diff)
				}
			}
			if got := n.requests(); got != c.want {
				t.Errorf("%d requests were counted, want %d", got, c.want)
			}
		})
	}
}

// exchange sends requests over one connection, each after the response to the
// previous one, and returns the statuses and bodies.
func exchange(ctx context.Context, t *testing.T, address string, requests []string) []string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			t.Fatal(err)
		}
	}
	in := bufio.NewReader(conn)
	var out []string
	for _, request := range requests {
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		out = append(out, response.Status+" "+string(body))
	}
	return out
}
