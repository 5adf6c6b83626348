package reporters

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// withCauses returns the report of reportWithEachOutcome in which the broken requirement and the
// warning have one cause in both revisions, and the note has the same cause only in the older one.
func withCauses() *verdict.Report {
	r := reportWithEachOutcome()
	for i := range r.Findings {
		f := &r.Findings[i]
		revision := f.ID[2:]
		if strings.HasPrefix(f.ID, "F1") || strings.HasPrefix(f.ID, "F3") || f.ID == "F4a" {
			f.Group = "F1" + revision
		}
	}
	return r
}

func TestGroupIsListedTogether(t *testing.T) {
	var b bytes.Buffer
	NewConsole(&b, ConsoleOptions{Verbose: true}).End(withCauses())
	text := b.String()
	if !strings.Contains(text, "\n  with it  ! WARNING  stdio.exit-on-sigterm  The server did not exit on SIGTERM.\n") {
		t.Errorf("the console does not list the findings with the same cause:\n%s", text)
	}
	b.Reset()
	NewConsole(&b, ConsoleOptions{Width: 60}).End(withCauses())
	if narrow := b.String(); !strings.Contains(narrow, "\n  with it  ! WARNING  stdio.exit-on-sigterm  The server did\n           not exit on SIGTERM.\n") {
		t.Errorf("a narrow console cuts the summary:\n%s", narrow)
	}
	if strings.Contains(text, "\n! WARNING  stdio.exit-on-sigterm") {
		t.Errorf("the console lists a finding twice:\n%s", text)
	}
	if !strings.Contains(text, "\n· NOTE  lifecycle.instructions-optional") {
		t.Errorf("a finding that has the cause in only one revision is not listed separately:\n%s", text)
	}
	page := string(write(t, HTML, withCauses()))
	for _, want := range []string{
		"<summary>1 more finding has the same cause</summary>\n<div class=\"finding\" id=\"finding-3\" data-outcome=\"warning\"",
		`It has the same cause as <a href="#finding-2"><code>base.response-id-echo</code></a>.`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if text := string(write(t, Markdown, withCauses())); strings.Count(text, "stdio.exit-on-sigterm") != 1 ||
		!strings.Contains(text, "\nThe same message, or the same end of the process, shows:\n\n* ⚠️ **WARNING** stdio.exit-on-sigterm · 2025-11-25, 2025-06-18 · ") {
		t.Errorf("Markdown does not list the findings with the same cause:\n%s", text)
	}
}

// TestNewFindingsOfAKnownCause checks a group whose most severe finding is in the
// baseline: the others, which are not, must still be listed.
func TestNewFindingsOfAKnownCause(t *testing.T) {
	r := withCauses()
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Outcome == verdict.Broken {
			f.Known = "ticket 7"
		}
	}
	var b bytes.Buffer
	NewConsole(&b, ConsoleOptions{}).End(r)
	if !strings.Contains(b.String(), "\n! WARNING  stdio.exit-on-sigterm") {
		t.Errorf("the finding is not listed:\n%s", b.String())
	}
}

// TestProgramFormatsListGroupMembers checks that formats for programs list every finding,
// whatever its group.
func TestProgramFormatsListGroupMembers(t *testing.T) {
	for _, name := range []string{"junit", "sarif", "tap", "github", "outputs", "badge"} {
		w, _ := ByName(name)
		if diff := cmp.Diff(string(write(t, w, reportWithEachOutcome())), string(write(t, w, withCauses()))); diff != "" {
			t.Errorf("%s differs (-alone +grouped):\n%s", name, diff)
		}
	}
	var got verdict.Report
	if err := json.Unmarshal(write(t, JSON, withCauses()), &got); err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{}
	for _, f := range got.Findings {
		groups[f.ID] = f.Group
	}
	want := map[string]string{"F1a": "F1a", "F3a": "F1a", "F4a": "F1a", "F1b": "F1b", "F3b": "F1b", "F4b": "", "F2a": "", "F2b": ""}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestGroupsAreBounded(t *testing.T) {
	f := family{same: make([]entry, 50)}
	lines := NewConsole(&bytes.Buffer{}, ConsoleOptions{}).linesBelow(&f)
	if len(lines) != sameShown+1 || !strings.Contains(lines[sameShown], "… 42 more findings in the reports") {
		t.Errorf("%d lines, last %q", len(lines), lines[len(lines)-1])
	}
}
