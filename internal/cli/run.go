package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/sdk"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
	"github.com/mcp-conform/mcp-conform/suites"
)

// runFlags are the flags of mcp-conform run.
type runFlags struct {
	serverFlags
	revisions      []string
	labels         string
	focus          []string
	profiles       []string
	quick          bool
	jobs           int
	jobsGiven      bool // --jobs, its environment variable or its key in the file was given
	max            time.Duration
	seed           uint64
	failOn         string
	reports        []string
	out            string
	transcript     string
	fuzz           string
	laws           []string // the laws that --fuzz checks; if empty, those that the specification states
	replayFiles    bool
	watch          watchFlags
	through        throughFlags
	known          knownFlags
	verbose, quiet bool
}

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run [flags] COMMAND | run [flags] -- COMMAND ARGUMENT...",
		Short: "Judge a server",
		Long: `Judge a server: start it, probe which revisions it speaks, check each of them,
retry each finding, and report.

` + examples + `
Exit codes: 0 no requirement broken, 1 broken, 2 usage, 3 the server could not
be started or reached, 4 nothing could be judged, the run is incomplete, or a
finding could not be retried.`,
		RunE: func(c *cobra.Command, args []string) error {
			f.takeTarget(c, args)
			f.through.allowCalls(c.Flags(), &f.serverFlags)
			err := a.configure(c.Flags(), &f.serverFlags)
			f.jobsGiven = c.Flags().Changed("jobs")
			if err == nil {
				err = checkLaws(c.Flags(), f.laws)
			}
			if err != nil {
				if files, wrong := a.parseReports(f.reports, f.reportNames(), f.out); wrong == nil {
					return a.writeUnjudged(files, f.about(), err)
				}
				return err
			}
			return a.run(f)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.BoolVar(&f.reference, "reference", false, "judge the bundled reference server")
	f.registerTarget(fs)
	f.remote.registerOtherTokens(fs)
	f.registerConfig(fs)
	fs.StringSliceVar(&f.revisions, "revision", nil, "judge only these revisions, such as 2025-06-18 (default: all that the server speaks)")
	fs.BoolVar(&f.quick, "quick", false, "judge only the newest revision, by the cases that share a conversation; the last line says what this leaves out")
	fs.StringVar(&f.labels, "label-filter", "", "judge only what these labels select: area, requirement, level, revision, transport, such as 'lifecycle && MUST'")
	fs.StringSliceVar(&f.profiles, "profile", nil, "judge only the requirements of a profile, such as core@1, and state whether it is passed (repeatable; mcp-conform list --profiles)")
	fs.StringArrayVar(&f.focus, "focus", nil, "judge only this requirement, case or rule: an id or a regular expression (repeatable)")
	fs.IntVar(&f.jobs, "jobs", 0, "servers that work concurrently (default: the number of cores)")
	fs.DurationVar(&f.timeout, "timeout", client.DefaultTimeout, "longest wait for the response to a request")
	fs.DurationVar(&f.start, "start-timeout", client.DefaultStartTimeout, startUsage)
	fs.DurationVar(&f.max, "max-time", 10*time.Minute, "end the run after this time")
	fs.Uint64Var(&f.seed, "seed", defaultSeed, "seed of random choices")
	fs.StringVar(&f.callTools, "call-tools", "safe", "tools that may be called: safe (readOnlyHint is true), all, none")
	fs.StringVar(&f.fuzz, "fuzz", "off", "also search for bugs: off, quick (some seconds), thorough (a minute)")
	fs.StringSliceVar(&f.laws, "law", nil, "with --fuzz: "+lawUsage())
	fs.StringVar(&f.failOn, "fail-on", "must", "what makes the exit code 1: must (broken), should (warnings too)")
	fs.StringArrayVar(&f.reports, "report", nil, reportUsage(reportNames()))
	fs.StringVar(&f.out, "out", defaultOut, "folder for reports without a file: "+reportFiles(reportNames()))
	fs.BoolVar(&f.replayFiles, "replay-files", false, "write a replay file into --out for each finding that can be reproduced alone")
	fs.StringVar(&f.transcript, "transcript", "", "folder for transcripts, one file for each conversation; mcp-conform judge reads them")
	f.known.register(fs)
	f.watch.register(fs)
	f.through.register(fs)
	c.SetUsageFunc(groupedUsage(a, runGroups))
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show notes, areas without findings, longer excerpts, and how to observe more")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show only verdicts: a line for each finding, and the last line")
	return c
}

