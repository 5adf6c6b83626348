package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-conform/mcp-conform/internal/baseline"
	"github.com/mcp-conform/mcp-conform/internal/sdk"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// baselineFile is the path that mcp-conform baseline write writes to if no argument is given.
const baselineFile = "mcp-conform-baseline.yaml"

// defaultReport is the path of the report that mcp-conform baseline write reads without --from.
var defaultReport = filepath.Join(defaultOut, fileName("json"))

// knownFlags are the flags that compare a run with findings that are already known: those of a
// baseline, of the server's SDK, or of an earlier report.
type knownFlags struct {
	path  string             // the file of --baseline; "" without the flag
	rerun string             // path of a JSON report; lastReport for --rerun-failed without a value
	sdk   bool               // accept known SDK findings
	known *baseline.Baseline // nil without --baseline
}

// lastReport is the value of --rerun-failed that selects the report in the folder --out.
const lastReport = "-"

func (f *knownFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.path, "baseline", "", "file of known findings, which do not fail the run; stale entries do")
	fs.BoolVar(&f.sdk, "accept-sdk-findings", false, "known findings of the server's SDK do not fail the run; the last line counts them")
	fs.StringVar(&f.rerun, "rerun-failed", "", "judge only what a JSON report found: --rerun-failed=FILE, or the one in the folder --out")
	fs.Lookup("rerun-failed").NoOptDefVal = lastReport
}

// read reads the file of --baseline, if the flag is given, so that an error in the file is reported
// before a server is started.
func (f *knownFlags) read() error {
	if f.path == "" {
		return nil
	}
	var err error
	f.known, err = baseline.Read(f.path)
	return fileError(err)
}

// fileError turns a baseline.FileError into a usage error, and returns any other error unchanged.
func fileError(err error) error {
	var bad *baseline.FileError
	if errors.As(err, &bad) {
		return usagef(bad.Advice, "%s", bad.Error())
	}
	return err
}

// apply marks the findings in the report that are in the baseline, and those that are findings of
// the server's SDK. used is nil if the SDK was not recognised. whole reports whether the run judged
// everything, because no flag limited it. Only such a run can show that a baseline entry whose
// requirement was not judged is stale.
func (f *knownFlags) apply(r *verdict.Report, used *sdk.Used, whole bool) {
	used.MarkReport(r)
	if f.known != nil {
		f.known.Apply(r, time.Now(), whole)
	}
	if f.sdk {
		sdk.Accept(r)
	}
}

// renewalLine returns a line with the command that removes the stale entries from the baseline, or
// "" if it would remove none. files are the reports that the run writes.
func (f *runFlags) renewalLine(r *verdict.Report, files []reportFile) string {
	if len(r.Stale) == 0 || f.known.known == nil || !f.known.known.HasGone(r, time.Now()) {
		return ""
	}
	again, write := "", []string{"mcp-conform", "baseline", "write"}
	if at := slices.IndexFunc(files, func(one reportFile) bool { return one.name == "json" }); at < 0 {
		again = reporters.ShellQuote(slices.Insert(slices.Clone(r.Command), 2, "--report", "json")) + "; "
	} else if files[at].path != defaultReport {
		write = append(write, "--from", files[at].path)
	}
	if f.known.path != baselineFile {
		write = append(write, f.known.path)
	}
	return "next: " + again + reporters.ShellQuote(write)
}

// narrow returns what --rerun-failed selects: a focus on the requirements that the earlier report
// lists as warnings or worse (harness errors do not count), and the revisions in which it lists
// them. Both are nil without the flag. The argument out is the folder of --out. An earlier report
// that lists no such requirement is a usage error.
func (f *knownFlags) narrow(out string) (focus []string, revisions []spec.Revision, err error) {
	if f.rerun == "" {
		return nil, nil, nil
	}
	path, advice := f.rerun, ""
	if path == lastReport {
		path, advice = filepath.Join(out, fileName("json")), "mcp-conform run --report json writes one there; --rerun-failed=FILE names another"
	}
	r, err := readReport(path, advice)
	if err != nil {
		return nil, nil, err
	}
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Outcome < verdict.Warning || v.Outcome == verdict.HarnessError {
			continue
		}
		if id := "^" + regexp.QuoteMeta(v.Requirement) + "$"; !slices.Contains(focus, id) {
			focus = append(focus, id)
		}
		if !slices.Contains(revisions, v.Revision) {
			revisions = append(revisions, v.Revision)
		}
	}
	if focus == nil {
		return nil, nil, usagef("there is nothing to judge again", "%s has no finding above a note", path)
	}
	return focus, revisions, nil
}

// maxReport is the maximum size of a report that readReport reads, in bytes.
const maxReport = 256 << 20

