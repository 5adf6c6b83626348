package selftest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

const pageHead = `# The kill matrix

Written by ` + "`mcp-conform selftest --markdown docs/selftest.md`" + `; do not edit it.

A check that never fails proves nothing. So the reference server can misbehave
in every way that is listed here, and each of these faults has to be caught by a
finding on the very requirement that it breaks: then it is **killed**. A finding
on something else does not count (**mis-attributed**), and none at all is worse
(**survived**). In the same way the checks must not object to what is odd but
permitted: every legal variation has to be **silent**, that is, to give nothing
but notes.

A fault is **waiting** where no check judges its requirement so far; the reason
is next to it, and ` + "[coverage.md](coverage.md)" + ` lists all such requirements.

Each fault is tried in one revision over one transport, with the judges of its
own requirement first and the whole suite where it survives those. Each
variation meets the whole suite, in every revision of its era on stdio and in one
revision over each other transport. ` + "`mcp-conform selftest --full`" + ` tries everything
wherever it applies.
`

// WritePage writes the matrix as a page of the documentation. The page is the
// same after every successful run.
func (m *Matrix) WritePage(w io.Writer) error {
	p := &page{}
	p.line("%s", pageHead)
	areas, all := m.Sums()
	p.writeSums(areas, all)
	for _, s := range areas {
		p.writeArea(s.Area, m.resultsWhere(func(r *Result) bool { return r.Area == s.Area }))
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

type page struct{ b strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

func (p *page) writeSums(areas []Sum, all Sum) {
	p.line("| area | faults | killed | mis-attributed | survived | waiting | variations | silent | false alarms |")
	p.line("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, s := range append(areas, all) {
		area := s.Area
		if s.Area != all.Area {
			area = fmt.Sprintf("[%s](#%s)", s.Area, s.Area)
		}
		p.line("| %s | %d | %d | %d | %d | %d | %d | %d | %d |", area, s.Faults, s.Killed, s.MisAttributed, s.Survived, s.Waiting, s.Variations, s.Silent, s.FalseAlarms)
	}
}

func (p *page) writeArea(name string, rows []Result) {
	p.line("\n## %s\n", name)
	p.line("| fault or variation | what the server does | where | outcome |")
	p.line("|---|---|---|---|")
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Fault == rows[0].Fault {
			n++
		}
		p.writeFault(rows[:n])
		rows = rows[n:]
	}
}

// writeFault writes the rows of one fault on one line, with the places of each
// outcome.
func (p *page) writeFault(rows []Result) {
	var said []string
	where := map[string][]Place{}
	for i := range rows {
		r := &rows[i]
		text := string(r.Outcome)
		switch {
		case r.Outcome == NotYet:
			text = "waiting: " + strings.Join(r.By, "; ")
		case r.Excepted != "":
			text += ", which it may: " + r.Excepted
		}
		if where[text] == nil {
			said = append(said, text)
		}
		where[text] = append(where[text], r.Place)
	}
	for _, text := range said {
		p.line("| `%s` | %s | %s | %s |", rows[0].Fault, escape(rows[0].Title), places(where[text]), escape(text))
	}
}

// places returns a phrase that lists the transports of the places, each with its revisions.
func places(all []Place) string {
	var out []string
	for _, t := range spec.Transports() {
		var revisions []string
		for _, p := range all {
			if p.Transport == t {
				revisions = append(revisions, string(p.Revision))
			}
		}
		slices.Sort(revisions)
		if len(revisions) > 0 {
			out = append(out, string(t)+" "+strings.Join(revisions, " "))
		}
	}
	return strings.Join(out, "; ")
}

// escape escapes text for a cell of a Markdown table.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`, "_", `\_`, "[", `\[`, "\n", " ").Replace(text)
}
