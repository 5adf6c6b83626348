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

A check that never fails proves nothing. So the reference server can misbehave in every way that this page
lists. Each of these *faults* breaks one requirement, and the checks must report that requirement.

| a fault is | if |
|---|---|
| **killed** | the checks report the requirement that it breaks |
| **mis-attributed** | the checks report only other requirements |
| **survived** | the checks report nothing |
| **waiting** | no check judges its requirement so far. The reason is next to it; ` + "[coverage.md](coverage.md)" + ` lists all such requirements |

The checks must also accept what is odd but permitted. So the reference server has *legal variations*.

| a variation is | if |
|---|---|
| **silent** | the checks report nothing but notes |
| a **false alarm** | the checks report anything else |

Some faults can't be killed. Then the outcome is *as expected*, and the reason is next to it.

What is tried where:

* Each fault is tried in one revision over one transport. The checks of its requirement run first. If these do
  not kill it, the whole suite runs.
* Each variation is tried with the whole suite: over stdio in every revision of its era (the handshake
  revisions, or 2026-07-28), and over each other transport in one revision.
* ` + "`mcp-conform selftest --full`" + ` tries each fault and each variation in every revision over every transport
  to which it applies.
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
			text += ", as expected: " + r.Excepted
		}
		if where[text] == nil {
			said = append(said, text)
		}
		where[text] = append(where[text], r.Place)
	}
	for _, text := range said {
		p.line("| `%s` | %s | %s | %s |", rows[0].Fault, escape(rows[0].Title), describePlaces(where[text]), escape(text))
	}
}

// describePlaces returns a phrase that lists the transports of the places, each with its revisions.
func describePlaces(all []Place) string {
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
