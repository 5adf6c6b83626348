package reporters

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// play feeds a console a short run that ends with r, and returns its output.
func play(r *verdict.Report, o ConsoleOptions) string {
	var b bytes.Buffer
	c := NewConsole(&b, o)
	c.Begin(r.Target, r.Transport, r.Revisions, 48)
	c.Area("lifecycle", 0, 2)
	c.Area("base", 0, 3)
	c.Area("lifecycle", 1, 2)
	for _, n := range r.Notices {
		c.Notice(n)
	}
	c.Area("lifecycle", 2, 2)
	c.Area("base", 3, 3)
	c.Area("base", 3, 3) // a repeated update shows nothing
	c.End(r)
	return b.String()
}

func TestConsoleGolden(t *testing.T) {
	for _, s := range samples {
		golden(t, s.name+".txt", []byte(play(s.build(), ConsoleOptions{Width: 80})))
	}
	golden(t, "every-verbose.txt", []byte(play(reportWithEachOutcome(), ConsoleOptions{Verbose: true})))
	golden(t, "every-quiet.txt", []byte(play(reportWithEachOutcome(), ConsoleOptions{Quiet: true, Live: true})))
	golden(t, "every-color.txt", []byte(strings.ReplaceAll(play(reportWithEachOutcome(), ConsoleOptions{Color: true}), "\x1b", "ESC")))
	live := play(reportWithEachOutcome(), ConsoleOptions{Live: true, Width: 80})
	golden(t, "every-live.txt", []byte(strings.ReplaceAll(live, "\r", "CR\n")))
}

func TestLiveLeavesTheSameScreenAsPlain(t *testing.T) {
	for _, s := range samples {
		plain := play(s.build(), ConsoleOptions{Width: 80})
		if diff := cmp.Diff(plain, screen(play(s.build(), ConsoleOptions{Width: 80, Live: true}))); diff != "" {
			t.Errorf("%s:\n%s", s.name, diff)
		}
	}
}

// screen interprets \r as a terminal does: later text overwrites earlier text.
func screen(out string) string {
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		var cells []rune
		at := 0
		for _, r := range line {
			switch {
			case r == '\r':
				at = 0
				continue
			case at < len(cells):
				cells[at] = r
			default:
				cells = append(cells, r)
			}
			at++
		}
		lines[i] = strings.TrimRight(string(cells), " ")
	}
	return strings.Join(lines, "\n")
}

func TestHostileConsoleIsBoundedAndInert(t *testing.T) {
	out := play(hostileReport(), ConsoleOptions{Width: 80, Verbose: true})
	if r, at := firstInvisible(strings.ReplaceAll(out, "\n", "")); at >= 0 {
		t.Errorf("%U reached the terminal at %d", r, at)
	}
	if len(out) > 64<<10 {
		t.Errorf("the console got %d bytes", len(out))
	}
	if m := regexp.MustCompile(`(?m)^\s*::.*|##(\[|vso|teamcity).*`).FindString(out); m != "" {
		t.Errorf("a CI system would execute %q", m)
	}
}

