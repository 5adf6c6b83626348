// Package realclients tests the reference server with clients of other projects
// (fixtures/clients). Each uses every feature that it supports once.
package realclients

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/record"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// handshake are the revisions that the server offers: a client of both eras would
// choose 2026-07-28, in which it has no sessions to use.
const handshake = "2024-11-05,2025-03-26,2025-06-18,2025-11-25"

// TestClientsUseEverything lets each client use every feature once, over each
// transport, and over a connection that is cut in the middle of a call.
func TestClientsUseEverything(t *testing.T) {
	for _, client := range []struct {
		name    string
		command func(t *testing.T) []string
	}{
		{"typescript", func(t *testing.T) []string {
			installed(t, "node_modules/.installed")
			return []string{needNode(t), installed(t, "typescript.mjs")}
		}},
		{"go-sdk", func(t *testing.T) []string { return []string{installed(t, "go-sdk/go-sdk-client")} }},
	} {
		for _, mode := range []struct {
			name, over string
			flags      []string // of serve
			kind       string   // the kind of server, an argument of the client
			cut        bool
			recorded   bool   // by mcp-conform record
			least      int    // minimum number of features
			has        string // one of them
		}{
			{name: "stdio", over: "stdio", least: 30, has: "sampling with tools"},
			{name: "recorded", over: "stdio", recorded: true, least: 30, has: "sampling with tools"},
			{name: "http", over: "http", flags: []string{"--http"}, cut: true, least: 32, has: "an answer after a cut connection"},
			{name: "sse", over: "sse", flags: []string{"--sse"}, least: 30, has: "elicitation by URL"},
			{name: "json-only", over: "http", flags: []string{"--json-only", "--http"}, kind: "json-only", least: 20, has: "subscribe"},
			{name: "no-sessions", over: "http", flags: []string{"--no-sessions", "--http"}, kind: "no-sessions", least: 15, has: "complete"},
			{name: "recorded http", over: "http", flags: []string{"--http"}, recorded: true, cut: true, least: 32, has: "an answer after a cut connection"},
			{name: "recorded sse", over: "sse", flags: []string{"--sse"}, recorded: true, least: 30, has: "elicitation by URL"},
			{name: "recorded no-sessions", over: "http", flags: []string{"--no-sessions", "--http"}, recorded: true, kind: "no-sessions", least: 15, has: "complete"},
			{name: "long lists", over: "http", flags: []string{"--long-list=1000", "--page-sizes=10,1,50", "--http"}, least: 30, has: "list resources"},
		} {
			t.Run(client.name+"/"+mode.name, func(t *testing.T) {
				if mode.name != "http" {
					skip.UnlessRequired(t, "real client")
				}
				t.Parallel()
				command := client.command(t)
				began := time.Now()
				var env []string
				var cuts func() int
				folder := t.TempDir()
				end := func() string { return "" }
				if mode.recorded && mode.flags == nil {
					session := filepath.Join(folder, "session.jsonl")
					command = append(command, mode.over, built(t), "record", "--transcript", session, "--", built(t), "serve", "--revision", handshake)
				} else if mode.flags == nil {
					command = append(command, mode.over, built(t), "serve", "--revision", handshake)
				} else {
					at := serve(t, slices.Concat([]string{"--revision", handshake}, mode.flags, []string{"127.0.0.1:0"})...)
					if mode.cut {
						u, err := url.Parse(at)
						if err != nil {
							t.Fatal(err)
						}
						l, begins, cut := newLine(t, u.Host)
						u.Host = begins
						at, env = u.String(), []string{"CUT=" + cut}
						cuts = func() int { l.mu.Lock(); defer l.mu.Unlock(); return l.cuts }
					}
					if mode.recorded {
						at, end = start(t, "record", "--listen", "127.0.0.1:0", "--transcript", folder, at)
					}
					command = append(command, mode.over, at)
					if mode.kind != "" {
						command = append(command, mode.kind)
					}
				}
				out, err := said(t, env, command[0], command[1:]...)
				lines := strings.Split(out, "\n")
				used := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, "ok ") })
				if err != nil || len(used) < mode.least || !slices.Contains(used, "ok "+mode.has) {
					t.Errorf("%v after %d features:\n%s", err, len(used), out)
				}
				if cuts != nil && cuts() != 1 {
					t.Errorf("the line was cut %d times", cuts())
				}
				if summary := end(); mode.recorded {
					checkSessions(t, folder, mode.over)
					if mode.flags != nil && !strings.Contains(summary, "client: no mistakes were seen") {
						t.Errorf("the summary is %s", summary)
					}
				}
				t.Logf("%d features in %v", len(used), time.Since(began).Round(time.Millisecond))
			})
		}
	}
}

// TestMCPGo records the client of mcp-go, which has fewer features, and uses 2026-07-28 if the server
// offers it.
func TestMCPGo(t *testing.T) {
	for _, mode := range []struct {
		name, over string
		flags      []string // of serve
		kind       string   // the kind of server, an argument of the client
		least      int      // minimum number of features
	}{
		{"2026-07-28", "http", []string{"--http"}, "", 14},
		{"a handshake", "http", []string{"--revision", handshake, "--http"}, "", 14},
		{"no-sessions", "http", []string{"--revision", handshake, "--no-sessions", "--http"}, "no-sessions", 12},
		{"sse", "sse", []string{"--sse"}, "", 12},
	} {
		t.Run(mode.name, func(t *testing.T) {
			if mode.name != "2026-07-28" {
				skip.UnlessRequired(t, "real client")
			}
			t.Parallel()
			client, folder := installed(t, "mcp-go/mcp-go-client"), t.TempDir()
			at, end := start(t, "record", "--listen", "127.0.0.1:0", "--transcript", folder, serve(t, append(mode.flags, "127.0.0.1:0")...))
			out, err := said(t, nil, client, mode.over, at, mode.kind)
			if used := strings.Count("\n"+out, "\nok "); err != nil || used < mode.least {
				t.Errorf("%v after %d features:\n%s", err, used, out)
			}
			if summary := end(); !strings.Contains(summary, "client: no mistakes were seen") {
				t.Errorf("the summary is %s", summary)
			}
			checkSessions(t, folder, mode.over)
		})
	}
}

// checkSessions checks that the recorded sessions in a folder are complete, that no rule is broken
// in them, and that the client did not violate the protocol.
func checkSessions(t *testing.T, folder, over string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d sessions are recorded: %v", len(files), err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		sessions, err := transcript.ReadRecordings(file, f)
		_ = f.Close() // it was only read
		if err != nil || len(sessions) != 1 {
			t.Fatalf("%d sessions: %v", len(sessions), err)
		}
		events := sessions[0].Events
		open := 0
		for _, e := range events {
			switch e.Kind {
			case transcript.Requested:
				open++
			case transcript.Over:
				open--
			}
		}
		if last := events[len(events)-1]; open != 0 || over == "stdio" && last.Kind != transcript.Exited {
			t.Errorf("the last event is %s, and %d exchanges have no end", last.Kind, open)
		}
		if out, err := said(t, nil, built(t), "judge", file); err != nil {
			t.Errorf("judging it: %v\n%s", err, out)
		}
		for _, m := range record.ClientMistakes(events, spec.Transport(sessions[0].Transport)) {
			t.Errorf("%s %s", m.Summary, events[m.At].Raw)
		}
	}
}
