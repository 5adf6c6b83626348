package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites"
)

func (a *app) listCommand() *cobra.Command {
	var area, revision string
	var coverage bool
	c := &cobra.Command{
		Use:       "list [requirements|cases|rules|faults] [TEXT]",
		Short:     "List requirements, cases, rules or faults",
		Long:      "List what there is; TEXT keeps the lines whose id or title contains it.",
		ValidArgs: []string{"requirements", "cases", "rules", "faults"},
		Args:      cobra.MaximumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
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
			l := &listing{w: tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', 0), text: args[1], area: area, revision: spec.Revision(revision)}
			switch {
			case coverage && kind != "requirements":
				return usagef("mcp-conform list --coverage", "--coverage is about requirements, not %s", kind)
			case coverage:
				l.coverage()
			case kind == "" || kind == "requirements":
				l.requirements()
			case kind == "cases":
				l.cases()
			case kind == "rules":
				l.rules()
			case kind == "faults":
				return a.listFaults()
			default:
				return usagef("requirements, cases, rules or faults can be listed", "there is no list of %q", kind)
			}
			if err := l.w.Flush(); err != nil {
				return err
			}
			if l.lines == 0 {
				return usagef("mcp-conform list shows all", "nothing matches")
			}
			return nil
		},
	}
	c.Flags().StringVar(&area, "area", "", "only this area, as lifecycle")
	c.Flags().StringVar(&revision, "revision", "", "only this revision")
	c.Flags().BoolVar(&coverage, "coverage", false, "for each requirement, who judges it and which fault proves that")
	return c
}

// listing prints the lines that pass its filters.
type listing struct {
	w        *tabwriter.Writer
	text     string
	area     string
	revision spec.Revision
	lines    int
}

func (l *listing) line(area, id, title string, columns ...string) {
	if l.area != "" && area != l.area || !strings.Contains(id+" "+title, l.text) {
		return
	}
	l.lines++
	fmt.Fprintln(l.w, strings.Join(append([]string{id}, append(columns, title)...), "\t"))
}

// of returns the requirements of the listing's revision, or all.
func (l *listing) of() []*spec.Requirement {
	var out []*spec.Requirement
	for _, q := range spec.Requirements().All() {
		if l.revision == "" || slices.Contains(q.Revisions, string(l.revision)) {
			out = append(out, q)
		}
	}
	return out
}

func (l *listing) requirements() {
	for _, q := range l.of() {
		l.line(q.Area, q.ID, q.Statement, string(q.Level), strings.Join(q.Revisions, " "))
	}
}

func (l *listing) cases() {
	for _, c := range suites.Cases() {
		if l.revision == "" || slices.ContainsFunc(spec.Transports(), func(t spec.Transport) bool { return c.AppliesTo(l.revision, t) }) {
			l.line(c.Area(), c.ID, c.Title, strings.Join(c.Requirements, " "))
		}
	}
}

func (l *listing) rules() {
	for _, r := range rules.All() {
		l.line("rules", r.ID, r.Title, strings.Join(r.Requirements, " "))
	}
}

// coverage says of each requirement who judges it and which fault proves it,
// or why nobody does.
func (l *listing) coverage() {
	judges, proofs := judgesByRequirement(), map[string][]string{}
	for _, f := range faults.All() {
		if !f.Legal {
			proofs[f.Requirement] = append(proofs[f.Requirement], f.ID)
		}
	}
	for _, q := range l.of() {
		l.line(q.Area, q.ID, "", string(q.Level), standing(q, judges[q.ID]), strings.Join(proofs[q.ID], " "))
	}
}

// standing says who judges the requirement, or why nobody does.
func standing(q *spec.Requirement, judges []string) string {
	switch reason, later := suites.NotYet()[q.ID]; {
	case len(judges) > 0:
		return strings.Join(judges, " ")
	case q.Testable == spec.No:
		return "can't be seen from outside"
	case later:
		return "not yet: " + reason
	default:
		return "not yet"
	}
}

func judgesByRequirement() map[string][]string {
	out := map[string][]string{}
	for _, c := range suites.Cases() {
		for _, id := range c.Requirements {
			out[id] = append(out[id], c.ID)
		}
	}
	for _, r := range rules.All() {
		for _, id := range r.Requirements {
			out[id] = append(out[id], r.ID)
		}
	}
	return out
}
