package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/selftest"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// selftestProgress shows the progress of a self-test. On a terminal it rewrites one line, and
// elsewhere it prints a line for each tenth of the work.
type selftestProgress struct {
	out     io.Writer
	live    bool
	columns int
	started time.Time

	rows, bad, tenth int
	shown            time.Time
}

// widestArea is the width of the column of areas.
const widestArea = len("streamable-http")

// minProgressRows is the smallest number of rows for which progress lines are printed if the output
// is not a terminal.
const minProgressRows = 100

// addResult counts the result of a row and shows the progress.
func (p *selftestProgress) addResult(r selftest.Result, at selftest.Progress) {
	p.rows = at.Done
	if !r.Outcome.Good() {
		p.bad++
	}
	switch tenth := int(at.Share * 10); {
	case p.live && (at.Done == at.Total || time.Since(p.shown) > 100*time.Millisecond):
		p.shown = time.Now()
		text := cutLine(fmt.Sprintf("%s  %s", p.describeProgress(at), reporters.Visible(r.Fault)), max(20, p.columns-1))
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
	case !p.live && at.Total >= minProgressRows && tenth > p.tenth && at.Done < at.Total:
		p.tenth = tenth
		fmt.Fprintln(p.out, p.describeProgress(at))
	}
}

func (p *selftestProgress) describeProgress(at selftest.Progress) string {
	text := fmt.Sprintf("%d of %d rows", at.Done, at.Total)
	if p.bad > 0 {
		text += fmt.Sprintf(", %d failed", p.bad)
	}
	// An earlier estimate would be too inaccurate.
	if took := time.Since(p.started); at.Share > 0.03 && at.Done < at.Total {
		left := time.Duration(float64(took) * (1 - at.Share) / at.Share)
		text += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	return text
}

// showRetry shows that the n-th of the failed rows is retried. The second argument is the number of
// failed rows.
func (p *selftestProgress) showRetry(n, of int) {
	switch text := fmt.Sprintf("%d of %d rows once more", n, of); {
	case p.live:
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
	case n == 1:
		fmt.Fprintf(p.out, "failed: %d; retrying\n", of)
	}
}

// end clears the progress line.
func (p *selftestProgress) end() {
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// printMatrix prints the unexpected results, or every row if verbose, then the exceptions that no
// longer occur and the rows that needed a retry, and then the totals.
func (a *app) printMatrix(m *selftest.Matrix, verbose bool) {
	rows := m.UnexpectedResults()
	if verbose {
		rows = m.Rows
	}
	w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', 0)
	for i := range rows {
		printResult(w, &rows[i])
	}
	_ = w.Flush()
	for _, e := range m.Stale {
		fmt.Fprintf(a.Out, "an exception no longer occurs; remove it: %s\n", reporters.Visible(e.String()))
	}
	for _, r := range m.RetriedResults() {
		fmt.Fprintf(a.Out, "only in a retry %s: %s over %s in %s (first: %s)\n", r.Outcome, r.Fault, r.Transport, r.Revision, r.First.Outcome)
		for _, by := range r.First.By {
			fmt.Fprintf(a.Out, "  %s\n", reporters.Visible(by))
		}
	}
	areas, all := m.Sums()
	if len(areas) > 1 {
		areas = append(areas, all)
	}
	w = tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', tabwriter.AlignRight)
	// Cells are right-aligned. Padding the names to one width makes them
	// left-aligned.
	fmt.Fprintln(w, pad("area", widestArea)+"\tfaults\tkilled\tmis-attributed\tsurvived\twaiting\tvariations\tsilent\tfalse alarms\tfailed\texcepted\t")
	for _, s := range areas {
		fmt.Fprintf(w, "%s\t%s\t\n", pad(s.Area, widestArea), countCells(s.Faults, s.Killed, s.MisAttributed, s.Survived, s.Waiting, s.Variations, s.Silent, s.FalseAlarms, s.Failed, s.Excepted))
	}
	_ = w.Flush()
	if all.Waiting > 0 {
		fmt.Fprintln(a.Out, "waiting: no check judges these requirements so far; mcp-conform list --coverage explains why")
	}
}

func printResult(w io.Writer, r *selftest.Result) {
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%v\n", r.Outcome, r.Fault, r.Transport, r.Revision, r.Took.Round(time.Millisecond))
	if r.Excepted != "" {
		fmt.Fprintf(w, "\t  as expected: %s\n", reporters.Visible(r.Excepted))
	}
	for _, by := range r.By {
		fmt.Fprintf(w, "\t  %s\n", reporters.Visible(by))
	}
}

// countCells returns the numbers as table cells. Zero is printed as a dot, so that other numbers
// are easy to see.
func countCells(numbers ...int) string {
	text := ""
	for i, n := range numbers {
		if i > 0 {
			text += "\t"
		}
		if n == 0 {
			text += "·"
		} else {
			text += fmt.Sprint(n)
		}
	}
	return text
}

// selftestTimes are the durations of a self-test, in seconds.
type selftestTimes struct {
	Wall float64 `json:"wallSeconds"`
	CPU  float64 `json:"cpuSeconds,omitempty"` // of this process and its children; 0 if unknown
}

func (t *selftestTimes) String() string {
	text := fmt.Sprintf("%.1f s", t.Wall)
	if t.CPU > 0 {
		text += fmt.Sprintf(" (%.1f s of CPU)", t.CPU)
	}
	return text
}

// writeMatrix writes the matrix as JSON. Only the block of times differs
// between two successful runs.
func writeMatrix(w io.Writer, m *selftest.Matrix, took *selftestTimes) error {
	areas, all := m.Sums()
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		*selftest.Matrix
		Areas []selftest.Sum `json:"areas"`
		All   selftest.Sum   `json:"all"`
		Times *selftestTimes `json:"times"`
	}{m, areas, all, took})
}
