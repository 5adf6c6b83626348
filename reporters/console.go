package reporters

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// ConsoleOptions set what a Console shows, and how.
type ConsoleOptions struct {
	Color bool // escape sequences for colours; see ColorWanted
	Live  bool // out is a terminal: a status line is rewritten while areas run
	Width int  // columns; 0 means that the width is unknown, and less than 40 is taken as 40
	Quiet bool // only findings and the last line
	Terse bool // findings are shown without their evidence
	// StatusOnly shows a run's progress on the status line, and nothing else
	// until its end.
	StatusOnly bool
	Verbose    bool // notes are listed, not only counted, and so are areas without findings
}

// Console shows a run to a person: what is judged and the progress, a line for each area with
// findings, then the findings, most severe first, and the verdicts. Its methods are safe for
// concurrent use. An error from out changes no verdict and does not end the run; the method Err
// returns it.
type Console struct {
	out io.Writer
	o   ConsoleOptions

	mu      sync.Mutex
	areas   []*areaProgress // in the order of their first update
	status  string          // the status line that the terminal shows
	cases   int             // number of cases in the run
	found   int             // different findings so far
	now     func() time.Time
	doing   string // what the run does after the cases
	outlook outlook
	waiting bool // a line about the current wait has been shown
	begun   bool // a line was written
	noticed map[string]bool
	err     error // the first error from out
	whole   bool  // the width is unknown: headlines and totals stay on one line, for grep
}

type areaProgress struct {
	name        string
	done, total int
}

// NewConsole returns a console that writes to out.
func NewConsole(out io.Writer, o ConsoleOptions) *Console {
	whole := o.Width == 0
	if whole {
		o.Width = 100
	}
	o.Width = max(o.Width, 40)
	return &Console{out: out, o: o, noticed: map[string]bool{}, whole: whole, now: time.Now}
}

// Begin shows what is about to be judged. target describes the server, with its
// name and version if they are known.
func (c *Console) Begin(target string, transport spec.Transport, revisions []spec.Revision, cases int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cases, c.outlook = cases, outlook{began: c.now()}
	if c.o.Quiet || c.o.StatusOnly {
		return
	}
	in := joinRevisions(spec.NewestFirst(revisions))
	if len(revisions) > 2 { // the verdicts list the revisions
		in = countWithNoun(len(revisions), "revision")
	}
	for _, line := range c.colorThenPlain(bold, "judging "+clip(target, 2*c.o.Width),
		fmt.Sprintf("over %s · %s · %s", Visible(string(transport)), in, countCases(cases))) {
		c.writeLine(line)
	}
}

// countCases returns the number of cases, and what a run without cases judges.
func countCases(n int) string {
	if n == 0 {
		return "0 cases, only how the connection opens"
	}
	return countWithNoun(n, "case")
}

// Area updates the progress of an area, counted in cases. It may be called
// often. Findings of the area are shown at the end, because they have not been
// retried yet.
func (c *Console) Area(area string, done, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.o.Quiet {
		return
	}
	a := c.findOrAddArea(area)
	a.done, a.total = done, total
	c.showStatus()
}

// Found updates the number of different findings. The final number may be
// smaller, because none of them has been retried yet.
func (c *Console) Found(findings int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = findings
	c.showStatus()
}

// ShowActivity shows on the status line what the run does after the cases. An empty
// string removes it. It may be called often.
func (c *Console) ShowActivity(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doing = Visible(what)
	c.showStatus()
}

// Waiting shows what the run waits for before the cases begin. An empty string
// ends the wait. A terminal shows it on the status line, and other outputs get
// one line for each wait.
func (c *Console) Waiting(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.o.Live {
		c.doing = Visible(what)
		c.showStatus()
		return
	}
	if what != "" && !c.waiting {
		c.writeNotice(what)
	}
	c.waiting = what != ""
}

// Clear removes the status line, and forgets the progress.
func (c *Console) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.areas, c.found, c.doing, c.outlook = nil, 0, "", outlook{}
	c.showStatus()
}