// defaultOut is the folder for reports without a file.
const defaultOut = ".mcp-conform"

// defaultSeed is the seed of a run or a search without --seed.
const defaultSeed = 1

// firstStart is the default limit for the first start of a command that may
// have to download the server.
const firstStart = 2 * time.Minute

// startUsage is the help of --start-timeout.
const startUsage = "longest wait for a fresh server's first response, its start included"

const examples = `  mcp-conform run ./my-server
  mcp-conform run -- npx -y some-server --flag
  mcp-conform run http://localhost:3000/mcp
  mcp-conform run --start 'npm start' http://localhost:3000/mcp
  mcp-conform run --config .mcp.json --server NAME
  mcp-conform run --reference
`

// widest limits the width to which output is wrapped, in columns, because longer lines are hard to
// read.
const widest = 120

// run judges a server and writes the reports.
func (a *app) run(f *runFlags) error {
	files, err := a.parseReports(f.reports, f.reportNames(), f.out)
	if err != nil {
		return err
	}
	if err := errors.Join(f.known.read(), f.checkFuzz(), f.checkWatch(), f.checkThrough()); err != nil {
		return a.writeUnjudged(files, f.about(), errorsOf(err)[0])
	}
	defer a.handleSignals(interruptMessage)() // a server may run from here on
	if f.watch.on {
		return a.runWatched(f, files)
	}
	_, err = a.judgeOnce(f, files, reporters.NewConsole(a.Out, f.consoleOptions(a)), f.about())
	return err
}

// about returns a report without verdicts, with the values that the flags give. The server is not
// known yet.
func (f *runFlags) about() verdict.Report {
	p := verdict.NewReport(version())
	p.Seed, p.FailOn, p.Implementation = f.seed, f.failOn, f.implementation()
	p.Stats.Started = time.Now()
	return p
}

// implementation returns what the configuration file says about the server, unless the file
// names another server than the command line.
func (f *runFlags) implementation() verdict.Implementation {
	k := &f.configured
	if k.file == nil || k.file.NamesServer() && !k.server {
		return verdict.Implementation{}
	}
	return k.file.Implementation
}

// consoleOptions returns the options of the console reporter.
func (f *runFlags) consoleOptions(a *app) reporters.ConsoleOptions {
	return reporters.ConsoleOptions{Color: a.Color, Live: a.Live, Width: min(a.Columns, widest), Quiet: f.quiet, Terse: f.quiet, Verbose: f.verbose}
}

// screen shows a run while it is in progress, and its result.
type screen interface {
	engine.Progress
	ShowActivity(what string)
	End(r *verdict.Report)
}

// redactingScreen removes secrets from all strings before it passes them to its screen.
type redactingScreen struct {
	screen
	a *app
}

// Begin implements engine.Progress.
func (d redactingScreen) Begin(target string, t spec.Transport, revisions []spec.Revision, cases int) {
	d.screen.Begin(d.a.redact(target), t, revisions, cases)
}

// Notice implements engine.Progress.
func (d redactingScreen) Notice(text string) { d.screen.Notice(d.a.redact(text)) }

// Waiting implements engine.Progress.
func (d redactingScreen) Waiting(text string) { d.screen.Waiting(d.a.redact(text)) }

// Remaining implements engine.Progress.
func (d redactingScreen) Remaining(left time.Duration, why, faster string) {
	d.screen.Remaining(left, d.a.redact(why), d.a.redact(faster))
}

// ShowActivity implements screen.
func (d redactingScreen) ShowActivity(what string) { d.screen.ShowActivity(d.a.redact(what)) }

// judgeOnce judges a server once and writes the reports. If nothing could be judged, it returns an
// error and no report; the files then get the report in unjudged, with the reason added (see
// writeUnjudged).
func (a *app) judgeOnce(f *runFlags, files []reportFile, console screen, unjudged verdict.Report) (*verdict.Report, error) {
	report, err := a.judgeServer(f, files, console, &unjudged)
	if report == nil && err != nil && (!f.watch.on || a.ctx.Err() == nil) { // an interrupted --watch keeps the reports of the last round
		err = a.writeUnjudged(files, unjudged, err)
	}
	return report, err
}

