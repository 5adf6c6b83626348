package realservers

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/cputime"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// figures is the page to which the tests write the cost of every run. If it is
// set, they run one after another. Lines of servers that did not run are kept:
//
//	go test ./internal/realservers -count=1 -timeout 30m -figures ../../docs/field-notes.md
var figures = flag.String("figures", "", "write what the runs cost into this page, between its two marks")

const (
	beginFigures = "<!-- figures -->\n"
	endFigures   = "<!-- end of figures -->\n"
)

// rows are the lines of the table, in the order of the runs. Tests append to
// them only if they do not run in parallel.
var rows []string

// cost is the cost of a run since measure was called.
type cost struct {
	cpu time.Duration

	mu    sync.Mutex
	worst suitetest.Wait // of all conversations, the wait that exceeds its limit most
}

func measure() *cost { return &cost{cpu: cputime.Used()} }

// record records how long a conversation waited to show that no message
// arrives.
func (c *cost) record(r engine.Recorded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := suitetest.LongestWait(r.Events); w.Longest-w.Allowed() > c.worst.Longest-c.worst.Allowed() || c.worst.Longest == 0 {
		c.worst = w
	}
}

// note appends a line for the run of the server.
func (c *cost) note(name string, p *verdict.Report) {
	if *figures == "" {
		return
	}
	judged, broken, warned := 0, 0, 0
	for _, r := range p.Revisions {
		b, w := p.Count(r, verdict.Broken), p.Count(r, verdict.Warning)
		judged += p.Count(r, verdict.Kept) + p.Count(r, verdict.Note) + b + w
		broken, warned = broken+b, warned+w
	}
	rows = append(rows, fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %d | %.1f s | %.1f s | %d of %d ms |\n",
		name, p.Transport, len(p.Revisions), judged, broken, warned, p.Stats.Servers, p.Stats.Messages, p.Stats.Took.Seconds(), (cputime.Used()-c.cpu).Seconds(),
		c.worst.Longest.Milliseconds(), c.worst.Allowed().Milliseconds()))
}

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(command())
	}
	flag.Parse()
	code := m.Run()
	if *figures != "" && code == 0 {
		if err := writeFigures(*figures); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func writeFigures(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, begun := strings.Cut(string(text), beginFigures)
	between, after, ended := strings.Cut(rest, endFigures)
	if !begun || !ended {
		return fmt.Errorf("%s lacks the marks between which figures stand", page)
	}
	for line := range strings.Lines(between) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| server |") {
			rows = add(rows, line)
		}
	}
	slices.Sort(rows)
	table := "\n| server | transport | revisions | judged | broken | warnings | starts | messages | wall | CPU | longest wait |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n" + strings.Join(rows, "") + "\n"
	return os.WriteFile(page, []byte(before+beginFigures+table+endFigures+after), 0o666)
}

// add adds a line to those of other servers.
func add(rows []string, line string) []string {
	server, _, _ := strings.Cut(line[2:], " ")
	for _, row := range rows {
		if strings.HasPrefix(row, "| "+server+" |") {
			return rows
		}
	}
	return append(rows, line)
}
