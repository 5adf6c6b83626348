package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/judges"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
	"github.com/mcp-conform/mcp-conform/suites"
)

// runFlags are the flags of mcp-conform run.
type runFlags struct {
	command             string // what hints name instead of run, "" for run
	reference           bool
	target              target.Options
	remote              remoteFlags
	started             string
	ready               time.Duration
	stop                func()         // ends what was started for the run
	waiting             func(string)   // shows what is waited for; nil for a line on stderr
	named               string         // how reports name the server, "" before that is known
	over                spec.Transport // so too
	revisions           []string
	labels              string
	focus               []string
	jobs                int
	timeout, start, max time.Duration
	seed                uint64
	failOn              string
	reports             []string
	out                 string
	transcript          string
	recorder            *recorder // nil without --transcript
	callTools           string
	fuzz                string
	properties          []string // the laws of the search; none for those that the specification states
	replayFiles         bool
	watch               watchFlags
	configured          configured
	startGiven          bool // --start-timeout, or what stands for it elsewhere
	jobsGiven           bool // --jobs, so too
	known               knownFlags
	verbose, quiet      bool
}

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run [flags] COMMAND | run [flags] -- COMMAND ARGUMENT...",
		Short: "Judge a server",
		Long: `Judge a server: start it, probe which revisions it speaks, check every one of
them, try each finding again, and report.

` + examples + `
Exit codes: 0 no requirement broken, 1 broken, 2 usage, 3 the server could not
be started or reached, 4 nothing could be judged, the run is incomplete, or what
was found could not be tried again.`,
		RunE: func(c *cobra.Command, args []string) error {
			f.takeTarget(c, args)
			if err := a.configure(c.Flags(), f); err != nil {
				if files, wrong := a.parseReports(f.reports, f.reportNames(), f.out); wrong == nil {
					return a.unjudged(files, f.about(), err)
				}
				return err
			}
			return a.run(f)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.BoolVar(&f.reference, "reference", false, "judge the reference server that is built into this program")
	f.registerTarget(fs)
	f.registerConfig(fs)
	fs.StringSliceVar(&f.revisions, "revision", nil, "judge only these revisions, as 2025-06-18 (default: all that the server speaks)")
	fs.StringVar(&f.labels, "label-filter", "", "judge what these labels select: area, requirement, level, revision, transport, as 'lifecycle && MUST'")
	fs.StringArrayVar(&f.focus, "focus", nil, "judge this requirement, case or rule: an id or a regular expression (repeatable)")
	fs.IntVar(&f.jobs, "jobs", 0, "servers that work at once (default: the cores)")
	fs.DurationVar(&f.timeout, "timeout", client.DefaultTimeout, "wait for the answer to a request")
	fs.DurationVar(&f.start, "start-timeout", client.DefaultStartTimeout, startUsage)
	fs.DurationVar(&f.max, "max-time", 10*time.Minute, "end the run after this time")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of what is drawn at random")
	fs.StringVar(&f.callTools, "call-tools", "safe", "tools that may be called: safe (readOnlyHint is true), all, none")
	fs.StringVar(&f.fuzz, "fuzz", "off", "search beside the cases, too: off, quick (some seconds), thorough (a minute)")
	fs.StringSliceVar(&f.properties, "property", nil, "with --fuzz: "+propertyUsage())
	fs.StringVar(&f.failOn, "fail-on", "must", "what makes the exit code 1: must (broken), should (warnings too)")
	fs.StringArrayVar(&f.reports, "report", nil, reportUsage(reportNames()))
	fs.StringVar(&f.out, "out", ".mcp-conform", "folder for reports without a file: "+reportFiles())
	fs.BoolVar(&f.replayFiles, "replay-files", false, "write a file that mcp-conform replay reads into the folder --out, for each finding whose conversation shows it again by itself")
	fs.StringVar(&f.transcript, "transcript", "", "folder for the transcripts, a file for each conversation; mcp-conform judge reads them")
	f.known.register(fs)
	f.watch.register(fs)
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show notes, too")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show only findings and the last line")
	return c
}

// firstStart is what the first start of a command gets that may have to download
// the server, where nobody says how long that may take.
const firstStart = 2 * time.Minute

// startUsage is the help of --start-timeout.
const startUsage = "wait for the first response of a fresh server, its start included"

const examples = `  mcp-conform run ./my-server
  mcp-conform run -- npx -y some-server --flag
  mcp-conform run http://localhost:3000/mcp
  mcp-conform run --start 'npm start' http://localhost:3000/mcp
  mcp-conform run --config .mcp.json --server NAME
  mcp-conform run --reference
`

// widest is as wide as text is still easy to read.
const widest = 120