// readReport reads a report that the json reporter wrote. All errors are usage errors. advice is
// the advice of the error if the file can't be opened.
func readReport(path, advice string) (*verdict.Report, error) {
	f, err := os.Open(path)
	if err != nil {
		var bare *os.PathError
		if errors.As(err, &bare) {
			err = bare.Err
		}
		return nil, usagef(advice, "the report %s can't be read: %v", path, err)
	}
	defer func() { _ = f.Close() }()
	var r verdict.Report
	const made = "mcp-conform run --report json=FILE writes reports"
	if err := json.NewDecoder(io.LimitReader(f, maxReport)).Decode(&r); err != nil {
		return nil, usagef(made, "%s is not a JSON report: %v", path, err)
	}
	switch {
	case r.Tool != "mcp-conform" || r.Format == 0:
		return nil, usagef(made, "%s is not a JSON report of mcp-conform", path)
	case r.Format > reporters.JSONFormat:
		return nil, usagef("it was written by a newer version of mcp-conform", "%s has format %d; known is %d", path, r.Format, reporters.JSONFormat)
	}
	return &r, nil
}

func (a *app) baselineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "baseline",
		Short: "Keep a list of known findings",
		Long: `A baseline lists known findings, each with the reason why it is accepted. With
run --baseline FILE they are judged and reported, but do not fail the run. A
stale entry fails it: its finding is gone, or the entry has expired.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.baselineWriteCommand())
	return c
}

func (a *app) baselineWriteCommand() *cobra.Command {
	var from string
	accept := baseline.Accept{}
	c := &cobra.Command{
		Use:   "write [flags] [FILE]",
		Short: "Write the findings of a report as a baseline",
		Long: `Write what a JSON report finds broken into FILE (default: ` + baselineFile + `).
Entries of an existing file keep their reasons and expiry dates; entries that no
longer occur are removed. One reason covers one cause: if the report has several,
name the requirements that the reason covers.

  mcp-conform run --report json ./my-server
  mcp-conform baseline write --requirement base.response-once --reason 'waits for version 3'
  mcp-conform run --baseline ` + baselineFile + ` ./my-server

Exit codes: 0 written, 2 usage, or a file that can't be read or written.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := baselineFile
			if len(args) == 1 {
				path = args[0]
			}
			accept.Reason = strings.TrimSpace(accept.Reason)
			return a.writeBaseline(path, from, accept)
		},
	}
	c.Flags().StringVar(&from, "from", defaultReport, "JSON report to take the findings from")
	c.Flags().StringVar(&accept.Reason, "reason", "", "why the new entries are accepted")
	c.Flags().StringSliceVar(&accept.Requirements, "requirement", nil, "add only the findings of this requirement (repeatable)")
	c.Flags().BoolVar(&accept.Warnings, "warnings", false, "also add warnings and findings that were not reproduced (default if the run had --fail-on should)")
	return c
}

func (a *app) writeBaseline(path, from string, accept baseline.Accept) error {
	for _, id := range accept.Requirements {
		if spec.Requirements().Lookup(id) == nil {
			return usagef(nearestAdvice(id), "there is no requirement %q", id)
		}
	}
	r, err := readReport(from, "mcp-conform run --report json=FILE writes one; --from FILE names it")
	if err != nil {
		return err
	}
	accept.Warnings = accept.Warnings || r.FailOn == reporters.FailOnShould
	old := &baseline.Baseline{Path: path}
	if _, err := os.Stat(path); err == nil {
		if old, err = baseline.Read(path); err != nil {
			return fileError(err)
		}
	}
	b, change := baseline.Update(old, r, accept, time.Now())
	if len(change.Added) > 0 && accept.Reason == "" {
		return usagef("give one with --reason; you can edit it in the file later", "%s new, and no reason is given to accept them", countWithNoun(len(change.Added), "finding is", "findings are"))
	}
	if unrelated := baseline.RequirementPerCause(r, change.Added); len(unrelated) > 1 && len(accept.Requirements) == 0 {
		return usagef("name those that the reason covers: --requirement "+unrelated[0], "the findings have %d causes, and one reason can cover only one: %s", len(unrelated), strings.Join(unrelated, ", "))
	}
	if err := a.writeFile(path, b.Write); err != nil {
		return usagef("", "%v", err)
	}
	fmt.Fprintf(a.Out, "%s: %s (%d new, %d kept, %d removed), from %s\n", path, countWithNoun(len(b.Entries), "known finding", "known findings"), len(change.Added), len(change.Kept), len(change.Dropped), from)
	if len(change.Added) > 0 {
		fmt.Fprintf(a.Out, "  accepted by: mcp-conform run --baseline %s\n", path)
	}
	for _, e := range change.Dropped {
		fmt.Fprintf(a.Out, "  removed: %s (%s)\n", e.Requirement, reporters.Visible(e.Reason))
	}
	return nil
}

// countWithNoun returns n followed by a noun. The arguments one and more are the singular and the
// plural of the noun.
func countWithNoun(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
