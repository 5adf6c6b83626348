package cli

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/spelling"
	"github.com/mcp-conform/mcp-conform/internal/sweep"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// sweepFlags are the flags of mcp-conform sweep.
type sweepFlags struct {
	out, shard, weights, optOut, retry, failOn, callTools string
	env, profiles, revisions, reports                     []string
	quick                                                 bool
	jobs, processes                                       int
	timeout, maxTime                                      time.Duration
	memory, disk                                          string
}

// sweepGroups are the flags of sweep, in the order in which its help lists them.
var sweepGroups = []flagGroup{
	{"What is judged", []string{"profile", "quick", "revision", "call-tools", "opt-out", "retry"}},
	{"Each server", []string{"env", "max-time", "timeout", "memory", "disk", "processes"}},
	{"Many machines", []string{"shard", "weights"}},
	{"Work and output", []string{"jobs", "out", "report", "fail-on", "help"}},
}

func (a *app) sweepCommand() *cobra.Command {
	f := &sweepFlags{}
	c := &cobra.Command{
		Use:   "sweep [flags] LIST...",
		Short: "Judge many servers",
		Long: `Judge every server of a list, each in a process of its own with an empty folder,
an empty home, a cleared environment and limits. No tool is called. To
continue a sweep that was killed, repeat the command.

  mcp-conform sweep servers.yaml
  mcp-conform sweep .mcp.json
  mcp-conform sweep --profile core@1 --jobs 8 --out results registry.json
  mcp-conform sweep --shard 3/8 --out results servers.yaml
  mcp-conform sweep merge --out all results

LIST is YAML or JSON of servers, a client's configuration file, or the MCP
registry's server.json or pages of servers; docs/sweep.md has the format.

Exit codes: 0 every server has a result, 1 with --fail-on broken: a server is
broken, 2 usage, 4 the sweep is incomplete.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("as in mcp-conform sweep servers.yaml", "sweep takes a list of servers")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.sweep(c, f, args) },
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringSliceVar(&f.profiles, "profile", nil, "judge only the requirements of a profile, such as core@1 (repeatable)")
	fs.BoolVar(&f.quick, "quick", false, "judge only the newest revision, by the cases that share a conversation")
	fs.StringSliceVar(&f.revisions, "revision", nil, "judge only these revisions, such as 2025-06-18")
	fs.StringVar(&f.callTools, "call-tools", "none", "tools that may be called: none, safe (readOnlyHint is true)")
	fs.StringVar(&f.optOut, "opt-out", "", "file of servers that are not judged, one a line: a name, a host, *.HOST or the beginning of a URL")
	fs.StringVar(&f.retry, "retry", "", "failed: judge again the servers without a verdict")
	fs.StringArrayVar(&f.env, "env", nil, "environment variable of every server: K=V, or K to inherit it (repeatable)")
	fs.DurationVar(&f.maxTime, "max-time", 10*time.Minute, "end the run of a server after this time")
	fs.DurationVar(&f.timeout, "timeout", 10*time.Second, "longest wait for the response to a request")
	fs.StringVar(&f.memory, "memory", "2GiB", "stop a server whose processes use more memory, 0 for no limit (Linux)")
	fs.StringVar(&f.disk, "disk", "2GiB", "stop a server that writes more into its folder and home, 0 for no limit")
	fs.IntVar(&f.processes, "processes", 500, "stop a server that has more processes, 0 for no limit (Linux)")
	fs.StringVar(&f.shard, "shard", "", "judge only a part of the list, such as 3/8 (default: what Slurm, GitLab, Buildkite, CircleCI or a Kubernetes Job sets)")
	fs.StringVar(&f.weights, "weights", "", "balance shards by the times in the sweep.json of an earlier sweep")
	fs.IntVar(&f.jobs, "jobs", max(1, runtime.NumCPU()/2), "servers that are judged at once; those of one host are judged one after another")
	fs.StringVar(&f.out, "out", ".mcp-conform/sweep", "folder for the results; with a shard, a folder in it")
	fs.StringSliceVar(&f.reports, "report", []string{"html", "json", "conformance"}, "reports to keep for each server: "+strings.Join(sweep.Formats(), ", ")+", or none")
	fs.StringVar(&f.failOn, "fail-on", "none", "what makes the exit code 1: none, broken")
	c.SetUsageFunc(groupedUsage(a, sweepGroups))
	c.AddCommand(a.sweepMergeCommand())
	return c
}

func (a *app) sweepMergeCommand() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "merge --out DIR DIR...",
		Short: "Merge the shards of a sweep",
		Long: `Merge all shards of a sweep into one result, equal to that of a sweep on one machine.
Each DIR is the folder of a shard, or a folder that contains several.

  mcp-conform sweep merge --out all results
  mcp-conform sweep merge --out all machine-1/shard-1-of-2 machine-2/shard-2-of-2

Exit codes: 0 merged, 2 usage, or a shard is missing, overlaps or is not finished.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("as in mcp-conform sweep merge --out all results", "merge takes the folders of shards")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usagef("as in mcp-conform sweep merge --out all results", "--out names no folder")
			}
			w, err := sweep.Merge(out, args)
			if err != nil {
				return sweepError(err)
			}
			a.printMerged(w, out)
			a.printSweep(w, out)
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "folder for the result; it is created if missing")
	return c
}