// run judges a server and writes the reports.
func (a *app) run(f *runFlags) error {
	files, err := a.parseReports(f.reports, f.reportNames(), f.out)
	if err != nil {
		return err
	}
	if err := errors.Join(f.known.read(), f.checkFuzz(), f.checkWatch()); err != nil {
		return a.unjudged(files, f.about(), each(err)[0])
	}
	defer a.watch()() // from here on there may be a server to end
	if f.watch.on {
		return a.runWatched(f, files)
	}
	_, err = a.judged(f, files, reporters.NewConsole(a.Out, f.looks(a)))
	return err
}

// about is what a report says of a run of which nothing is known but the flags.
func (f *runFlags) about() verdict.Report {
	return verdict.Report{Target: f.named, Transport: f.over, Seed: f.seed, FailOn: f.failOn, Stats: verdict.Stats{Started: time.Now()}}
}

// looks says how the console looks.
func (f *runFlags) looks(a *app) reporters.ConsoleOptions {
	return reporters.ConsoleOptions{Color: a.Color, Live: a.Live, Width: min(a.Columns, widest), Quiet: f.quiet, Verbose: f.verbose}
}

// screen shows a run while it goes on, and at its end.
type screen interface {
	engine.Progress
	Doing(what string)
	End(r *verdict.Report)
}

// discreet is a screen that shows no secrets.
type discreet struct {
	screen
	a *app
}

// Begin implements engine.Progress.
func (d discreet) Begin(target string, t spec.Transport, revisions []spec.Revision, cases int) {
	d.screen.Begin(d.a.clear(target), t, revisions, cases)
}

// Notice implements engine.Progress.
func (d discreet) Notice(text string) { d.screen.Notice(d.a.clear(text)) }

// Waiting implements engine.Progress.
func (d discreet) Waiting(text string) { d.screen.Waiting(d.a.clear(text)) }

// Doing implements screen.
func (d discreet) Doing(what string) { d.screen.Doing(d.a.clear(what)) }

// judged judges a server once and writes the reports. The report is nil where
// nothing could be judged; the files have the reason then.
func (a *app) judged(f *runFlags, files []reportFile, console screen) (*verdict.Report, error) {
	about := f.about()
	report, err := a.judgeServer(f, files, console)
	if report == nil && err != nil && (!f.watch.on || a.ctx.Err() == nil) { // an interrupt of a watch leaves the last verdict
		about.Target, about.Transport = f.named, f.over
		err = a.unjudged(files, about, err)
	}
	return report, err
}

func (a *app) judgeServer(f *runFlags, files []reportFile, console screen) (*verdict.Report, error) {
	whole := len(f.revisions) == 0 && len(f.focus) == 0 && f.labels == "" && f.known.rerun == ""
	f.stop = nil
	console = discreet{console, a}
	f.waiting = console.Waiting
	o, notices, err := a.options(f)
	if f.stop != nil {
		defer f.stop()
	}
	if err != nil {
		return nil, err
	}
	for _, n := range notices {
		console.Notice(n)
	}
	o.Progress = console
	ctx, cancel := context.WithTimeoutCause(a.ctx, f.max, fmt.Errorf("the run took longer than --max-time %v", f.max))
	defer cancel()
	if !f.watch.on { // Ginkgo runs one suite in the life of a program
		o.Tree = func(p *engine.Plan) { report := engine.Ginkgo(ctx, p); a.specs = &report }
	}
	replays, err := a.keepSightings(f, &o)
	if err != nil {
		return nil, err
	}
	report, err := engine.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	report.Notices = slices.Concat(notices, report.Notices, stdio.LeftBehind(a.clear))
	failed := errors.Join(replays.write(ctx, report, console.Doing), a.fuzzed(ctx, f, &o, report, console.Doing))
	report.FailOn = f.failOn
	f.known.apply(report, whole)
	report.Redact(a.clear)
	console.End(report)
	a.code = exitCode(report)
	return report, errors.Join(failed, a.writeReports(files, report), f.recorder.failed())
}

