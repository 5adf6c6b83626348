package cli

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestEndOfServerIsReported checks that the evidence for the end of a process has
// the request, the stderr output, and how the process ended.
func TestEndOfServerIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after []transcript.Event
		want  []string
	}{
		"it ended": {
			after: []transcript.Event{{Kind: transcript.Exited, Detail: "exit status 1"}},
			want:  []string{`> {"jsonrpc":"2.0","id":1,"method":"ping"}`, "! stderr: KeyError", "! the server ended (exit status 1)"},
		},
		"it had to be ended": {
			after: []transcript.Event{{Kind: transcript.Signalled, Detail: "KILL"}, {Kind: transcript.Exited, Detail: "signal: killed"}},
			want:  []string{`> {"jsonrpc":"2.0","id":1,"method":"ping"}`, "! stderr: KeyError", "! the server closed its output"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := transcript.New()
			rec.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)})
			rec.Add(transcript.Event{Kind: transcript.Stderr, Raw: []byte("KeyError\n")})
			rec.Add(transcript.Event{Kind: transcript.OutputClosed})
			for _, e := range c.after {
				rec.Add(e)
			}
			f := &fuzz.Finding{
				Candidate: fuzz.Candidate{Breach: fuzz.Breach{Deviation: verdict.Deviation{At: []int{0, 2}}}},
				Evidence:  &fuzz.Execution{Playback: &script.Playback{Conversations: []*script.Conversation{{Events: rec.From(0)}}}},
			}
			evidence, _ := fuzzEvidence(f, nil)
			var got []string
			for _, e := range evidence {
				got = append(got, e.Direction+" "+e.Text)
				if e.Size < int64(len(e.Text)) || e.Label == "" {
					t.Errorf("size %d and label %q of %q", e.Size, e.Label, e.Text)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestASearchShowsThatItSearches checks that the status line changes during a search and is cleared
// at the end of the run, and that --law accepts a law that the specification does not state.
func TestASearchShowsThatItSearches(t *testing.T) {
	skip.Slow(t)
	if testing.Short() {
		t.Skip("starts servers")
	}
	t.Parallel()
	tool := linkedTool(t)
	var out bytes.Buffer
	code := invoke([]string{"run", "-v", "--jobs", "1", "--fuzz", "quick", "--law", "answers-steady", "--revision", "2025-11-25", "--focus", "ping.responds", "--out", t.TempDir(), "--", tool, "serve"},
		World{Out: &out, Err: &out, Environ: os.Environ(), Live: true, Columns: 100})
	if !regexp.MustCompile(`\r… searching: [1-9]s, \d+ requests, 0 findings`).Match(out.Bytes()) {
		t.Errorf("the screen does not show the search:\n%q", out.String())
	}
	if code != ExitKept || !regexp.MustCompile(`(?m)--fuzz quick: \d+ sequences`).Match(out.Bytes()) {
		t.Errorf("exit code %d, and output\n%s", code, out.String())
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, line := range lines {
		if shown := line[strings.LastIndex(line, "\r")+1:]; strings.Contains(shown, "searching") {
			t.Errorf("the status line is not cleared: %q", shown)
		}
	}
}