// judgeServer judges the server that the flags name, shows the result on the console, and writes
// the reports. As soon as the server and the transport are known, it stores them in *about.
func (a *app) judgeServer(f *runFlags, files []reportFile, console screen, about *verdict.Report) (*verdict.Report, error) {
	_, isRepeated := console.(changes)
	console = redactingScreen{console, a}
	defer f.through.end()
	if err := a.startGatewayUpstream(&f.through, &f.serverFlags); err != nil {
		return nil, err
	}
	s, err := a.openRun(f, console.Waiting)
	defer s.close()
	if s.name != "" {
		about.Target, about.Transport = s.name, s.over
	}
	if err != nil {
		return nil, f.through.explain(err)
	}
	o := s.options
	for _, n := range s.notices {
		console.Notice(n)
	}
	ctx, cancel := context.WithTimeoutCause(a.ctx, f.max, fmt.Errorf("the run took longer than --max-time %v", f.max))
	defer cancel()
	o.Progress, o.Discounts = console, discount.NewRun() // the search of --fuzz uses the same discounts
	if !f.watch.on {                                     // Ginkgo can run only one suite per process
		o.Tree = func(p *engine.Plan) { report := engine.RunGinkgo(ctx, p); a.specs = &report }
	}
	replays, err := a.newReplayFiles(f, &o)
	if err != nil {
		return nil, err
	}
	report, err := engine.Run(ctx, o)
	if err != nil {
		return nil, f.through.explain(err)
	}
	failed := a.addGatewayComparison(ctx, f, o, report, console.ShowActivity)
	report.Notices = slices.Concat(s.notices, report.Notices, stdio.TakeLeftovers(a.redact))
	failed = errors.Join(failed, replays.write(ctx, report, console.ShowActivity), a.addFuzzFindings(ctx, f, &o, report, console.ShowActivity))
	f.completeReport(report, &o, s.sdk())
	report.Redact(a.redact)
	console.End(report)
	next := a.addNextSteps(f, s, files, report)
	a.code = exitCode(report)
	unwritten := a.writeReports(files, report)
	if unwritten == nil && !f.quiet && !isRepeated {
		a.printReportPaths(files)
	}
	for _, line := range next {
		fmt.Fprintln(a.Out, reporters.Visible(line)) // not wrapped, so that its command can be copied
	}
	return report, errors.Join(failed, unwritten, s.recorder.err())
}

// judgesAll reports whether no flag limits what a run judges.
func (f *runFlags) judgesAll() bool {
	return !f.quick && len(f.revisions) == 0 && len(f.focus) == 0 && f.labels == "" && len(f.profiles) == 0 && f.known.rerun == ""
}

// completeReport adds to a report what the flags determine: which verdicts fail the run, the known
// findings, the profiles, the command, and which flags had no effect.
func (f *runFlags) completeReport(report *verdict.Report, o *engine.Options, used *sdk.Used) {
	report.FailOn, report.Implementation, report.Command = f.failOn, f.implementation(), f.commandLine(o, true)
	unmet, incomplete := unmetPurposes(f.purposes(), report)
	report.Notices, report.Incomplete = append(report.Notices, unmet...), cmp.Or(report.Incomplete, incomplete)
	f.known.apply(report, used, f.judgesAll())
	for _, x := range o.Selection.Profiles {
		report.Profiles = append(report.Profiles, report.ProfileOf(x))
	}
}

// addNextSteps adds to the report which command removes stale entries of the baseline, which one
// judges what --quick has left out, and how to give a token to a server that requires one. It
// returns the lines to print.
func (a *app) addNextSteps(f *runFlags, s *openedRun, files []reportFile, report *verdict.Report) []string {
	var next []string
	for _, line := range []string{f.renewalLine(report, files), f.leftOutLine(report, &s.options)} {
		if line != "" {
			next = append(next, a.redact(line))
		}
	}
	report.Notices = append(report.Notices, next...)
	if report.NeedsToken {
		line := a.redact("next: " + a.missingTokenAdvice(&f.serverFlags, &s.remoteServer))
		report.Notices = append(report.Notices, line)
		if !f.quiet {
			next = append(next, line)
		}
	}
	return next
}

// exitCode returns the exit code for a report.
func exitCode(p *verdict.Report) int {
	worst, judged := p.Worst()
	warned := p.Gateway.Warns() || slices.ContainsFunc(p.Verdicts, func(v verdict.Verdict) bool { return v.Outcome == verdict.Warning && v.Known == "" })
	broken := slices.ContainsFunc(p.Verdicts, func(v verdict.Verdict) bool { return v.Outcome == verdict.Broken && v.Known == "" })
	unconfirmed := slices.ContainsFunc(p.Verdicts, func(v verdict.Verdict) bool { return v.Outcome == verdict.Unconfirmed && v.Known == "" })
	switch {
	case broken, len(p.Stale) > 0, warned && p.FailOn == reporters.FailOnShould:
		return ExitBroken
	case !judged, worst == verdict.HarnessError, unconfirmed, p.Incomplete != "":
		return ExitNotJudged
	default:
		return ExitKept
	}
}

