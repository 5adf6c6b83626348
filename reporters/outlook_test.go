package reporters

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestRemaining checks what a run shows of the time that it still takes: on the status line of a
// terminal, and in lines that get rarer elsewhere.
func TestRemaining(t *testing.T) {
	const slow, faster = "the server takes 150 ms a response", "--quick judges at most 118 of 337 requirements"
	steps := []struct {
		at   time.Duration
		done int
		left time.Duration
		why  string
	}{
		{4 * time.Second, 2, 0, slow},
		{10 * time.Second, 6, 78 * time.Second, slow},
		{16 * time.Second, 10, 44 * time.Second, slow},
		{20 * time.Second, 14, 37 * time.Second, slow},
		{33 * time.Second, 25, 24 * time.Second, slow},
		{50 * time.Second, 39, 3 * time.Second, ""},
	}
	for _, c := range []struct {
		name   string
		o      ConsoleOptions
		status []string
		lines  string
	}{
		{"live", ConsoleOptions{Live: true, Width: 120}, []string{
			"… 2/40 cases · the server takes 150 ms a response · base 2/40",
			"… 6/40 cases · about a minute left · the server takes 150 ms a response · base 6/40",
			"… 10/40 cases · about 40 s left · the server takes 150 ms a response · base 10/40",
			"… 14/40 cases · about 40 s left · the server takes 150 ms a response · base 14/40",
			"… 25/40 cases · about 20 s left · the server takes 150 ms a response · base 25/40",
			"… 39/40 cases · a few seconds left · base 39/40",
		}, "note: this run is slow; faster: --quick judges at most 118 of 337 requirements\n"},
		{"in a pipe", ConsoleOptions{Width: 120}, nil, "" +
			"note: after 16 s: 10/40 cases, about 40 s left, the server takes 150 ms a response; faster: --quick judges at most 118\n" +
			"      of 337 requirements\n" +
			"note: after 33 s: 25/40 cases, about 20 s left, the server takes 150 ms a response\n"},
		{"quiet", ConsoleOptions{Width: 120, Quiet: true}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			console := NewConsole(&b, c.o)
			clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			console.now = func() time.Time { return clock }
			console.Begin("x", spec.Stdio, spec.HandshakeRevisions(), 40)
			began := clock
			var status []string
			for _, s := range steps {
				clock = began.Add(s.at)
				console.Area("base", s.done, 40)
				console.Remaining(s.left, s.why, faster)
				if c.o.Live {
					status = append(status, console.status)
				}
			}
			console.Clear()
			if diff := cmp.Diff(c.status, status); diff != "" {
				t.Errorf("status lines (-want +got):\n%s", diff)
			}
			lines := screen(b.String())
			if i := strings.Index(lines, "note: "); i >= 0 {
				lines = lines[i:]
			} else {
				lines = ""
			}
			if diff := cmp.Diff(strings.TrimSpace(c.lines), strings.TrimSpace(lines)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "a few seconds", 9 * time.Second: "about 10 s", 44 * time.Second: "about 40 s", 46 * time.Second: "about a minute",
		100 * time.Second: "about 2 minutes", 9 * time.Minute: "about 9 minutes", 11 * time.Minute: "about 10 minutes", time.Hour: "about 60 minutes",
	} {
		if got := roughDuration(d); got != want {
			t.Errorf("%v is %q, not %q", d, got, want)
		}
	}
}

// TestSlowRun checks that a slow run says above its conclusion where its time went.
func TestSlowRun(t *testing.T) {
	r := cleanReport()
	r.Stats = verdict.Stats{Took: 38 * time.Second, Servers: 1, Cases: 1, Slow: "38 s, of which the run waited 31 s for responses"}
	lines := strings.Split(strings.TrimSpace(play(r, ConsoleOptions{})), "\n")
	if got, want := lines[len(lines)-2], "time: 38 s, of which the run waited 31 s for responses"; got != want {
		t.Errorf("the line above the conclusion is %q, not %q", got, want)
	}
	if text := play(r, ConsoleOptions{Quiet: true}); strings.Contains(text, "time: ") {
		t.Errorf("a quiet console shows it:\n%s", text)
	}
}