// printMerged prints which shards were merged into the folder out.
func (a *app) printMerged(w *sweep.Sweep, out string) {
	what := "copied a sweep of the whole list"
	if w.Merged > 0 {
		what = fmt.Sprintf("merged %d shards", w.Merged)
	}
	a.println(fmt.Sprintf("%s, %s, into %s", what, countWithNoun(len(w.Servers), "server", "servers"), a.redactAndEscape(out)))
}

// sweepOptions converts the flags to options. Errors are usage errors.
func (a *app) sweepOptions(f *sweepFlags) (o sweep.Options, err error) {
	o = sweep.Options{Version: version(), Environ: a.Environ, Env: f.env, Jobs: f.jobs, RetryFailed: f.retry == "failed"}
	o.Limits = sweep.Limits{Time: f.maxTime, Grace: time.Minute, Processes: f.processes}
	switch {
	case f.retry != "" && f.retry != "failed":
		return o, usagef("give --retry failed, or delete the folders of the servers to judge again", "--retry is %q", f.retry)
	case f.failOn != "none" && f.failOn != "broken":
		return o, usagef("give none or broken", "--fail-on is %q", f.failOn)
	case f.callTools != "none" && f.callTools != "safe":
		return o, usagef("give none or safe; mcp-conform run --call-tools=all judges one server", "--call-tools is %q", f.callTools)
	case f.jobs < 1:
		return o, usagef("give 1 or more", "--jobs is %d", f.jobs)
	case f.maxTime <= 0 || f.timeout <= 0:
		return o, usagef("as in --max-time 10m --timeout 10s", "--max-time and --timeout must be positive")
	}
	if o.Limits.Memory, err = parseSize("--memory", f.memory); err != nil {
		return o, err
	}
	if o.Limits.Disk, err = parseSize("--disk", f.disk); err != nil {
		return o, err
	}
	o.Flags = []string{"--call-tools", f.callTools, "--timeout", f.timeout.String(), "--jobs", "2"}
	if f.quick {
		o.Flags = append(o.Flags, "--quick")
	}
	if _, err := parseProfiles(f.profiles); err != nil {
		return o, err
	}
	for _, name := range f.profiles {
		o.Flags = append(o.Flags, "--profile", name)
	}
	for _, name := range f.revisions {
		if _, err := spec.ParseRevision(name); err != nil {
			return o, usagef("", "--revision: %v", err)
		}
		o.Flags = append(o.Flags, "--revision", name)
	}
	if !slices.Equal(f.reports, []string{"none"}) {
		o.Files = f.reports
	}
	for _, name := range o.Files {
		if known := sweep.Formats(); !slices.Contains(known, name) {
			advice := "known: " + strings.Join(known, ", ") + ", none"
			if near := spelling.Nearest(name, known); near != "" {
				advice = "did you mean " + near + "? " + advice
			}
			return o, usagef(advice, "--report %q is not a report of a sweep", name)
		}
	}
	if f.optOut != "" {
		if o.OptOut, err = sweep.ReadOptOut(f.optOut); err != nil {
			return o, err
		}
	}
	if f.weights != "" {
		earlier, err := sweep.Read(f.weights)
		if err != nil {
			return o, err
		}
		o.Weights = earlier.Weights()
	}
	return o, nil
}

// parseSize parses a size, such as 512MiB, and returns it in bytes.
func parseSize(flag, text string) (int64, error) {
	number, unit := strings.TrimSpace(text), int64(1)
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, usagef("as in "+flag+" 512MiB, or 0 for no limit", "%s %q is not a size", flag, text)
	}
	return n * unit, nil
}

