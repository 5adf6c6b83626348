package reporters

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
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

// Waiting shows what the run waits for before the cases begin. A terminal shows the text on the
// status line; any other output gets one line for each wait. An empty string ends the wait.
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
