package reporters

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// missingSettings returns the configuration lines that would make more requirements
// observable, in the order of the report, and the number of requirements for
// each line.
func missingSettings(r *verdict.Report) (lines []verdict.Setting, counts map[verdict.Setting]int) {
	type want struct {
		setting     verdict.Setting
		requirement string
	}
	seen := map[want]bool{}
	counts = map[verdict.Setting]int{}
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Lacks.IsZero() || seen[want{v.Lacks, v.Requirement}] {
			continue
		}
		seen[want{v.Lacks, v.Requirement}] = true
		if counts[v.Lacks]++; !slices.Contains(lines, v.Lacks) {
			lines = append(lines, v.Lacks)
		}
	}
	return lines, counts
}

// lackingLines lists what was not observed because no call was known or allowed: in one sentence
// the number of requirements for each reason. With Verbose, it lists instead the configuration
// lines that would make these requirements observable.
func (c *Console) lackingLines(r *verdict.Report) []string {
	lines, counts := missingSettings(r)
	if len(lines) == 0 || c.o.Quiet {
		return nil
	}
	groups := lackingGroups(lines, counts)
	if !c.o.Verbose {
		return WrapLine(lackingSentence(r, groups), c.foldWidth(), 2)
	}
	var out []string
	for _, g := range groups {
		out = append(out, wrap(g.why.head, c.o.Width, 4)...)
		for _, row := range g.rows(counts, len(g.lines)) {
			out = append(out, "  "+row)
		}
	}
	return out
}

// lackingSentence returns a sentence that counts the requirements that were not observed, in all
// and for each of the reasons in groups.
func lackingSentence(r *verdict.Report, groups []lackingGroup) string {
	isUnobserved := func(v *verdict.Verdict) bool { return v.Outcome == verdict.NotObserved }
	text := "not observed: "
	if len(r.Revisions) > 1 {
		text = "not observed in one or more revisions: "
	}
	text += countWithNoun(requirementsWhere(r, isUnobserved), "requirement")
	for i, g := range groups {
		n := requirementsWhere(r, func(v *verdict.Verdict) bool { return isUnobserved(v) && slices.Contains(g.lines, v.Lacks) })
		of := []string{"; ", ", "}[min(i, 1)]
		text += fmt.Sprintf("%s%d because mcp-conform %s", of, n, g.why.short)
	}
	return text + "; see -v"
}

// lackingWhy is the reason why requirements were not observed, and the heading
// of the configuration lines that would change that.
type lackingWhy struct{ title, short, head string }

var (
	lackingKnown = lackingWhy{
		title: "not observed because no tool is known that shows it",
		short: "knows no tool that would show it",
		head:  "not observed: mcp-conform knows no tool that would show this; if the server has one, add it to mcp-conform.yaml, with its name for NAME, and its arguments:",
	}
	lackingCalls = lackingWhy{
		title: "not observed because mcp-conform may not call the tools that show it",
		short: "may not call the tools that would show it",
		head:  "not observed: mcp-conform may not call the tools that would show this; to allow all tools: --call-tools all; to allow some, add them to mcp-conform.yaml:",
	}
)

// A lackingGroup is the configuration lines for one reason, and the number of requirements that
// they would make observable.
type lackingGroup struct {
	why   *lackingWhy
	lines []verdict.Setting
	total int
}

func lackingGroups(lines []verdict.Setting, counts map[verdict.Setting]int) []lackingGroup {
	known, calls := lackingGroup{why: &lackingKnown}, lackingGroup{why: &lackingCalls}
	for _, line := range lines {
		g := &known
		if line.Tool != "" {
			g = &calls
		}
		g.lines, g.total = append(g.lines, line), g.total+counts[line]
	}
	return slices.DeleteFunc([]lackingGroup{calls, known}, func(g lackingGroup) bool { return len(g.lines) == 0 })
}

// rows combines the first lines of the group into a part of the configuration file that users can
// copy unchanged. The argument most is the maximum number of lines, and a comment in the part
// counts the lines beyond it. The lines share one heading, because YAML rejects duplicate keys.
// counts has the number of requirements for each line.
func (g *lackingGroup) rows(counts map[verdict.Setting]int, most int) []string {
	var out []string
	for i, line := range g.lines[:min(len(g.lines), most)] {
		heads, indent, text := []string{"fixtures:"}, "  ", line.Fixture
		if line.Tool != "" {
			heads, indent, text = []string{"tools:", "  call:", "    - safe"}, "    - ", line.Tool
		}
		if i == 0 {
			out = append(out, heads...)
		}
		what := countWithNoun(counts[line], "requirement")
		if line.Tool == "NAME" {
			what = "any other tool: " + what
		}
		out = append(out, indent+clip(text, 200)+"  # "+what)
	}
	if more := len(g.lines) - most; more > 0 {
		out = append(out, "# … and "+countWithNoun(more, "more line"))
	}
	return out
}