// exitCode says by the exit code how the run ended.
func exitCode(p *verdict.Report) int {
	worst, judged := p.Worst()
	warned := slices.ContainsFunc(p.Verdicts, func(v verdict.Verdict) bool { return v.Outcome == verdict.Warning && v.Known == "" })
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

// options turns the flags into what the engine takes, and what the user should
// know of how the target was understood.
func (a *app) options(f *runFlags) (o engine.Options, notices []string, err error) {
	if f.waiting == nil {
		f.waiting = a.waiting()
	}
	o = engine.Options{
		Cases: suites.Cases(), Rules: judges.All(),
		Jobs: f.jobs, Timeout: f.timeout, StartTimeout: f.start, Seed: f.seed,
		Selection: engine.Selection{Labels: f.labels, Focus: f.focus},
		Policy:    f.configured.calls, Version: version(),
	}
	notices = f.configured.notices()
	if f.quiet && f.verbose {
		return o, nil, usagef("give one of them", "--quiet and --verbose contradict each other")
	}
	if f.failOn != "must" && f.failOn != "should" {
		return o, nil, usagef("give must or should", "--fail-on is %q", f.failOn)
	}
	if f.jobs < 0 || f.jobs == 0 && f.jobsGiven {
		return o, nil, usagef("give a positive value", "--jobs is %d", f.jobs)
	}
	if err := positive(map[string]time.Duration{"timeout": f.timeout, "start-timeout": f.start, "max-time": f.max}); err != nil {
		return o, nil, err
	}
	for _, text := range f.revisions {
		rev, err := spec.ParseRevision(text)
		if err != nil {
			return o, nil, usagef("", "--revision: %v", err)
		}
		o.Revisions = append(o.Revisions, rev)
	}
	focus, revisions, err := f.known.narrow(f.out)
	if err != nil {
		return o, nil, err
	}
	o.Selection.Focus = append(o.Selection.Focus, focus...)
	if len(o.Revisions) == 0 {
		o.Revisions = revisions
	}
	t, err := a.resolve(f)
	if err != nil {
		return o, nil, err
	}
	if o.FirstStart = f.start; !f.startGiven && t.Fetches() {
		o.FirstStart = firstStart
	}
	o.Target = t.Display()
	if f.reference {
		o.Target = "the reference server"
	}
	f.named, f.over = o.Target, spec.Stdio
	if t.URL != "" {
		f.over = cmp.Or(t.Transport, spec.StreamableHTTP)
	}
	switch {
	case t.Start != nil:
		var why string
		stop := engine.SayWaiting("the server to listen", t.Start.Ready, f.waiting)
		o.Dialer, why, f.stop, err = a.started(t, f.remote, f.start)
		if stop(); err != nil {
			return o, nil, err
		}
		if o.Answered = why != ""; o.Answered {
			notices = append(notices, why)
		}
	case t.URL == "":
		o.Dialer = stdio.NewDialer(stdio.Command{Argv: t.Argv, Dir: t.Dir, Env: t.Env})
	default:
		var why string
		stop := engine.SayWaiting("the server's first response", f.start, f.waiting)
		o.Dialer, why, err = a.remote(t, f.remote, f.start)
		if stop(); err != nil {
			return o, nil, err
		}
		if o.Answered = why != ""; o.Answered {
			notices = append(notices, why)
		}
	}
	f.over = o.Dialer.Transport()
	o.Redactor = transcript.NewRedactor(a.secrets)
	if f.transcript != "" {
		if f.recorder, err = a.newRecorder(f.transcript, o.Redactor, string(o.Dialer.Transport())); err != nil {
			return o, nil, err
		}
		o.Record = f.recorder.record
		notices = append(notices, f.recorder.stale()...)
	}
	words := t.Args()
	if f.reference {
		words = referenceFlags(f.target)
	}
	if f.configured.server && f.configured.plain {
		words = nil // the file names it again
	}
	words = slices.Concat(f.configured.again(), f.again(o.Policy.Policy), f.remote.again(), words)
	o.Replay = func(rev spec.Revision, focus ...string) []string {
		argv := []string{"mcp-conform", "run", "--revision", string(rev)}
		for _, id := range focus {
			argv = append(argv, "--focus", id)
		}
		return append(argv, words...)
	}
	return o, append(notices, t.Notices...), nil
}

// again returns the flags without which a finding may not come again, as far as
// they differ from the defaults.
func (f *runFlags) again(policy inventory.Policy) []string {
	var words []string
	for _, flag := range []struct {
		name            string
		given, standard time.Duration
	}{
		{"--timeout", f.timeout, client.DefaultTimeout},
		{"--start-timeout", f.start, client.DefaultStartTimeout},
	} {
		if flag.given > 0 && flag.given != flag.standard {
			words = append(words, flag.name, short(flag.given))
		}
	}
	if f.configured.forced && policy != inventory.CallSafe {
		words = append(words, "--call-tools", string(policy))
	}
	return words
}

// short writes a duration without what is zero in it: 1m, not 1m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// waiting returns what shows a wait by a line on stderr, once for each wait.
func (a *app) waiting() func(text string) {
	waits := false
	return func(text string) {
		if text != "" && !waits {
			fmt.Fprintln(a.Err, a.visible(text))
		}
		waits = text != ""
	}
}

// resolve returns the server to judge.
func (a *app) resolve(f *runFlags) (target.Target, error) {
	if f.reference {
		if len(f.target.Args) > 0 || f.target.ConfigFile != "" || f.target.ServerName != "" {
			return target.Target{}, usagef("give one of them", "both --reference and a server of your own are named")
		}
		return a.reference(f.target)
	}
	f.target.Environ, f.target.Secrets = a.Environ, a.secrets
	t, err := target.Resolve(f.target)
	if usage := new(target.UsageError); f.command != "" && errors.As(err, &usage) {
		own := *usage
		own.Advice = strings.ReplaceAll(usage.Advice, "mcp-conform run ", "mcp-conform "+f.command+" ")
		return t, &own
	}
	return t, err
}

// positive refuses flags whose values must be above zero, by their names.
func positive(values map[string]time.Duration) error {
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