// TestVerboseShowsEventsWhole checks that -v shows a long event on several lines, with carets below
// each line that has a part of the mark, and no more lines than are permitted.
func TestVerboseShowsEventsWhole(t *testing.T) {
	text := `{"id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("n", 60) + `","level":"verbose"}}`
	from := strings.Index(text, `","level"`) + 2
	shown := func(e verdict.Evidence) []string {
		return NewConsole(io.Discard, ConsoleOptions{Width: 54, Verbose: true}).excerptLines([]verdict.Evidence{e}, excerptMax)
	}
	got := shown(verdict.Evidence{Direction: ">", Text: text, Mark: &verdict.Span{From: from - 12, To: len(text) - 2}})
	want := []string{
		`  → {"id":1,"method":"tools/call","params":{"name":"nn`,
		`    nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
		`                                                    ^^`,
		`    nnnnnnnn","level":"verbose"}}`,
		`    ^^^^^^^^^^^^^^^^^^^^^^^^^^^`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	if got := shown(verdict.Evidence{Direction: "<", Text: strings.Repeat("x", 2000)}); len(got) != eventMax || !strings.HasSuffix(got[len(got)-1], "… (2000 bytes)") {
		t.Errorf("of a long event, it shows\n%s", strings.Join(got, "\n"))
	}
}

func TestFindingTakesTwelveLinesAndItsFix(t *testing.T) {
	for _, r := range []*verdict.Report{reportWithEachOutcome(), hostileReport()} {
		for _, e := range entries(r, true) {
			c := NewConsole(nil, ConsoleOptions{Width: 40})
			lines := c.entryLines(&e)
			most := entryMax
			if usualFix(&e.Finding) != "" {
				most += 2
			}
			if len(lines) > most-1+len(c.headline(&e, strings.Repeat("word ", 16))) {
				t.Errorf("%s takes %d lines:\n%s", e.Requirement, len(lines), strings.Join(lines, "\n"))
			}
			if all := strings.Join(lines, "\n"); hasOffending(&e) && !strings.Contains(all, "»") {
				t.Errorf("%s does not show the offending event:\n%s", e.Requirement, all)
			}
		}
	}
}

func hasOffending(e *entry) bool {
	for _, ev := range e.Evidence {
		if ev.Offending {
			return true
		}
	}
	return false
}

func TestExcerptKeepsTheOffendingEvent(t *testing.T) {
	c := NewConsole(nil, ConsoleOptions{})
	for n := 1; n <= 12; n++ {
		for bad := range n {
			events := make([]verdict.Evidence, n)
			for i := range events {
				events[i] = verdict.Evidence{Direction: "<", Text: fmt.Sprint("event ", i), Offending: i == bad}
			}
			for most := 2; most <= 4; most++ {
				lines := c.excerptLines(events, most)
				if len(lines) > most || !strings.Contains(strings.Join(lines, "\n"), fmt.Sprintf("» ← event %d", bad)) {
					t.Fatalf("%d events, %d offending, %d lines: %q", n, bad, most, lines)
				}
			}
		}
	}
}

func TestCleanRunFitsOnAScreen(t *testing.T) {
	r := cleanReport()
	var b bytes.Buffer
	c := NewConsole(&b, ConsoleOptions{Width: 140})
	c.Begin(r.Target, r.Transport, r.Revisions, 48)
	for i := range 14 {
		c.Area(fmt.Sprint("area", i), 1, 1)
	}
	c.End(r)
	if n := strings.Count(b.String(), "\n"); n > 23 { // the prompt takes the 24th line
		t.Errorf("a clean run takes %d lines:\n%s", n, b.String())
	}
}

// TestAreaLinesMatchFindings checks that the line of an area does not
// contradict the findings: each counts for the area of its requirement, and
// none is shown before the results are final.
func TestAreaLinesMatchFindings(t *testing.T) {
	r := cleanReport()
	r.Verdicts = []verdict.Verdict{
		{Requirement: "streamable-http.origin-validated", Area: "streamable-http", Outcome: verdict.Broken},
		{Requirement: "base.invalid-request", Area: "base", Outcome: verdict.Warning},
	}
	r.Findings = []verdict.Finding{
		{ID: "F1", Requirement: "streamable-http.origin-validated", Judge: "rule.origin", Revision: spec.V20250618, Outcome: verdict.Broken, Summary: "a"},
		{ID: "F2", Requirement: "streamable-http.origin-validated", Judge: "rule.origin", Revision: spec.V20251125, Outcome: verdict.Broken, Summary: "a"},
		{ID: "F3", Requirement: "base.invalid-request", Judge: "errors.invalid", Revision: spec.V20251125, Outcome: verdict.Warning, Summary: "b"},
	}
	var b bytes.Buffer
	c := NewConsole(&b, ConsoleOptions{Width: 100})
	c.Area("streamable-http", 20, 20)
	c.Area("errors", 12, 12)
	c.Area("tools", 3, 12)
	if b.Len() > 0 {
		t.Errorf("before the end, the output is %q", b.String())
	}
	c.End(r)
	want := []string{"✗ streamable-http      20 cases, 1 finding", "! base                 1 finding", "✓ no findings in 1 area, 12 cases"}
	if diff := cmp.Diff(want, strings.Split(b.String(), "\n")[:3]); diff != "" {
		t.Errorf("the lines (-want +got):\n%s", diff)
	}
}

// TestAreasWithNotes checks that the line for the areas without other findings mentions their notes,
// which the counts below it have.
func TestAreasWithNotes(t *testing.T) {
	r := cleanReport()
	r.Verdicts = []verdict.Verdict{{Requirement: "tools.list.unique", Area: "tools", Outcome: verdict.Note}}
	r.Findings = []verdict.Finding{{ID: "F1", Requirement: "tools.list.unique", Judge: "rule.tools", Revision: spec.V20251125, Outcome: verdict.Note, Summary: "a"}}
	for _, test := range []struct {
		areas []string
		want  string
	}{
		{[]string{"tools", "ping"}, "✓ no findings but notes in 2 areas, 8 cases\n"},
		{[]string{"ping"}, "✓ no findings in 1 area, 4 cases\n"},
	} {
		var b bytes.Buffer
		c := NewConsole(&b, ConsoleOptions{Width: 100})
		for _, area := range test.areas {
			c.Area(area, 4, 4)
		}
		c.End(r)
		if !strings.HasPrefix(b.String(), test.want) {
			t.Errorf("of %v, it shows\n%s", test.areas, b.String())
		}
	}
}

func TestLastLine(t *testing.T) {
	report := func(alter func(r *verdict.Report)) *verdict.Report {
		r := cleanReport()
		alter(r)
		return r
	}
	all := func(o verdict.Outcome) func(*verdict.Report) {
		return func(r *verdict.Report) {
			for i := range r.Verdicts {
				r.Verdicts[i].Outcome = o
			}
		}
	}
	for want, r := range map[string]*verdict.Report{
		"odd-server 1.2.3: no requirement broken in 4 revisions (3 judged)": cleanReport(),
		"odd-server 1.2.3: no requirement broken in 4 revisions (2 judged), 1 flaky": report(func(r *verdict.Report) {
			r.Verdicts = r.Verdicts[:3]
			r.Verdicts[0].Outcome, r.Verdicts[1].Outcome = verdict.Flaky, verdict.NotObserved
		}),
		"judged 1 message of a recording: no requirement broken in 4 revisions (3 judged)": report(func(r *verdict.Report) {
			r.Stats = verdict.Stats{Messages: 1}
		}),
		"judged 9 messages of a recording: 3 requirements broken in 4 revisions (3 judged)": report(func(r *verdict.Report) {
			all(verdict.Broken)(r)
			r.Stats = verdict.Stats{Messages: 9}
		}),
		"judged 0 messages of a recording: nothing could be judged":                 {Transport: spec.Stdio},
		"odd-server 1.2.3: nothing could be judged":                                 report(all(verdict.NotObserved)),
		"odd-server 1.2.3: 3 requirements broken in 4 revisions (3 judged)":         report(all(verdict.Broken)),
		"odd-server 1.2.3: no verdict, mcp-conform itself failed on 3 requirements": report(all(verdict.HarnessError)),
		"odd-server 1.2.3: 1 requirement broken in 4 revisions (3 judged); mcp-conform itself failed on 1 more, 1 with a warning, 1 flaky": report(func(r *verdict.Report) {
			r.Verdicts[0].Outcome, r.Verdicts[1].Outcome = verdict.Broken, verdict.HarnessError
			r.Verdicts[2].Outcome, r.Verdicts[3].Outcome = verdict.Warning, verdict.Flaky
		}),
		"odd-server 1.2.3: no requirement broken as far as the run came (the run is incomplete: time is up)": report(func(r *verdict.Report) {
			r.Incomplete = "time is up"
		}),
		"npx -y odd-server: nothing could be judged": {Target: "npx -y odd-server"},
		"odd-server 1.2.3: no requirement broken in 2025-11-25 (3 judged)": report(func(r *verdict.Report) {
			r.Revisions = []spec.Revision{spec.V20251125}
		}),
	} {
		if got, _ := conclusion(r); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestEqualHarnessErrorsAreListedOnce(t *testing.T) {
	r := cleanReport()
	for i := range r.Verdicts {
		r.Verdicts[i].Outcome, r.Verdicts[i].Reason = verdict.HarnessError, "the disk is full"
	}
	es := entries(r, false)
	if len(es) != 1 || len(es[0].others) != 2 || len(es[0].revisions) != 4 {
		t.Errorf("got %+v", es)
	}
}

func TestConsoleTakesCallsFromManyGoroutines(t *testing.T) {
	var b bytes.Buffer
	c := NewConsole(&b, ConsoleOptions{Live: true, Width: 80})
	c.Begin("x", spec.Stdio, spec.HandshakeRevisions(), 100)
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			for done := range 11 {
				c.Area(fmt.Sprint("area", i), done, 10)
			}
			c.Notice(fmt.Sprint("notice ", i))
		})
	}
	wg.Wait()
	c.End(cleanReport())
	if shown := screen(b.String()); !strings.Contains(shown, "✓ no findings in 10 areas, 100 cases\n") {
		t.Errorf("shown is\n%s", shown)
	}
}