// checkVariables returns an error for an environment variable that is to be inherited but is not
// set. It also adds the values of all variables of the servers to the secrets.
func (a *app) checkVariables(entries []sweep.Entry, common []string) error {
	check := func(whose string, variables []string) error {
		for _, variable := range variables {
			name, value, given := strings.Cut(variable, "=")
			if !given {
				set := slices.ContainsFunc(a.Environ, func(one string) bool { return strings.HasPrefix(one, name+"=") })
				if !set {
					return usagef("set it, or give its value as "+name+"=VALUE", "%s names the variable %s, which is not set", whose, name)
				}
				value = a.environmentVariable(name)
			}
			target.AddVariable(a.secrets, name, value)
		}
		return nil
	}
	if err := check("--env", common); err != nil {
		return err
	}
	for i := range entries {
		if err := check("server "+strconv.Quote(entries[i].Name), entries[i].Env); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) sweep(c *cobra.Command, f *sweepFlags, lists []string) error {
	o, err := a.sweepOptions(f)
	if err != nil {
		return err
	}
	if o.Whole, err = sweep.ReadLists(lists...); err != nil {
		return err
	}
	if err := a.checkVariables(o.Whole, f.env); err != nil {
		return err
	}
	variable := ""
	if f.shard != "" {
		o.Shard, err = sweep.ParseShard(f.shard)
	} else {
		o.Shard, variable, err = sweep.ShardFromEnvironment(a.environmentVariable)
	}
	if err != nil {
		return err
	}
	o.Out = f.out
	if o.Shard.Count > 1 {
		o.Out = filepath.Join(f.out, o.Shard.Folder())
	}
	if err := checkFolder(o.Out); err != nil {
		return usagef("name a folder that can be written", "--out %q: %v", o.Out, err)
	}
	if o.Program, err = a.Executable(); err != nil {
		return harnessError{fmt.Errorf("finding this program to start it again: %w", err)}
	}
	a.printSweepStart(&o, variable)
	o.Done = a.sweepLinePrinter()
	o.Paused = func(host string, wait time.Duration) {
		a.println(fmt.Sprintf("%s limits requests: its next server waits %v", a.redactAndEscape(host), wait.Round(time.Second)))
	}
	o.Waiting = func(running []sweep.Running) { a.println("judging " + a.runningText(running)) }
	defer a.handleSignals("\nmcp-conform: interrupted: ending the servers; repeat the command to continue")()
	w, err := sweep.Run(c.Context(), o)
	if err != nil {
		return sweepError(err)
	}
	a.printSweep(w, o.Out)
	if len(w.Interrupted) > 0 {
		a.println("interrupted while judging " + a.runningText(w.Interrupted))
	}
	switch {
	case w.Unfinished > 0:
		a.code = ExitNotJudged
	case f.failOn == "broken" && w.Counts[sweep.Broken] > 0:
		a.code = ExitBroken
	}
	return nil
}

// sweepError returns err if it is a usage error, and a harnessError otherwise.
func sweepError(err error) error {
	if errors.As(err, new(*target.UsageError)) {
		return err
	}
	return harnessError{err}
}

// printSweepStart prints what the sweep judges. variable is the environment variable that names the
// shard, or "".
func (a *app) printSweepStart(o *sweep.Options, variable string) {
	mine := len(o.Shard.Select(o.Whole, o.Weights))
	text := "judging " + countWithNoun(mine, "server", "servers")
	if o.Shard.Count > 1 {
		text += fmt.Sprintf(" of %d: shard %v", len(o.Whole), o.Shard)
		if variable != "" {
			text += ", as " + variable + " says"
		}
	}
	a.println(text + fmt.Sprintf(" · %d at once · into %s", o.Jobs, a.redactAndEscape(o.Out)))
	switch {
	case mine > 0:
	case len(o.Whole) < o.Shard.Count:
		a.println("this shard is empty: the list has fewer servers than shards")
	case len(o.Weights) == 0:
		a.println("this shard is empty; --weights FILE, the sweep.json of an earlier sweep, balances the shards")
	default:
		a.println("this shard is empty")
	}
}

// sweepLinePrinter returns a function that prints a line for each server that is judged. For all
// servers that have a result already or need no run, it prints one line together.
func (a *app) sweepLinePrinter() func(*sweep.Result, sweep.Progress) {
	earlier := 0
	return func(r *sweep.Result, p sweep.Progress) {
		if p.Earlier {
			if earlier++; earlier == p.Done {
				a.println(countWithNoun(p.Done, "server has a result already, or needs no run", "servers have a result already, or need no run"))
			}
			return
		}
		width := len(strconv.Itoa(p.All))
		line := fmt.Sprintf("[%*d/%d] %-11s  %s", width, p.Done, p.All, r.Outcome, a.redactAndEscape(r.Name))
		if text := a.resultText(r); text != "" {
			line += "  " + text
		}
		line += fmt.Sprintf(" · %.1f s", r.Seconds)
		if p.Left > 0 {
			line += " · " + p.Left.Round(time.Second).String() + " left"
		}
		a.println(line)
	}
}

// resultText returns the numbers of a server's broken requirements and warnings and, for a server
// without a verdict, the reason.
func (a *app) resultText(r *sweep.Result) string {
	var parts []string
	if r.Counts.Broken > 0 {
		parts = append(parts, fmt.Sprintf("%d broken", r.Counts.Broken))
	}
	if r.Counts.Warnings > 0 {
		parts = append(parts, countWithNoun(r.Counts.Warnings, "warning", "warnings"))
	}
	if r.Problem != "" {
		parts = append(parts, a.redactAndEscape(r.Problem))
	}
	return strings.Join(parts, ", ")
}

// runningText lists servers that are being judged, each with how long that has taken so far.
func (a *app) runningText(running []sweep.Running) string {
	var out []string
	for _, one := range running[:min(len(running), maxRunning)] {
		out = append(out, fmt.Sprintf("%s (%.0f s)", a.redactAndEscape(one.Name), one.For.Seconds()))
	}
	text := strings.Join(out, ", ")
	if more := len(running) - maxRunning; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// maxRunning limits the servers that runningText lists.
const maxRunning = 10

// Limits of the tables of a sweep.
const (
	maxServers = 40 // servers that have findings or no verdict
	maxShared  = 15 // requirements with findings
)

// printSweep prints the servers that have findings or no verdict, the broken ones first, then the
// findings by requirement, and the totals. Pending servers are only in the totals. folder contains
// the results.
func (a *app) printSweep(w *sweep.Sweep, folder string) {
	var rows []row
	for _, r := range w.BySeverity() {
		if r.Outcome == sweep.Kept && r.Counts.Warnings == 0 || r.Outcome == sweep.Pending {
			continue // the totals count pending servers
		}
		rows = append(rows, row{id: a.redactAndEscape(r.Name), short: string(r.Outcome), title: a.resultText(r)})
	}
	more := len(rows) - maxServers
	if len(rows) > 0 {
		a.printSweepTable("servers with findings or without a verdict:", rows[:min(len(rows), maxServers)])
	}
	if more > 0 {
		a.println(fmt.Sprintf("and %s, in %s", countWithNoun(more, "more server", "more servers"), filepath.Join(folder, "index.html")))
	}
	rows = nil
	for i := range w.Shared[:min(len(w.Shared), maxShared)] {
		one := &w.Shared[i]
		title := fmt.Sprintf("%s: %s", one.Outcome, a.redactAndEscape(one.Description()))
		if one.OfSDK > 0 {
			title += fmt.Sprintf(" Known of the SDK of %s.", countWithNoun(one.OfSDK, "server", "servers"))
		}
		rows = append(rows, row{id: reporters.Visible(one.Requirement), short: countWithNoun(one.Servers, "server", "servers"), title: title})
	}
	if len(rows) > 0 {
		a.printSweepTable("findings, the most severe first:", rows)
	}
	if more := len(w.Shared) - maxShared; more > 0 {
		a.println(fmt.Sprintf("and findings for %s, in sweep.json", countWithNoun(more, "more requirement", "more requirements")))
	}
	a.println("")
	if len(w.Servers) == 0 {
		a.println("no server of the list is in this shard")
	} else {
		a.println(fmt.Sprintf("%s: %s", countWithNoun(len(w.Servers), "server", "servers"), strings.Join(w.Outcomes(), " · ")))
	}
	a.println("results: " + a.redactAndEscape(filepath.Join(folder, "index.html")) + " and sweep.json next to it")
}

// printSweepTable prints a heading and aligned rows. It wraps long rows instead of cutting them,
// because a row may end with advice.
func (a *app) printSweepTable(heading string, rows []row) {
	a.println("")
	a.println(heading)
	var table strings.Builder
	printAligned(&table, 0, rows)
	for line := range strings.Lines(table.String()) {
		a.println(strings.TrimSuffix(line, "\n"))
	}
}
