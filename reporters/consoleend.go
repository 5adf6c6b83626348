package reporters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func (c *Console) areaLine(a *areaProgress, columns, findings, known int, worst verdict.Outcome) string {
	var counts []string
	if a.total > 0 {
		counts = append(counts, countWithNoun(a.total, "case"))
	}
	mark := c.paint(green, "✓")
	if findings > 0 {
		look := outcomeStyles[worst]
		mark = c.paint(look.color, look.mark)
		counts = append(counts, countWithNoun(findings, "finding"))
	}
	if known > 0 {
		counts = append(counts, countWithNoun(known, "known finding"))
	}
	if n := len(counts); n > 0 && a.total == 0 && c.cases > 0 {
		counts[n-1] += ", seen elsewhere"
	}
	return fmt.Sprintf("%s %-*s %s", mark, columns, Visible(a.name), strings.Join(counts, ", "))
}

// narrowestArea is the minimum width of the column with the names of areas.
const narrowestArea = 20

// showAreas shows a line for each area that has findings. It shows one line for all other completed
// areas together or, with Verbose, a line for each of them. A finding belongs to the area of its
// requirement, whichever case saw it.
func (c *Console) showAreas(r *verdict.Report) {
	areaOf := map[string]string{}
	for i := range r.Verdicts {
		areaOf[r.Verdicts[i].Requirement] = r.Verdicts[i].Area
	}
	findings, known, worst := map[string]int{}, map[string]int{}, map[string]verdict.Outcome{}
	noted := map[string]bool{}
	for _, e := range allEntries(r) {
		area := areaOf[e.Requirement]
		switch {
		case area == "" || e.Outcome < verdict.Note:
			continue
		case e.Outcome == verdict.Note:
			noted[area] = true
			continue
		case e.Known != "":
			known[area]++
		default:
			findings[area]++
			worst[area] = max(worst[area], e.Outcome)
		}
		c.findOrAddArea(area)
	}
	widest := narrowestArea
	for _, a := range c.areas {
		widest = max(widest, width(Visible(a.name)))
	}
	clean, cases, elsewhere, only := 0, 0, false, ""
	for _, a := range c.areas {
		switch n, k := findings[a.name], known[a.name]; {
		case n+k > 0, c.o.Verbose && a.done >= a.total:
			c.writeLine(c.areaLine(a, widest, n, k, worst[a.name]))
			elsewhere = elsewhere || a.total == 0 && c.cases > 0
		case a.done >= a.total:
			clean, cases = clean+1, cases+a.total
			if noted[a.name] {
				only = " but notes"
			}
		}
	}
	switch in, ran := countWithNoun(clean, "area"), countWithNoun(cases, "case"); {
	case clean == 0:
	case elsewhere: // its cases showed a finding, but about another area
		c.writeLine(fmt.Sprintf("%s no findings%s about %s, whose %s ran", c.paint(green, "✓"), only, in, ran))
	default:
		c.writeLine(fmt.Sprintf("%s no findings%s in %s, %s", c.paint(green, "✓"), only, in, ran))
	}
}

// End shows the findings, a line of verdicts for each revision, and finally the
// conclusion of the run. It does not repeat notices of r that were already
// shown.
func (c *Console) End(r *verdict.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.o.Quiet {
		c.showAreas(r)
	}
	c.areas, c.doing, c.outlook = nil, "", outlook{} // unfinished work has no status any more
	for _, n := range r.Notices {
		c.writeNotice(n)
	}
	fs := groupByCause(entries(r, c.o.Verbose))
	if len(fs) == 0 && !c.o.Verbose {
		c.begun = false // no gap is needed
	}
	shown := fs[:min(len(fs), listed)]
	if c.o.Terse && len(shown) > 0 {
		c.writeSeparator()
		for _, line := range c.terseLines(shown) {
			c.writeLine(line)
		}
	}
	if !c.o.Terse {
		explained := c.o.Quiet
		for _, s := range sectionsOf(shown) {
			if s.heading != "" {
				c.writeSeparator()
				c.writeLine(c.paint(bold, clip(s.heading, c.o.Width-1)+":"))
			}
			for i := range s.families {
				c.writeSeparator()
				lines := slices.Concat(c.entryLines(&s.families[i].entry), c.linesBelow(&s.families[i]))
				if !explained {
					legend := c.legend(lines)
					lines, explained = append(lines, legend...), legend != nil
				}
				for _, line := range lines {
					c.writeLine(line)
				}
			}
		}
	}
	if more := fs[len(shown):]; len(more) > 0 {
		if !c.o.Terse {
			c.writeSeparator()
		}
		c.writeLine(fmt.Sprintf("and %s, see the reports", countWithNoun(countFindings(more), "more finding")))
	}
	if lines := c.baselineLines(r); len(lines) > 0 {
		c.writeSeparator()
		for _, line := range lines {
			c.writeLine(line)
		}
	}
	c.writeSeparator()
	lacking := c.lackingLines(r)
	for _, line := range lacking {
		c.writeLine(line)
	}
	if !c.o.Quiet {
		for _, line := range append(c.gatewayLines(r), c.securityLines(r)...) {
			c.writeLine(line)
		}
		if len(lacking) > 0 && len(r.Revisions) > 0 { // the lines in lacking count requirements, too
			c.writeLine("requirements by revision:")
		}
		for _, line := range tallyLines(r, c.o.Width) {
			for _, part := range c.foldCells(line) {
				c.writeLine(part)
			}
		}
		if !c.o.Verbose && slices.ContainsFunc(r.Verdicts, func(v verdict.Verdict) bool { return v.Outcome == verdict.Note }) {
			c.writeLine("-v lists the notes, too")
		}
	}
	if r.Stats.Slow != "" && !c.o.Quiet {
		for _, line := range c.colorThenPlain(none, "time:", Visible(r.Stats.Slow)) {
			c.writeLine(line)
		}
	}
	for _, line := range c.profileLines(r) {
		c.writeLine(line)
	}
	text, paint := conclusion(r)
	for _, line := range c.colorThenPlain(paint, text, "· "+describeEffort(r)) {
		c.writeLine(line)
	}
}

// legend returns an explanation of the symbols in the lines of a finding, or nil if the lines
// contain no symbols.
func (c *Console) legend(finding []string) []string {
	text := strings.Join(finding, "\n")
	if !strings.Contains(text, "»") {
		return nil
	}
	legend := "» the event at fault, → sent to the server, ← received from it"
	if strings.Contains(text, "\n  ! ") || strings.Contains(text, "» ! ") {
		legend += ", ! about the process or connection"
	}
	if strings.Contains(text, `"…/`) {
		legend += ", …/ stands for " + strings.TrimPrefix(metaPrefix, `"`)
	}
	var out []string
	for _, line := range WrapLine(legend, max(0, c.foldWidth()-2), 0) {
		out = append(out, c.paint(dim, "  "+line))
	}
	return out
}
