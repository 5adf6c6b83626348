package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/baseline"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

func (a *app) diffCommand() *cobra.Command {
	failOn := ""
	c := &cobra.Command{
		Use:   "diff [flags] OLD NEW",
		Short: "Show the differences between two JSON reports",
		Long: `Show which findings are new, fixed, unchanged, or no longer judged between two
JSON reports on the same server, as mcp-conform run --report json=FILE writes
them. Requirements that were kept and are no longer observed are listed
separately, and do not change the exit code.

Exit codes: 0 nothing new, 1 something new is broken (with --fail-on should: or
warned about), 2 usage, or a file that can't be read.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("as in mcp-conform diff old.json new.json", "diff takes two reports")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if failOn != "must" && failOn != reporters.FailOnShould {
				return usagef("give must or should", "--fail-on is %q", failOn)
			}
			return a.diff(args[0], args[1], failOn == reporters.FailOnShould)
		},
	}
	c.Flags().StringVar(&failOn, "fail-on", "must", "what makes the exit code 1: must (newly broken), should (new warnings too)")
	return c
}

func (a *app) diff(older, newer string, strict bool) error {
	before, err := readReport(older, "")
	if err != nil {
		return err
	}
	after, err := readReport(newer, "")
	if err != nil {
		return err
	}
	if before.Transport != after.Transport {
		return usagef("compare reports over one transport", "%s is over %s, %s over %s", older, before.Transport, newer, after.Transport)
	}
	if before.Server.Name != after.Server.Name {
		fmt.Fprintf(a.Err, "note: the reports are about different servers: %s and %s\n", reporters.Visible(before.Server.Name), reporters.Visible(after.Server.Name))
	}
	all := mergeDifferences(baseline.Diff(before, after))
	for _, g := range all {
		if g.Kind == baseline.New && (g.New == verdict.Broken || strict && g.New == verdict.Warning) {
			a.code = ExitBroken
		}
	}
	for _, line := range changeLines(all, false) {
		a.println(line)
	}
	return nil
}

// println prints a line, wrapped at the width of the terminal. The line must be safe for a
// terminal.
func (a *app) println(line string) {
	for _, part := range reporters.WrapLine(line, min(a.Columns, widest), 4) {
		fmt.Fprintln(a.Out, part)
	}
}

// differenceLines returns one line for each difference, and a heading before the requirements that
// were kept and are no longer observed (baseline.Unseen). In the slice, the differences of this
// kind must follow one another.
func differenceLines(all []difference) []string {
	var out []string
	for i, g := range all {
		if g.Kind == baseline.Unseen && (i == 0 || all[i-1].Kind != baseline.Unseen) {
			out = append(out, "no longer observed, kept before:")
		}
		out = append(out, g.line())
	}
	return out
}

// changeLines returns one line for each difference, and then a line with the number of each kind.
// If changedOnly is true, it omits the lines of unchanged findings, but still counts them.
func changeLines(all []difference, changedOnly bool) []string {
	counts := map[baseline.Kind]int{}
	unobserved := 0 // of those that are lost
	for _, g := range all {
		counts[g.Kind]++
		if g.isUnobserved() {
			unobserved++
		}
	}
	listed := slices.Clone(all)
	if changedOnly {
		listed = slices.DeleteFunc(listed, func(g difference) bool { return g.Kind == baseline.Unchanged })
	}
	out := differenceLines(listed)
	sum := fmt.Sprintf("%d new, %d fixed, %d unchanged", counts[baseline.New], counts[baseline.Fixed], counts[baseline.Unchanged])
	if n := counts[baseline.Lost] - unobserved; n > 0 {
		sum += fmt.Sprintf(", %d lost (no longer judged)", n)
	}
	if n := counts[baseline.Unseen] + unobserved; n > 0 {
		sum += fmt.Sprintf(", %d no longer observed", n)
	}
	return append(out, sum)
}

// difference is a difference between two reports, with the revisions in which it occurs.
type difference struct {
	baseline.Difference
	revisions []string
}

// mergeDifferences merges differences that differ only in the revision.
func mergeDifferences(all []baseline.Difference) []difference {
	var out []difference
	for _, d := range all {
		bare := d
		bare.Revision = ""
		at := slices.IndexFunc(out, func(g difference) bool { return g.Difference == bare })
		if at < 0 {
			at = len(out)
			out = append(out, difference{Difference: bare})
		}
		out[at].revisions = append(out[at].revisions, string(d.Revision))
	}
	for i := range out {
		out[i].revisions = spec.NewestFirst(out[i].revisions)
	}
	return out
}

// isUnobserved reports whether the requirement deviated before, and was not observed now.
func (d difference) isUnobserved() bool {
	return d.Kind == baseline.Lost && d.New == verdict.NotObserved
}

func (d difference) line() string {
	change := fmt.Sprintf("%s, was %s", d.New, d.Old)
	switch {
	case d.Kind == baseline.Unseen:
		return fmt.Sprintf("  %s  %s: %s", d.Requirement, strings.Join(d.revisions, ", "), reporters.Visible(d.Summary))
	case d.Kind == baseline.Unchanged && d.New == d.Old:
		change = d.New.String()
	case d.isUnobserved():
		change = "no longer observed, was " + d.Old.String()
	case d.Kind == baseline.Lost:
		change = "was " + d.Old.String()
	}
	return fmt.Sprintf("%-9s  %s  %s · %s: %s", strings.ToUpper(string(d.Kind)), d.Requirement, change, strings.Join(d.revisions, ", "), reporters.Visible(d.Summary))
}
