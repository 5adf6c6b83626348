package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

const coverageHead = `# Coverage

Written by ` + "`mcp-conform list --coverage --markdown > docs/coverage.md`" + `; do not edit it.

` + "`fixtures/requirements/`" + ` has an entry for each requirement of the specification. This page lists, for each
entry, the checks that judge it, and what proves these checks. If no check judges it, the page gives the reason.

The first tables count the entries of each area in each revision:

| column | which entries it counts |
|---|---|
| entries | all |
| testable | those that a client can see kept or broken |
| judged | those that a case or a rule judges whenever a run observes them |
| permission | each MAY that no check judges, because no server can break it. Legal variations of the reference server make use of it, and no check may report these variations |
| not yet | those that a check could judge, but none does so far |
| not seen | those that no client can see kept or broken |

The last tables list the entries of each area. *Proven by* has the faults of the reference server that break
the entry, and for a permission the legal variations. The id of each fault begins with that of the entry, which
is left out: for ` + "`ping.responds`" + `, the fault ` + "`/unknown`" + ` is ` + "`ping.responds/unknown`" + `. [selftest.md](selftest.md) has the
results of the faults.
`

// writePage writes the coverage as a page of the documentation.
func (c *coverage) writePage(w io.Writer) error {
	p := &coveragePage{c: c}
	for _, q := range spec.Requirements().All() {
		if len(p.areas) == 0 || p.areas[len(p.areas)-1] != q.Area {
			p.areas = append(p.areas, q.Area)
		}
		p.all = append(p.all, c.lookup(q))
	}
	p.line("%s", coverageHead)
	p.writeSums()
	p.writeNotYetJudged()
	p.writeContradictions()
	for _, area := range p.areas {
		p.writeTable(area)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

type coveragePage struct {
	c     *coverage
	b     strings.Builder
	areas []string
	all   []*requirementCoverage
}

func (p *coveragePage) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// tally counts the requirements of an area in a revision, or those of all areas if area is "".
// The result entries is the number of all these requirements, and testable the number of those that
// can be observed from outside the server. The result by has the number in each state, indexed by
// the state.
func (p *coveragePage) tally(area string, r spec.Revision) (entries, testable int, by [4]int) {
	for _, s := range p.all {
		if area != "" && s.q.Area != area || !slices.Contains(s.q.Revisions, string(r)) {
			continue
		}
		entries++
		if s.q.Testable != spec.No {
			testable++
		}
		by[s.stateIn(r)]++
	}
	return entries, testable, by
}

// writeSums writes a table for each revision, newest first, with a row for each area that has
// requirements in the revision, and a row with the totals.
func (p *coveragePage) writeSums() {
	for _, r := range slices.Backward(spec.Revisions()) {
		p.line("## %s\n", r)
		if r.Era() == spec.Stateless {
			p.line("`mcp-conform fuzz` searches a server in this revision only if the server speaks no other, or with `--revision %s`.\n", r)
			p.line("No extension of the protocol is judged, nor is the extension `io.modelcontextprotocol/tasks`, to which this revision moved tasks: mcp-conform declares no extension. It judges only that a server uses none without that declaration.\n")
		}
		p.line("| file | entries | testable | judged | permission | not yet | not seen |")
		p.line("|---|--:|--:|--:|--:|--:|--:|")
		for _, area := range append(slices.Clone(p.areas), "") {
			entries, testable, by := p.tally(area, r)
			if entries == 0 {
				continue
			}
			name := "all"
			if area != "" {
				name = fmt.Sprintf("[%s](#%s)", area, area)
			}
			p.line("| %s | %d | %d | %d | %d | %d | %d |", name, entries, testable, by[judged], by[open], by[notYet], by[outside])
		}
		p.line("")
	}
}

// writeNotYetJudged lists the requirements of the handshake revisions that no check judges yet,
// grouped by reason.
func (p *coveragePage) writeNotYetJudged() {
	var reasons []string
	ids := map[string][]string{}
	for _, s := range p.all {
		if s.state != notYet || !s.q.InEra(spec.Handshake) {
			continue
		}
		if ids[s.reason] == nil {
			reasons = append(reasons, s.reason)
		}
		ids[s.reason] = append(ids[s.reason], "`"+s.q.ID+"`")
	}
	p.line("## Not yet judged\n\nNo check judges these requirements of the handshake revisions:\n")
	p.line("| why | requirements |\n|---|---|")
	for _, reason := range reasons {
		p.line("| %s | %s |", escapeCell(reason), strings.Join(ids[reason], " "))
	}
	p.line("")
}

// writeContradictions lists the places where a handshake revision contradicts itself.
func (p *coveragePage) writeContradictions() {
	p.line("## Contradictions\n\nWhere a handshake revision contradicts itself, a check may report a note, but nothing more severe:\n")
	p.line("| contradiction | variations that no check may object to |\n|---|---|")
	for _, c := range faults.Contradictions() {
		var names []string
		for _, name := range c.Variations {
			names = append(names, "`legal/"+name+"`")
		}
		if c.Why != "" {
			names = append(names, "none: "+escapeCell(c.Why))
		}
		p.line("| %s | %s |", escapeCell(c.What), strings.Join(names, " "))
	}
	p.line("")
}

// writeTable writes a table with a row for each requirement of an area.
func (p *coveragePage) writeTable(area string) {
	p.line("## %s\n", area)
	p.line("| requirement | level | revisions | judged by | proven by |")
	p.line("|---|---|---|---|---|")
	for _, s := range p.all {
		if s.q.Area == area {
			p.line("| `%s` | %s | %s | %s | %s |", s.q.ID, s.q.Level, revisionRange(s.q.Revisions), s.judgedCell(), s.provenCell())
		}
	}
	p.line("")
}

func (s *requirementCoverage) judgedCell() string {
	switch s.state {
	case judged:
		return asCode(s.judges)
	case open:
		return "(permission)"
	case notYet:
		return "not yet"
	default:
		return "not seen"
	}
}

// provenCell returns the faults that prove the checks of the requirement, and then the legal
// variations. It omits the requirement's id, with which each fault's id begins. If there are
// neither faults nor variations, it returns the field reason, or "" if no check judges the
// requirement yet.
func (s *requirementCoverage) provenCell() string {
	var names []string
	for _, id := range s.faults {
		names = append(names, strings.TrimPrefix(id, s.q.ID))
	}
	if text := asCode(append(names, s.variations...)); text != "" || s.state == notYet {
		return text
	}
	return escapeCell(s.reason)
}

func asCode(names []string) string {
	var out []string
	for _, name := range names {
		out = append(out, "`"+name+"`")
	}
	return strings.Join(out, " ")
}

// revisionRange joins revisions, and shortens three or more consecutive ones to a range.
func revisionRange(revisions []string) string {
	var all []string
	for _, r := range spec.Revisions() {
		all = append(all, string(r))
	}
	first := slices.Index(all, revisions[0])
	if n := len(revisions); n > 2 && first >= 0 && first+n <= len(all) && slices.Equal(all[first:first+n], revisions) {
		return revisions[0] + " … " + revisions[n-1]
	}
	return strings.Join(revisions, " ")
}

// escapeCell escapes text for a cell of a Markdown table.
func escapeCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`, "_", `\_`, "[", `\[`, "\n", " ").Replace(text)
}
