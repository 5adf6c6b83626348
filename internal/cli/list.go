package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites"
)

func (a *app) listCommand() *cobra.Command {
	var area, revision string
	var coverage, markdown, profiles bool
	c := &cobra.Command{
		Use:   "list [requirements|cases|rules|faults] [TEXT]",
		Short: "List requirements, cases, rules or faults",
		Long: `List requirements, cases, rules or faults; TEXT limits them to
those whose id or title contains it.

On a terminal, lines are cut to its width. In a pipe or file they are complete:
id, level, revisions or related ids, and title, separated by tabs; missing columns
are empty.`,
		ValidArgs: []string{"requirements", "cases", "rules", "faults"},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 2 {
				return usagef("put it into quotes where it has spaces", "list takes one TEXT")
			}
			if profiles {
				if len(args) > 0 || area != "" || revision != "" || coverage || markdown {
					return usagef("mcp-conform list --profiles", "--profiles lists all profiles, and can't be combined with anything")
				}
				printRows(a.Out, a.Columns, profileRows())
				return nil
			}
			args = append(args, "", "")
			kind := args[0]
			if coverage {
				kind = cmp.Or(kind, "requirements")
			}
			if revision != "" {
				if _, err := spec.ParseRevision(revision); err != nil {
					return usagef("", "--revision: %v", err)
				}
			}
			l := &listing{text: args[1], area: area, revision: spec.Revision(revision)}
			switch {
			case coverage && kind != "requirements":
				return usagef("mcp-conform list --coverage", "--coverage lists requirements, not %s", kind)
			case markdown && !(coverage && args[1] == "" && area == "" && revision == ""):
				return usagef("mcp-conform list --coverage --markdown", "--markdown needs --coverage, and no filter")
			case markdown:
				return newCoverage().writePage(a.Out)
			case coverage:
				l.addCoverage()
			case kind == "" || kind == "requirements":
				l.addRequirements()
			case kind == "cases":
				l.addCases()
			case kind == "rules":
				l.addRules()
			case kind == "faults":
				l.addFaults()
			default:
				return usagef("to search for a text: mcp-conform list requirements "+kind, "requirements, cases, rules or faults can be listed, not %q", kind)
			}
			if len(l.rows) == 0 {
				return l.emptyError(kind)
			}
			printRows(a.Out, a.Columns, l.rows)
			if l.sum != "" { // stdout has only the rows, because programs read it
				fmt.Fprintln(a.Err, l.sum)
			}
			return nil
		},
	}
	c.Flags().StringVar(&area, "area", "", "only this area, such as lifecycle")
	c.Flags().StringVar(&revision, "revision", "", "only this revision")
	c.Flags().BoolVar(&coverage, "coverage", false, "show which checks judge each requirement, and which faults show that they work")
	c.Flags().BoolVar(&markdown, "markdown", false, "with --coverage: as a page of the documentation, with totals for each revision")
	c.Flags().BoolVar(&profiles, "profiles", false, "list the profiles for run --profile, with their requirements, revisions and what each covers")
	return c
}

// listing collects the rows that pass its filters.
type listing struct {
	text     string
	area     string
	revision spec.Revision
	rows     []row
	sum      string   // summary of the rows, for people
	areas    []string // areas of all rows, including those that the filters text and area leave out
}

func (l *listing) add(area string, r row) {
	if !slices.Contains(l.areas, area) {
		l.areas = append(l.areas, area)
	}
	wanted := l.area == "" || area == l.area || strings.HasPrefix(r.id, l.area+".")
	if wanted && strings.Contains(r.id+" "+r.title, l.text) {
		l.rows = append(l.rows, r)
	}
}

// emptyError returns an error that says why the list is empty.
func (l *listing) emptyError(kind string) error {
	what := "nothing matches"
	if l.text != "" {
		what += " the text " + strconv.Quote(l.text)
	}
	advice := "leave the filters out: mcp-conform list" + strings.TrimRight(" "+kind, " ")
	if l.area != "" {
		what += " in the area " + strconv.Quote(l.area)
		slices.Sort(l.areas)
		advice = "the areas are " + strings.Join(l.areas, ", ")
	}
	return usagef(advice, "%s", what)
}

// listedRequirements returns the requirements of the listing's revision, or all requirements if the
// listing is not limited to a revision.
func (l *listing) listedRequirements() []*spec.Requirement {
	var out []*spec.Requirement
	for _, q := range spec.Requirements().All() {
		if l.revision == "" || slices.Contains(q.Revisions, string(l.revision)) {
			out = append(out, q)
		}
	}
	return out
}

func (l *listing) addRequirements() {
	for _, q := range l.listedRequirements() {
		l.add(q.Area, row{id: q.ID, short: string(q.Level), long: strings.Join(spec.NewestFirst(q.Revisions), " "), title: q.Statement})
	}
}

func (l *listing) addCases() {
	for _, c := range suites.Cases() {
		if l.revision == "" || slices.ContainsFunc(spec.Transports(), func(t spec.Transport) bool { return c.AppliesTo(l.revision, t) }) {
			l.add(c.Area(), row{id: c.ID, long: strings.Join(c.Requirements, " "), title: c.Title})
		}
	}
}

func (l *listing) addRules() {
	for _, r := range ruleset.All() {
		l.add("rules", row{id: r.ID, long: strings.Join(r.Requirements, " "), title: r.Title})
	}
}

func (l *listing) addFaults() {
	for _, f := range faults.All() {
		area, kind := spec.AreaOf(f.ID), "breaks "+f.Requirement
		if f.Legal {
			area, kind = "legal", "legal variation"
		}
		l.add(area, row{id: f.ID, long: kind, title: f.Title})
	}
}

// addCoverage adds each requirement with the checks that judge it, or the reason why no check does,
// and with the faults and legal variations. It sets the sum.
func (l *listing) addCoverage() {
	c := newCoverage()
	states, stateless := map[state]int{}, 0
	for _, q := range l.listedRequirements() {
		s, before := c.lookup(q), len(l.rows)
		l.add(q.Area, row{id: q.ID, short: string(q.Level), title: s.text()})
		if s.state == notYet && !q.InEra(spec.Handshake) {
			stateless += len(l.rows) - before
			continue
		}
		states[s.state] += len(l.rows) - before
	}
	l.sum = fmt.Sprintf("%d requirements: %d judged, %d that only permit something, %d that no check covers yet, %d of 2026-07-28 alone that no check covers yet, %d that cannot be observed from outside",
		len(l.rows), states[judged], states[open], states[notYet], stateless, states[outside])
}

// judgesByRequirement returns the ids of the cases and rules that judge each requirement.
func judgesByRequirement() map[string][]string { return engine.Judges(suites.Cases(), ruleset.All()) }