// An openedRun is a server that is ready to be judged.
type openedRun struct {
	*openedServer
	recorder *recorder // nil without --transcript
}

// openRun opens the server that the flags name, as the method open does, and converts the flags to
// the engine's options.
func (a *app) openRun(f *runFlags, waiting func(string)) (*openedRun, error) {
	s := &openedRun{openedServer: &openedServer{}}
	if f.quiet && f.verbose {
		return s, usagef("give one of them", "--quiet and --verbose contradict each other")
	}
	if f.failOn != "must" && f.failOn != "should" {
		return s, usagef("give must or should", "--fail-on is %q", f.failOn)
	}
	if err := requirePositive(map[string]time.Duration{"timeout": f.timeout, "start-timeout": f.start, "max-time": f.max}); err != nil {
		return s, err
	}
	if err := checkJobs(f.jobs, f.jobsGiven); err != nil {
		return s, err
	}
	revisions, err := parseRevisions(f.revisions)
	if err != nil {
		return s, err
	}
	focus, known, err := f.known.narrow(f.out)
	if err != nil {
		return s, err
	}
	if len(revisions) == 0 {
		revisions = known
	}
	if err := checkFocus(f.focus); err != nil {
		return s, err
	}
	profiles, err := parseProfiles(f.profiles)
	if err != nil {
		return s, err
	}
	if s.openedServer, err = a.open(&f.serverFlags, waiting); err != nil {
		return s, err
	}
	o := &s.options
	o.RunArgs, o.ServerArgs = slices.Concat(f.seedArgs(), f.remote.runArgs(), f.through.runArgs()), f.through.replayArgs(o.ServerArgs)
	o.Target = f.through.withPlaceholders(o.Target)
	o.Cases, o.Rules, o.Revisions = suites.Cases(), ruleset.All(), revisions
	o.Quick, o.Jobs, o.Seed = f.quick, f.jobs, f.seed
	o.Selection = engine.Selection{Labels: f.labels, Focus: slices.Concat(f.focus, focus), Profiles: profiles}
	if f.transcript != "" {
		if s.recorder, err = a.newRecorder(f.transcript, o.Redactor, string(o.Dialer.Transport())); err != nil {
			return s, err
		}
		o.Record = s.recorder.record
		s.notices = append(s.notices, s.recorder.staleNotices()...)
	}
	return s, nil
}

// seedArgs returns --seed, unless it has its default.
func (f *runFlags) seedArgs() []string {
	if f.seed == defaultSeed {
		return nil
	}
	return []string{"--seed", strconv.FormatUint(f.seed, 10)}
}

// parseRevisions parses the values of --revision.
func parseRevisions(texts []string) ([]spec.Revision, error) {
	var out []spec.Revision
	for _, text := range texts {
		rev, err := spec.ParseRevision(text)
		if err != nil {
			return nil, usagef("", "--revision: %v", err)
		}
		out = append(out, rev)
	}
	return out, nil
}

// checkFocus returns a usage error for a focus that is not a regular expression, or that matches no
// requirement, case or rule.
func checkFocus(focus []string) error {
	all := knownIDs()
	for _, text := range focus {
		re, err := regexp.Compile(text)
		if err != nil {
			return usagef("give an id, or a regular expression", "invalid --focus %q: %v", text, err)
		}
		if !slices.ContainsFunc(all, re.MatchString) {
			return usagef(nearestAdvice(text), "--focus %q matches no requirement, case or rule", text)
		}
	}
	return nil
}

// checkJobs returns a usage error for an explicit --jobs below one.
func checkJobs(jobs int, given bool) error {
	if jobs < 0 || jobs == 0 && given {
		return usagef("give a positive value", "--jobs is %d", jobs)
	}
	return nil
}

// requirePositive returns a usage error for a flag whose value is not positive. The
// keys are flag names.
func requirePositive(values map[string]time.Duration) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] <= 0 {
			return usagef("give a positive value", "--%s is %v", name, values[name])
		}
	}
	return nil
}

func usagef(advice, format string, args ...any) error {
	return &target.UsageError{What: fmt.Sprintf(format, args...), Advice: advice}
}