func TestCleanRunIsShort(t *testing.T) {
	for columns, most := range map[int]int{80: 10, 120: 8} {
		var b bytes.Buffer
		c, r := NewConsole(&b, ConsoleOptions{Width: columns}), cleanReport()
		c.Begin("npx -y some-server", spec.Stdio, spec.HandshakeRevisions(), 390)
		for i := range 20 {
			c.Area(fmt.Sprint("area", i), 20, 20)
		}
		r.Notices = nil
		c.End(r)
		if n := strings.Count(b.String(), "\n"); n > most {
			t.Errorf("%d lines at %d columns:\n%s", n, columns, b.String())
		}
	}
}

func TestVerboseListsAreasWithoutFindings(t *testing.T) {
	var b bytes.Buffer
	c := NewConsole(&b, ConsoleOptions{Verbose: true})
	c.Area("lifecycle", 2, 2)
	c.Area("tools", 1, 2)
	c.End(cleanReport())
	if got, want := strings.Split(b.String(), "\n")[0], "✓ lifecycle            2 cases"; got != want {
		t.Errorf("the first line is %q, not %q", got, want)
	}
	if strings.Contains(b.String(), "✓ tools") {
		t.Error("an unfinished area is listed")
	}
}

func TestStatusSaysHowFarTheCasesAre(t *testing.T) {
	var b bytes.Buffer
	c := NewConsole(&b, ConsoleOptions{Live: true, Width: 100})
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c.now = func() time.Time { return clock }
	c.Begin("x", spec.Stdio, spec.HandshakeRevisions(), 40)
	for _, step := range []struct {
		after       time.Duration
		done, found int
		want        string
	}{
		{time.Second, 5, 0, "… 5/40 cases · base 5/40"},
		{9 * time.Second, 10, 0, "… 10/40 cases · base 10/40"},
		{10 * time.Second, 20, 2, "… 20/40 cases · 2 findings so far · base 20/40"},
		{10 * time.Second, 40, 2, "… 40/40 cases · 2 findings so far · trying them again"},
	} {
		clock = clock.Add(step.after)
		c.Area("base", step.done, 40)
		c.Found(step.found)
		if got := c.status; got != step.want {
			t.Errorf("after %d cases the status is %q, not %q", step.done, got, step.want)
		}
	}
}

