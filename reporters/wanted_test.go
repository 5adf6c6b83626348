package reporters

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func TestLackingLines(t *testing.T) {
	slow, asks := verdict.Setting{Fixture: "slow: {tool: NAME, arguments: {…}}"}, verdict.Setting{Fixture: "sampling: {tool: NAME, arguments: {…}}"}
	r := &verdict.Report{Revisions: []spec.Revision{spec.V20251125, spec.V20250618}, Verdicts: []verdict.Verdict{
		{Requirement: "a", Revision: "2025-06-18", Lacks: slow},
		{Requirement: "a", Revision: "2025-11-25", Lacks: slow},
		{Requirement: "b", Revision: "2025-11-25", Lacks: verdict.Setting{Tool: "\x1b[2J"}},
		{Requirement: "c", Revision: "2025-11-25", Lacks: slow},
		{Requirement: "e", Revision: "2025-11-25", Lacks: asks},
		{Requirement: "f", Revision: "2025-11-25", Lacks: verdict.Setting{Tool: "slow-task"}},
		{Requirement: "g", Revision: "2025-11-25", Lacks: verdict.Setting{Tool: "NAME"}},
		{Requirement: "d", Revision: "2025-11-25"},
	}}
	for i := range r.Verdicts {
		r.Verdicts[i].Outcome = verdict.NotObserved
	}
	show := func(o ConsoleOptions) []string { return NewConsole(&strings.Builder{}, o).lackingLines(r) }
	calls := []string{"tools:", "  call:", "    - safe", `    - \u001b[2J  # 1 requirement`, "    - slow-task  # 1 requirement", "    - NAME  # any other tool: 1 requirement"}
	known := []string{"fixtures:", "  slow: {tool: NAME, arguments: {…}}  # 2 requirements", "  sampling: {tool: NAME, arguments: {…}}  # 1 requirement"}
	indented := func(rows []string) (out []string) {
		for _, row := range rows {
			out = append(out, "  "+row)
		}
		return out
	}
	want := slices.Concat([]string{
		"not observed: mcp-conform may not call the tools that would show this; to allow all tools:",
		"--call-tools all; to allow some, add them to mcp-conform.yaml:",
	}, indented(calls), []string{
		"not observed: mcp-conform knows no tool that would show this; if the server has one, add it to",
		"mcp-conform.yaml, with its name for NAME, and its arguments:",
	}, indented(known))
	if diff := cmp.Diff(want, show(ConsoleOptions{Verbose: true})); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	want = []string{
		"not observed in one or more revisions: 7 requirements; 3 because mcp-conform may not call the tools that would show it,",
		"  3 because mcp-conform knows no tool that would show it; see -v",
	}
	if diff := cmp.Diff(want, show(ConsoleOptions{Width: 120})); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
	if got := show(ConsoleOptions{Quiet: true}); got != nil {
		t.Errorf("a quiet console shows %q", got)
	}
	for name, w := range map[string]Writer{"Markdown": Markdown, "HTML": HTML} {
		text := string(write(t, w, r))
		for _, part := range []string{
			"<summary>3 requirements not observed because no tool is known that shows it</summary>",
			strings.Join(known, "\n") + "</",
			"<summary>3 requirements not observed because mcp-conform may not call the tools that show it</summary>",
			strings.Join(calls, "\n") + "</",
		} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q:\n%s", name, part, text)
			}
		}
	}
	r.Verdicts = r.Verdicts[len(r.Verdicts)-1:]
	if got := show(ConsoleOptions{Verbose: true}); got != nil {
		t.Errorf("where nothing is lacking, it shows %q", got)
	}
	if text := string(write(t, Markdown, r)); strings.Contains(text, "not observed because") {
		t.Errorf("where nothing is lacking, Markdown has:\n%s", text)
	}
	if text := string(write(t, HTML, r)); strings.Contains(text, `id="lacking"`) {
		t.Error("where nothing is lacking, HTML has a place for it")
	}
}

// TestLackingLinesAreValidConfiguration checks that the lines are a valid part of
// the configuration file once their placeholders are filled in, and that only
// the first of many lines are shown.
func TestLackingLinesAreValidConfiguration(t *testing.T) {
	var verdicts []verdict.Verdict
	for i, line := range []verdict.Setting{{Tool: "a"}, {Tool: "b"}, {Fixture: "slow: {tool: NAME, arguments: {…}}"}, {Fixture: "roots: {tool: NAME, arguments: {…}}"}} {
		verdicts = append(verdicts, verdict.Verdict{Requirement: strconv.Itoa(i), Lacks: line})
	}
	lines, counts := missingSettings(&verdict.Report{Verdicts: verdicts})
	var rows []string
	for _, g := range lackingGroups(lines, counts) {
		rows = append(rows, g.rows(counts, len(lines))...)
		if first := g.rows(counts, 1); first[len(first)-1] != "# … and 1 more line" {
			t.Errorf("of two lines one is shown as %q", first)
		}
	}
	text := "target: {command: [server]}\n" + strings.NewReplacer("NAME", "c", "{…}", "{}").Replace(strings.Join(rows, "\n"))
	if _, err := config.Parse(config.Name, []byte(text)); err != nil {
		t.Errorf("%v in:\n%s", err, text)
	}
}
