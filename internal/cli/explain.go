package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID",
		Short: "Explain a requirement, a case or a rule",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("as in mcp-conform explain base.response-id-echo", "explain takes one id")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, q := range spec.Requirements().All() {
				ids = append(ids, q.ID)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.explain(args[0]) },
	}
}

func (a *app) explain(id string) error {
	if q := spec.Requirements().Lookup(id); q != nil {
		a.explainRequirement(q)
		return nil
	}
	for _, c := range suites.Cases() {
		if c.ID == id {
			fmt.Fprintf(a.Out, "%s: a case\n  %s\n", c.ID, c.Title)
			a.explainAll(c.Requirements)
			return nil
		}
	}
	for _, r := range rules.All() {
		if r.ID == id {
			fmt.Fprintf(a.Out, "%s: a rule\n  %s\n", r.ID, r.Title)
			a.explainAll(r.Requirements)
			return nil
		}
	}
	return usagef(nearest(id), "there is no requirement, case or rule %q", id)
}

func (a *app) explainAll(ids []string) {
	for _, id := range ids {
		fmt.Fprintln(a.Out)
		a.explainRequirement(spec.Requirements().Lookup(id))
	}
}

func (a *app) explainRequirement(q *spec.Requirement) {
	fmt.Fprintf(a.Out, "%s\n", q.ID)
	for _, line := range wrap(q.Statement, 76) {
		fmt.Fprintf(a.Out, "  %s\n", line)
	}
	field := func(name, text string) {
		for i, line := range wrap(text, 62) {
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(a.Out, "  %-12s %s\n", name, line)
		}
	}
	field("level", string(q.Level))
	for _, r := range q.Revisions {
		rev := spec.Revision(r)
		field("in "+r, fmt.Sprintf("%s, so a deviation is at most: %s", q.Basis(rev), q.Grade(rev)))
	}
	transports := "any"
	if len(q.Transports) > 0 {
		transports = fmt.Sprint(q.Transports)
	}
	field("transports", transports)
	if len(q.Needs) > 0 {
		field("needs", strings.Join(q.Needs, ", "))
	}
	field("page", q.Page(spec.Revision(q.Revisions[len(q.Revisions)-1])))
	field("observed", q.Observe)
	field("judged by", standing(q, judgesByRequirement()[q.ID]))
	for _, f := range faults.All() {
		if f.Requirement == q.ID {
			field("fault", f.ID+": "+f.Title)
		}
	}
}

// nearest suggests ids that share the most words with id.
func nearest(id string) string {
	words := strings.FieldsFunc(id, func(r rune) bool { return r == '.' || r == '-' })
	best, most := "", 0
	for _, q := range spec.Requirements().All() {
		n := 0
		for _, w := range words {
			if strings.Contains(q.ID, w) {
				n += len(w)
			}
		}
		if n > most {
			best, most = q.ID, n
		}
	}
	if best == "" {
		return "mcp-conform list shows all"
	}
	return "did you mean " + best + "? mcp-conform list shows all"
}

// wrap breaks text into lines of at most width characters, at spaces.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
