package reporters

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func TestWhatIsLacking(t *testing.T) {
	const slow = "fixtures: slow: {tool: NAME}"
	r := &verdict.Report{Verdicts: []verdict.Verdict{
		{Requirement: "a", Revision: "2025-06-18", Lacks: slow},
		{Requirement: "a", Revision: "2025-11-25", Lacks: slow},
		{Requirement: "b", Revision: "2025-11-25", Lacks: "tools: call: [\x1b[2J]"},
		{Requirement: "c", Revision: "2025-11-25", Lacks: slow},
		{Requirement: "d", Revision: "2025-11-25"},
	}}
	show := func(o ConsoleOptions) []string { return NewConsole(&strings.Builder{}, o).lackingLines(r) }
	want := []string{
		"not observed because the tools that show it may not be called; to call all tools: --call-tools all;",
		"to call some, add to mcp-conform.yaml, the names in one list:",
		`  tools: call: [\u001b[2J]  (1 requirement)`,
		"not observed because no tool is known that shows it; to add to mcp-conform.yaml, with the name of a",
		"tool for NAME:",
		"  " + slow + "  (2 requirements)",
	}
	if diff := cmp.Diff(want, show(ConsoleOptions{Verbose: true})); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	want = []string{
		"1 requirement not observed because the tools that show it may not be called; --call-tools all calls all tools,",
		"tools.call in mcp-conform.yaml names some, and -v prints the lines",
		"2 requirements not observed because no tool is known that shows it; mcp-conform.yaml can name such tools, and -v prints",
		"the lines to add",
	}
	if diff := cmp.Diff(want, show(ConsoleOptions{Width: 120})); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
	if got := show(ConsoleOptions{Quiet: true}); got != nil {
		t.Errorf("a quiet console shows %q", got)
	}
	text := string(write(t, Markdown, r))
	for _, line := range []string{
		"<details><summary>2 requirements not observed because no tool is known that shows it</summary>",
		"<pre>  " + slow + "  (2 requirements)</pre>",
		"<details><summary>1 requirement not observed because the tools that show it may not be called</summary>",
		"<pre>  tools: call: [\\u001b[2J]  (1 requirement)</pre>",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("Markdown has no %q:\n%s", line, text)
		}
	}
	r.Verdicts = r.Verdicts[4:]
	if got := show(ConsoleOptions{Verbose: true}); got != nil {
		t.Errorf("where nothing is lacking, it shows %q", got)
	}
	if text := string(write(t, Markdown, r)); strings.Contains(text, "want of") {
		t.Errorf("where nothing is lacking, Markdown has:\n%s", text)
	}
}