func (c *Console) findOrAddArea(name string) *areaProgress {
	for _, a := range c.areas {
		if a.name == name {
			return a
		}
	}
	a := &areaProgress{name: name}
	c.areas = append(c.areas, a)
	return a
}

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
	for _, e := range allEntries(r) {
		area := areaOf[e.Requirement]
		switch {
		case area == "" || e.Outcome <= verdict.Note:
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
	clean, cases, elsewhere := 0, 0, false
	for _, a := range c.areas {
		switch n, k := findings[a.name], known[a.name]; {
		case n+k > 0, c.o.Verbose && a.done >= a.total:
			c.writeLine(c.areaLine(a, widest, n, k, worst[a.name]))
			elsewhere = elsewhere || a.total == 0 && c.cases > 0
		case a.done >= a.total:
			clean, cases = clean+1, cases+a.total
		}
	}
	switch in, ran := countWithNoun(clean, "area"), countWithNoun(cases, "case"); {
	case clean == 0:
	case elsewhere: // its cases showed a finding, but about another area
		c.writeLine(fmt.Sprintf("%s no findings about %s, whose %s ran", c.paint(green, "✓"), in, ran))
	default:
		c.writeLine(fmt.Sprintf("%s no findings in %s, %s", c.paint(green, "✓"), in, ran))
	}
}

// Notice shows a message that the user should see during the run.
func (c *Console) Notice(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeNotice(text)
	c.showStatus()
}

func (c *Console) writeNotice(text string) {
	if c.o.Quiet || c.o.StatusOnly || c.noticed[text] {
		return
	}
	c.noticed[text] = true
	for i, line := range wrap(text, c.o.Width-6, 4) {
		c.writeLine([]string{"note: ", "      "}[min(i, 1)] + line)
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
		for i := range shown {
			c.writeSeparator()
			lines := slices.Concat(c.entryLines(&shown[i].entry), c.linesBelow(&shown[i]))
			if legend := c.legend(lines); !explained && legend != nil {
				lines, explained = append(lines, legend...), true
			}
			for _, line := range lines {
				c.writeLine(line)
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
		if len(lacking) > 0 && len(r.Revisions) > 0 { // which count requirements, too
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

// colorThenPlain renders text in a colour, followed by rest, and wraps the line
// between words.
func (c *Console) colorThenPlain(p color, text, rest string) []string {
	out := WrapLine(text, c.foldWidth(), 2)
	last := len(out) - 1
	taken := width(out[last])
	for i := range out {
		out[i] = c.paint(p, out[i])
	}
	if c.foldWidth() == 0 {
		return append(out[:last], out[last]+" "+rest)
	}
	return append(out[:last], appendWrapped(out[last], taken, splitWords(rest), c.foldWidth(), 2)...)
}

// writeLine clears the status line and writes s as a line.
func (c *Console) writeLine(s string) {
	c.write(c.eraser() + escapeCICommands(s) + "\n")
	c.status, c.begun = "", true
}

// writeSeparator writes an empty line if anything was written before.
func (c *Console) writeSeparator() {
	if c.begun {
		c.writeLine("")
	}
}

// progress returns the overall progress, the number of findings so far, how long the run still
// takes, and why it is slow.
func (c *Console) progress() []string {
	done := 0
	for _, a := range c.areas {
		done += a.done
	}
	over := done >= c.cases
	if done == 0 || over && (c.found == 0 || c.doing != "") {
		return nil
	}
	out := []string{fmt.Sprintf("%d/%d cases", done, c.cases)}
	if c.found > 0 {
		out = append(out, countWithNoun(c.found, "finding")+" so far")
	}
	if over {
		out = append(out, "trying them again")
	}
	return append(out, c.outlook.timeTexts()...)
}

// showStatus rewrites the status line with the areas in progress, or with what
// the run does after the cases.
func (c *Console) showStatus() {
	if !c.o.Live || c.o.Quiet {
		return
	}
	running := c.progress()
	for _, a := range c.areas {
		if a.done < a.total {
			running = append(running, fmt.Sprintf("%s %d/%d", a.name, a.done, a.total))
		}
	}
	if c.doing != "" {
		running = append(running, c.doing)
	}
	status := ""
	if len(running) > 0 {
		// The last column stays free, because some terminals wrap when it is
		// filled.
		status = clip("… "+strings.Join(running, " · "), c.o.Width-1)
	}
	if status != c.status {
		c.write(c.eraser() + status)
		c.status = status
	}
}

// eraser returns a string that overwrites the status line with spaces, which works on every
// terminal, and returns to the start of the line.
func (c *Console) eraser() string {
	if c.status == "" {
		return ""
	}
	return "\r" + strings.Repeat(" ", width(c.status)) + "\r"
}

func (c *Console) write(s string) {
	if _, err := io.WriteString(c.out, s); c.err == nil {
		c.err = err
	}
}

// Err returns the first error from the console's writer, or nil.
func (c *Console) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// ciCommandEscaper breaks the markers that CI systems recognise as commands anywhere in a line of a
// log.
var ciCommandEscaper = strings.NewReplacer("##[", `#\u0023[`, "##vso[", `#\u0023vso[`, "##teamcity[", `#\u0023teamcity[`)

// escapeCICommands keeps the CI system that collects the log from executing a line as a
// command. GitHub also recognises "::" after leading spaces.
func escapeCICommands(line string) string {
	if text := strings.TrimLeft(line, " "); strings.HasPrefix(text, "::") {
		line = line[:len(line)-len(text)] + `\u003a` + text[1:]
	}
	return ciCommandEscaper.Replace(line)
}

type color string

const (
	none   color = ""
	bold   color = "1"
	dim    color = "2"
	red    color = "1;31"
	green  color = "32"
	yellow color = "33"
)

func (c *Console) paint(p color, s string) string {
	if !c.o.Color || p == none || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + string(p) + "m" + s + "\x1b[0m"
}

func joinRevisions(rs []spec.Revision) string {
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = Visible(string(r))
	}
	return cmp.Or(strings.Join(names, ", "), "no revision")
}
