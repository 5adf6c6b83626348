package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/conformance"
	"github.com/mcp-conform/mcp-conform/internal/spelling"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

func (a *app) reportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "report check|table|badge FILE...",
		Short: "Check, compare and show conformance reports",
		Long: `Check, compare and show conformance reports, as mcp-conform run
--report conformance=FILE writes them.

  mcp-conform report check conformance.yaml                      what is wrong, or missing
  mcp-conform report table a.yaml b.yaml > table.md              many implementations
  mcp-conform report badge conformance.yaml --profile core@1     one profile, as an image`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			advice := "check, table and badge are known"
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				advice = "did you mean mcp-conform report " + near[0] + "?"
			}
			return usagef(advice, "there is no command report %q", args[0])
		},
		RunE:                       func(c *cobra.Command, _ []string) error { return c.Help() },
		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(a.reportCheckCommand(), a.reportTableCommand(), a.reportBadgeCommand())
	return c
}

// requireFiles returns a usage error if a command gets no file.
func requireFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("as in "+c.CommandPath()+" conformance.yaml", "%s takes conformance reports", c.CommandPath())
	}
	return nil
}

func (a *app) reportCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Say what is wrong or missing in conformance reports",
		Long: `Validate conformance reports against the JSON Schema of the format, recompute the
results from the counts, and say what is missing: who made the server, an
incomplete run, findings that were not confirmed.

Exit codes: 0 nothing is missing, 1 something is missing or contradictory, 2 a file
can't be read or is not a valid conformance report.`,
		Args: requireFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			var unreadable []error
			for _, path := range args {
				unreadable = append(unreadable, a.checkReport(path))
			}
			return errors.Join(unreadable...)
		},
	}
}

// checkReport prints what is wrong or missing in a report, or that it is complete. It returns an
// error if the file can't be read or is not a valid report.
func (a *app) checkReport(path string) error {
	r, err := readConformance(path)
	if err != nil {
		return err
	}
	wrong, missing := r.Contradictions(), r.Gaps()
	for _, text := range wrong {
		a.println(reporters.Visible(fmt.Sprintf("%s: wrong: %s", path, text)))
	}
	for _, text := range missing {
		a.println(reporters.Visible(fmt.Sprintf("%s: missing: %s", path, text)))
	}
	if len(wrong)+len(missing) > 0 {
		a.code = ExitBroken
		return nil
	}
	a.println(reporters.Visible(fmt.Sprintf("%s: complete: %s %s, %s", path, r.Title(), r.Implementation.Version, profileSummary(r))))
	return nil
}

// profileSummary returns a phrase with the number of a report's profiles, in all and by result.
func profileSummary(r *conformance.Report) string {
	parts := []string{countWithNoun(len(r.Profiles), "profile", "profiles")}
	for _, result := range verdict.ProfileResults() {
		n := 0
		for i := range r.Profiles {
			if r.Profiles[i].Result == result {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, result))
		}
	}
	return strings.Join(parts, ", ")
}

// readConformance reads a conformance report. Its errors are usage errors.
func readConformance(path string) (*conformance.Report, error) {
	r, err := conformance.Read(path)
	var bad *conformance.FileError
	if !errors.As(err, &bad) {
		return r, err
	}
	advice := bad.Problems[1:]
	if bad.Advice != "" {
		advice = append(advice, bad.Advice)
	}
	return nil, usagef(strings.Join(advice, "\n"), "%s: %s", path, bad.Problems[0])
}

// readConsistent is like readConformance, but refuses a report that contradicts itself.
func readConsistent(path string) (*conformance.Report, error) {
	r, err := readConformance(path)
	if err != nil {
		return nil, err
	}
	if wrong := r.Contradictions(); len(wrong) > 0 {
		return nil, usagef("mcp-conform report check "+path+" lists all", "%s: %s", path, wrong[0])
	}
	return r, nil
}

func (a *app) reportTableCommand() *cobra.Command {
	asHTML := false
	c := &cobra.Command{
		Use:   "table FILE...",
		Short: "Print a table of conformance reports",
		Long: `Print a table of conformance reports: a row for each implementation, a column for
each profile.`,
		Args: requireFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			var reports []*conformance.Report
			for _, path := range args {
				r, err := readConsistent(path)
				if err != nil {
					return err
				}
				reports = append(reports, r)
			}
			if asHTML {
				return reporters.MatrixHTML(a.Out, reports)
			}
			return reporters.MatrixMarkdown(a.Out, reports)
		},
	}
	c.Flags().BoolVar(&asHTML, "html", false, "as an HTML page [default: Markdown]")
	return c
}

func (a *app) reportBadgeCommand() *cobra.Command {
	profile, asJSON := "", false
	c := &cobra.Command{
		Use:   "badge FILE",
		Short: "Print the badge of a profile",
		Long:  `Print the badge of a profile of a conformance report, as an SVG image.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("as in mcp-conform report badge conformance.yaml --profile core@1", "badge takes one conformance report")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := readConsistent(args[0])
			if err != nil {
				return err
			}
			p, err := profileNamed(r, args[0], profile)
			if err != nil {
				return err
			}
			return reporters.ProfileBadge(a.Out, p, asJSON)
		},
	}
	c.Flags().StringVar(&profile, "profile", "", "the profile, such as core@1 [default: the only one in the report]")
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON for the endpoint badge of shields.io")
	return c
}

// profileNamed returns the result of the profile. name may be "" if the report has only one
// profile.
func profileNamed(r *conformance.Report, path, name string) (*verdict.ProfileResult, error) {
	var names []string
	for i := range r.Profiles {
		names = append(names, r.Profiles[i].Name)
		if p := r.Profiles[i].ProfileResult(); p.Name == name || name == "" && len(r.Profiles) == 1 {
			return &p, nil
		}
	}
	advice := "it has " + strings.Join(names, ", ")
	if name == "" {
		return nil, usagef(advice, "%s has %s; name one with --profile", path, countWithNoun(len(names), "profile", "profiles"))
	}
	if near := spelling.Nearest(name, names); near != "" {
		advice = "did you mean " + near + "? " + advice
	}
	return nil, usagef(advice, "%s has no profile %q", path, name)
}