// TestStatusOnly checks that a console with StatusOnly shows only progress, and that Clear removes
// it.
func TestStatusOnly(t *testing.T) {
	for _, live := range []bool{true, false} {
		var b bytes.Buffer
		c := NewConsole(&b, ConsoleOptions{Live: live, Width: 80, StatusOnly: true})
		c.Begin("x", spec.Stdio, spec.HandshakeRevisions(), 40)
		c.Notice("something")
		c.Waiting("waiting for something")
		c.Area("base", 5, 40)
		if shown := strings.Contains(b.String(), "… 5/40 cases · "); shown != live {
			t.Errorf("live %v: %q", live, b.String())
		}
		c.Clear()
		if left := strings.TrimSpace(screen(b.String())); left != "" {
			t.Errorf("live %v: %q is left", live, left)
		}
	}
}

func TestTerseShowsHeadlinesAlone(t *testing.T) {
	for line := range strings.Lines(play(reportWithEachOutcome(), ConsoleOptions{Quiet: true, Terse: true})) {
		if !regexp.MustCompile(`^([✗~!?] [A-Z ]+  [a-z]|odd-server 1.2.3: |\n)`).MatchString(line) {
			t.Errorf("%q is shown", line)
		}
	}
}

// TestTerseShowsEqualHeadlinesOnce checks that findings whose headlines are equal share one, which
// counts them.
func TestTerseShowsEqualHeadlinesOnce(t *testing.T) {
	r := &verdict.Report{Revisions: []spec.Revision{spec.V20251125}}
	for _, method := range []string{"tools/call", "initialize"} {
		f := verdict.Finding{ID: method, Outcome: verdict.Warning, Summary: "The server serves a malformed " + method + "."}
		f.Requirement, f.Revision, f.Transport, f.Level = "base.invalid-params", spec.V20251125, spec.Stdio, spec.Should
		r.Findings = append(r.Findings, f)
	}
	var b bytes.Buffer
	NewConsole(&b, ConsoleOptions{Quiet: true, Terse: true}).End(r)
	if want := "! WARNING  base.invalid-params  SHOULD · 2025-11-25 · stdio · 2 findings\n\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("it shows:\n%s", b.String())
	}
}

