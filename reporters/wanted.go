package reporters

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// lacking returns the lines of the configuration file by which more would be
// observed, in the order of the report, and of how many requirements each.
func lacking(r *verdict.Report) (lines []string, counts map[string]int) {
	seen := map[[2]string]bool{}
	counts = map[string]int{}
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Lacks == "" || seen[[2]string{v.Lacks, v.Requirement}] {
			continue
		}
		seen[[2]string{v.Lacks, v.Requirement}] = true
		if counts[v.Lacks]++; !slices.Contains(lines, v.Lacks) {
			lines = append(lines, v.Lacks)
		}
	}
	return lines, counts
}

// lackingLines tell of what was not observed because no call was known that
// would show it: in a line, or with what the user can do about it.
func (c *Console) lackingLines(r *verdict.Report) []string {
	lines, counts := lacking(r)
	if len(lines) == 0 || c.o.Quiet {
		return nil
	}
	if !c.o.Verbose {
		total := 0
		for _, n := range counts {
			total += n
		}
		return wrap(fmt.Sprintf("%s not observed because no tool is known that shows it; mcp-conform.yaml can name such tools, and -v prints the lines to add", count(total, "requirement")), c.o.Width, 4)
	}
	return append(wrap(lackingHead, c.o.Width, 4), lackingRows(lines, counts)...)
}

// lackingHead stands above the lines by which more would be observed.
const lackingHead = "not observed because no tool is known that shows it; to add to mcp-conform.yaml, with the name of a tool for NAME:"

func lackingRows(lines []string, counts map[string]int) []string {
	var out []string
	for _, line := range lines {
		out = append(out, fmt.Sprintf("  %s  (%s)", clip(line, 200), count(counts[line], "requirement")))
	}
	return out
}