// TestWorkAfterTheCasesIsShown checks that a terminal shows what the run
// does after the cases while it does it, without characters that move the
// cursor.
func TestWorkAfterTheCasesIsShown(t *testing.T) {
	for _, o := range []ConsoleOptions{{Width: 80}, {Width: 80, Live: true, Quiet: true}, {Width: 80, Live: true}} {
		var b bytes.Buffer
		c := NewConsole(&b, o)
		c.ShowActivity("searching: 3s\x1b[2J")
		if shown := strings.Contains(b.String(), "… searching: 3s"); shown != (o.Live && !o.Quiet) || strings.Contains(b.String(), "\x1b") {
			t.Errorf("with %+v: %q", o, b.String())
		}
		c.End(cleanReport())
		if text := screen(b.String()); strings.Contains(text, "searching") {
			t.Errorf("with %+v it stays:\n%s", o, text)
		}
	}
}

func TestPipeIsNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if IsTerminal(w) || ColorWanted(w, func(string) string { return "" }) {
		t.Error("a pipe is reported to be a terminal")
	}
}

func TestConsoleKeepsTheFirstErrorOfItsStream(t *testing.T) {
	full := errors.New("no space left")
	c := NewConsole(failing{full}, ConsoleOptions{})
	if err := c.Err(); err != nil {
		t.Errorf("before anything was written: %v", err)
	}
	c.End(reportWithEachOutcome())
	if err := c.Err(); !errors.Is(err, full) {
		t.Errorf("got %v; want %v", err, full)
	}
}

func TestFindingWithoutRetriesSaysSo(t *testing.T) {
	r := reportWithEachOutcome()
	for i := range r.Findings {
		r.Findings[i].Tries, r.Findings[i].Reproduced = 0, 0
	}
	const want = "could not be retried: the run ended"
	for name, text := range map[string]string{
		"console": play(r, ConsoleOptions{Width: 120}), "JUnit": string(write(t, JUnit, r)),
	} {
		if strings.Contains(text, "of 0 retries") || strings.Count(text, want) == 0 {
			t.Errorf("the %s does not say %q of a flaky finding:\n%s", name, want, text)
		}
	}
}

func TestConsoleListsABoundedNumberOfFindings(t *testing.T) {
	for n, want := range map[int]string{listed: "", listed + 1: "and 1 more finding, see the reports", listed + 60: "and 60 more findings, see the reports"} {
		r := cleanReport()
		for i := range n {
			r.Findings = append(r.Findings, verdict.Finding{
				Requirement: fmt.Sprint("ping.number-", i), Outcome: verdict.Warning, Summary: "It is late.", Revision: spec.V20251125,
			})
		}
		out := play(r, ConsoleOptions{Width: 80})
		if got := strings.Count(out, "WARNING"); got != listed {
			t.Errorf("of %d findings %d are listed", n, got)
		}
		if !strings.Contains(out, want) || want == "" && strings.Contains(out, "see the reports") {
			t.Errorf("with %d findings, the output lacks %q:\n%s", n, want, out)
		}
	}
}

func TestConclusionOfRecording(t *testing.T) {
	r := cleanReport()
	r.Stats = verdict.Stats{Messages: 12, Took: 40 * time.Millisecond}
	out := play(r, ConsoleOptions{Quiet: true})
	if want := "judged 12 messages of a recording: no requirement broken in 4 revisions (3 judged) · 0.0 s\n"; out != want {
		t.Errorf("got %q; want %q", out, want)
	}
}

// TestKnownFindingsHaveTheirOwnColumn checks that a known finding is counted as
// known, not as broken, and in the line of its area.
func TestKnownFindingsHaveTheirOwnColumn(t *testing.T) {
	const id = "ping.responds"
	r := &verdict.Report{
		Transport: spec.Stdio, Revisions: []spec.Revision{spec.V20251125},
		Verdicts: []verdict.Verdict{
			{Requirement: id, Area: "ping", Revision: spec.V20251125, Transport: spec.Stdio, Outcome: verdict.Broken, Known: "waits"},
			{Requirement: "ping.empty-result", Area: "ping", Revision: spec.V20251125, Transport: spec.Stdio, Outcome: verdict.Kept},
		},
		Findings: []verdict.Finding{{ID: "F1", Requirement: id, Revision: spec.V20251125, Transport: spec.Stdio, Outcome: verdict.Broken, Summary: "It is silent.", Known: "waits"}},
	}
	if diff := cmp.Diff([]string{"2025-11-25  kept 1 · warnings 0 · broken 0 · known 1 · not observed 0 · not applicable 0"}, tallyLines(r, 200)); diff != "" {
		t.Errorf("verdict line (-want +got):\n%s", diff)
	}
	var b strings.Builder
	c := NewConsole(&b, ConsoleOptions{Width: 100})
	c.Area("ping", 2, 2)
	c.End(r)
	if !strings.Contains(b.String(), "✓ ping                 2 cases, 1 known finding\n") {
		t.Errorf("the line of the area is not in:\n%s", b.String())
	}
}
