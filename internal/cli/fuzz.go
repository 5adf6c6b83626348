package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/sdk"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
	lawbook "github.com/mcp-conform/mcp-conform/suites/fuzz"
)

// fuzzFlags are the flags of mcp-conform fuzz.
type fuzzFlags struct {
	serverFlags
	revisions []string
	laws      []string
	jobs      int
	jobsGiven bool
	seed      uint64
	time      time.Duration
	cases     int
	rate      float64
	shard     string // the part of the search, such as 3/8
	corpus    string
	folder    string
	shrink    time.Duration
}

// lawsByName returns the laws whose ids are in names or, if names is empty, all laws that the
// specification states. An unknown id is a usage error.
func lawsByName(names []string) ([]fuzz.Law, error) {
	all := append([]fuzz.Law{fuzz.RulesLaw(ruleset.All())}, lawbook.Laws()...)
	var out []fuzz.Law
	var known []string
	for _, l := range all {
		known = append(known, l.ID)
		if slices.Contains(names, l.ID) || len(names) == 0 && !l.Unspecified {
			out = append(out, l)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, usagef("known: "+strings.Join(known, ", "), "there is no law %q", name)
		}
	}
	return out, nil
}

func lawUsage() string { return "check only these laws: " + strings.Join(lawNames(), ", ") }

func (a *app) fuzzCommand() *cobra.Command {
	f := &fuzzFlags{}
	c := &cobra.Command{
		Use:   "fuzz [flags] COMMAND | fuzz [flags] -- COMMAND ARGUMENT...",
		Short: "Search for bugs that no check looks for",
		Long: `Search for bugs: send random sequences, judge every response, vary the sequences
that reached something new, and shrink each finding. Each finding is retried on a
fresh server.

  mcp-conform fuzz ./my-server
  mcp-conform fuzz --time 10m --corpus .mcp-corpus http://localhost:3000/mcp
  mcp-conform fuzz --reference

With --out each finding is written to a file that mcp-conform replay reads.

Exit codes: 0 nothing broken was found, 1 something was, 2 usage, 3 the server
could not be started or reached, 4 nothing could be searched or the search is
incomplete.`,
		RunE: func(c *cobra.Command, args []string) error {
			f.command = "fuzz"
			f.takeTarget(c, args)
			if err := a.configure(c.Flags(), &f.serverFlags); err != nil {
				return err
			}
			if err := checkLaws(c.Flags(), f.laws); err != nil {
				return err
			}
			f.jobsGiven = c.Flags().Changed("jobs")
			if c.Flags().Changed("time") && f.time <= 0 { // fuzz.Run treats zero as no limit
				return usagef("give a positive value", "--time is %v", f.time)
			}
			if f.cases > 0 && !c.Flags().Changed("time") {
				f.time = 0
			}
			return a.fuzz(f)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.BoolVar(&f.reference, "reference", false, "search the bundled reference server")
	f.registerTarget(fs)
	f.registerConfig(fs)
	fs.DurationVar(&f.time, "time", time.Minute, "how long to start new sequences; the search prints how much longer shrinking and confirming may take")
	fs.IntVar(&f.cases, "cases", 0, "most sequences to run (default: as many as the time allows)")
	fs.Uint64Var(&f.seed, "seed", defaultSeed, "seed of random choices")
	fs.StringSliceVar(&f.laws, "law", nil, lawUsage())
	fs.StringSliceVar(&f.revisions, "revision", nil, "use only these revisions, such as 2025-06-18 (default: all that the server speaks)")
	fs.IntVar(&f.jobs, "jobs", 0, "sequences to run concurrently (default: four for each core)")
	fs.Float64Var(&f.rate, "rate", 0, "most requests a second (default: no limit)")
	fs.StringVar(&f.shard, "shard", "", "search only a part of the sequences, such as 3/8, while other processes search the others")
	fs.StringVar(&f.corpus, "corpus", "", "folder that keeps interesting sequences between searches; several processes may share it")
	fs.StringVar(&f.folder, "out", "", "folder for replay files, one for each finding")
	fs.StringVar(&f.callTools, "call-tools", "safe", "tools that may be called: safe (readOnlyHint is true), all, none")
	fs.DurationVar(&f.timeout, "timeout", client.DefaultTimeout, "longest wait for the response to a request")
	fs.DurationVar(&f.start, "start-timeout", client.DefaultStartTimeout, startUsage)
	fs.DurationVar(&f.shrink, "shrink-time", 20*time.Second, "most time to shrink one finding")
	c.AddCommand(a.fuzzMergeCommand())
	return c
}

func lawNames() []string {
	names := []string{"rules"}
	for _, l := range lawbook.Laws() {
		names = append(names, l.ID)
	}
	return names
}

// checkLaws returns a usage error for --law with an empty value.
func checkLaws(fs *pflag.FlagSet, names []string) error {
	if fs.Changed("law") && len(names) == 0 {
		return usagef("known: "+strings.Join(lawNames(), ", "), "--law names no law")
	}
	return nil
}

// check returns a usage error if the value of --cases, --rate, --shrink-time, --out or --corpus
// can't be used. It creates the folder of --corpus.
func (f *fuzzFlags) check() error {
	switch {
	case f.cases < 0:
		return usagef("give a positive value", "--cases is %d", f.cases)
	case f.rate < 0:
		return usagef("give a positive value", "--rate is %v", f.rate)
	case f.shrink <= 0:
		return usagef("give a positive value", "--shrink-time is %v", f.shrink)
	}
	if f.folder != "" {
		if err := checkFolder(f.folder); err != nil {
			return usagef("name a folder that can be written", "--out %q: %v", f.folder, err)
		}
	}
	if f.corpus != "" {
		if err := fuzz.CheckCorpus(f.corpus); err != nil {
			return usagef("name a folder that a search has written, or a new one", "--corpus %q: %v", f.corpus, err)
		}
		// The folder is not removed again, because other processes may begin to use it.
		if err := errors.Join(os.MkdirAll(f.corpus, 0o755), checkFolder(f.corpus)); err != nil {
			return usagef("name a folder that can be written", "--corpus %q: %v", f.corpus, err)
		}
	}
	return nil
}

func (a *app) fuzz(f *fuzzFlags) error {
	if err := checkJobs(f.jobs, f.jobsGiven); err != nil {
		return err
	}
	revisions, err := parseRevisions(f.revisions)
	if err != nil {
		return err
	}
	laws, err := lawsByName(f.laws)
	if err != nil {
		return err
	}
	shard, err := f.parseShard()
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	defer a.handleSignals(interruptMessage)()
	s, err := a.open(&f.serverFlags, nil)
	defer s.close()
	if err != nil {
		return err
	}
	o := s.options
	o.Revisions, o.Jobs, o.Seed = revisions, f.jobs, f.seed
	for _, n := range s.notices {
		fmt.Fprintln(a.Out, a.redactAndEscape(n))
	}
	if f.reference && o.Dialer.Transport() == spec.Stdio {
		o.Dialer = inprocess.Dialer(nil)
	}
	if err := checkTransportDefined(&o); err != nil {
		return err
	}
	o.Progress = engine.ShowWaiting(s.waiting)
	err = engine.CheckReachable(a.ctx, o) // otherwise each revision would wait for a server that never responds
	if errors.Is(err, engine.ErrStatelessOnly) && len(revisions) == 0 {
		o.Revisions, err = spec.StatelessRevisions(), nil
	}
	if err != nil {
		return err
	}
	if _, said := os.LookupEnv("GOGC"); !said {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent)) // little memory is retained, and much is allocated
	}
	screen := &fuzzScreen{a: a, redactor: o.Redactor, folder: f.folder, args: o.ServerArgs, sdk: s.sdk()}
	if f.time > 0 {
		screen.printf("searching for %v; shrinking and confirming findings may take up to %v more\n", f.time, fuzz.Overtime(f.time, f.timeout))
	}
	if f.folder == "" {
		screen.printf("findings are only shown here; --out FOLDER also keeps a replay file for each\n")
	} else {
		screen.printf("replay files of findings: %s\n", a.redactAndEscape(f.folder))
	}
	report, err := fuzz.Run(a.ctx, fuzz.Options{
		Dialer: o.Dialer, Laws: laws, Revisions: o.Revisions, Policy: o.Policy, Time: f.time, Cases: f.cases, Seed: f.seed, Jobs: f.jobs,
		Rate: f.rate, Shard: shard, Corpus: f.corpus, Redact: a.secrets.RedactBytes, Timeout: f.timeout, Start: f.start, FirstStart: o.FirstStart, Shrink: fuzz.Budget{Time: f.shrink, Attempts: 400},
		Probed: screen.probed, Found: screen.found, Progress: screen.progress,
	})
	if report == nil {
		return fuzzError(a.ctx, err, o)
	}
	if err != nil {
		screen.err = errors.Join(screen.err, harnessError{err})
	}
	if n := o.RateLimit(); n != "" {
		screen.printf("%s\n", a.redactAndEscape(n))
	}
	screen.end(report)
	a.code = ExitKept
	if report.Incomplete != "" {
		a.code = ExitNotJudged
	}
	for _, found := range report.Findings {
		if found.Outcome == verdict.Broken {
			a.code = ExitBroken
		}
	}
	return screen.err
}

// gcPercent is the GC percentage (GOGC) of a search.
const gcPercent = 400

// checkTransportDefined returns an error if the user has selected revisions and none of them
// defines the transport.
func checkTransportDefined(o *engine.Options) error {
	over := o.Dialer.Transport()
	if len(o.Revisions) == 0 || slices.ContainsFunc(o.Revisions, func(r spec.Revision) bool { return over.IsDefinedIn(r) }) {
		return nil
	}
	return &engine.NothingJudgedError{Reason: fmt.Sprintf("the server is reached over %s, which %s does not define", over, revisionNames(o.Revisions))}
}

func revisionNames(all []spec.Revision) string {
	var names []string
	for _, r := range all {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

// fuzzError converts the error of a search that has no report into one whose type determines the
// exit code: the server speaks none of the revisions, ctx has ended, or the server can't be
// reached.
func fuzzError(ctx context.Context, err error, o engine.Options) error {
	if ctx.Err() == nil && errors.Is(err, fuzz.ErrNotSpoken) {
		if why := engine.WhyUnspoken(ctx, o); why != nil {
			return why
		}
	}
	if ctx.Err() != nil {
		return &engine.NothingJudgedError{Reason: context.Cause(ctx).Error()}
	}
	return &engine.UnreachableError{Reason: err.Error(), Err: err}
}

// fuzzScreen prints the progress and the findings of a search.
type fuzzScreen struct {
	a        *app
	redactor *transcript.Redactor
	folder   string
	args     []string  // the arguments that a replay command needs to reach the server
	sdk      *sdk.Used // nil if it was not recognised
	callable []string  // the tools that may be called in the previous revision
	live     bool      // the last line is a progress line, which the next output overwrites
	last     time.Time // when the last progress line was printed, if lines can't be rewritten
	count    int       // findings so far
	err      error     // errors from writing replay files
}

func (s *fuzzScreen) printf(format string, args ...any) {
	if s.live {
		fmt.Fprint(s.a.Out, "\r\x1b[K")
		s.live = false
	}
	fmt.Fprintf(s.a.Out, format, args...)
}

func (s *fuzzScreen) probed(rev spec.Revision, server *fuzz.ServerInfo) {
	tools := joinShort(server.Callable)
	if len(server.Callable) == 0 && len(server.Forbidden) > 0 {
		tools = "none; --call-tools all calls them"
	}
	if len(s.callable) > 0 && len(exclude(s.callable, server.Callable)) == 0 {
		tools = "the same"
		if more := exclude(server.Callable, s.callable); len(more) > 0 {
			tools += ", and " + joinShort(more)
		}
	}
	s.callable = server.Callable
	s.printf("%s: %s; tools to call: %s\n", rev, server.Summary(), s.a.redactAndEscape(tools))
}

// exclude returns the names that are not in others.
func exclude(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// joinShort joins the first twenty names, and adds the number of the others, if there are more.
func joinShort(names []string) string {
	const most = 20
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > most:
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	default:
		return strings.Join(names, ", ")
	}
}

// quietFor is the interval between progress lines where lines cannot be
// rewritten.
const quietFor = 10 * time.Second

func (s *fuzzScreen) progress(st fuzz.Status) {
	line := fmt.Sprintf("%v: %s, %.1f a second; %s; %s; %s",
		st.Took.Round(time.Second), countSequences(st.Cases), float64(st.Cases)/st.Took.Seconds(), countRequests(st.Requests), countNovel(st.Novel), countFindings(st.Findings))
	if st.Busy != "" {
		line += "; " + st.Busy
	}
	if s.a.Live {
		if s.a.Columns > 0 {
			line = line[:min(len(line), s.a.Columns-1)]
		}
		fmt.Fprint(s.a.Out, "\r\x1b[K"+line)
		s.live = true
		return
	}
	if time.Since(s.last) >= quietFor {
		s.last = time.Now()
		s.printf("%s\n", line)
	}
}

// found prints a finding as the command run does, and writes its replay file if --out names a
// folder.
func (s *fuzzScreen) found(f *fuzz.Finding) {
	s.count++
	again, err := s.writeReplay(f)
	s.err = errors.Join(s.err, err)
	v := fuzzFinding(f, s.redactor, again)
	s.sdk.MarkFinding(&v)
	v.Redact(s.a.redact)
	s.printf("\n%s\n", strings.Join(reporters.Entry(&v, reporters.ConsoleOptions{Color: s.a.Color, Width: min(s.a.Columns, widest)}), "\n"))
}

// writeReplay writes the replay file of a finding and returns the command that replays it, or nil
// if --out names no folder.
func (s *fuzzScreen) writeReplay(f *fuzz.Finding) ([]string, error) {
	if s.folder == "" {
		return nil, nil
	}
	name := filepath.Join(s.folder, fmt.Sprintf("%02d-%s.json", s.count, f.Requirement))
	if err := s.a.saveReplay(name, f); err != nil {
		return nil, err
	}
	return replayFileCommand(name, s.args), nil
}

// retriesText returns a phrase with the result of a finding's retries.
func retriesText(f *fuzz.Finding) string {
	if f.Retries.Attempts == 0 {
		return "not retried: the search ended first"
	}
	return fmt.Sprintf("recurred in %d of %s", f.Retries.Reproduced, countWithNoun(f.Retries.Attempts, "retry", "retries"))
}

func countSequences(n int64) string { return countWithNoun(int(n), "sequence", "sequences") }
func countRequests(n int64) string  { return countWithNoun(int(n), "request", "requests") }
func countNovel(n int64) string {
	return countWithNoun(int(n), "new kind of response", "new kinds of responses")
}
func countFindings(n int) string { return countWithNoun(n, "finding", "findings") }

// cutText returns a phrase that says that there was no time to shrink a finding further. It returns
// "" if the shrinking was finished.
func cutText(f *fuzz.Finding) string {
	if !f.Cut {
		return ""
	}
	return "; there was no time to shrink it further"
}

// replayFileCommand returns the command that replays a file. args are the arguments with which that
// command reaches the server.
func replayFileCommand(name string, args []string) []string {
	return slices.Concat([]string{"mcp-conform", "replay", name}, args)
}

func (s *fuzzScreen) end(r *fuzz.Report) {
	s.printf("\n%s with %s in %v (%.0f requests a second), %s, %s\n",
		countSequences(r.Cases), countRequests(r.Requests), r.Took.Round(time.Millisecond), float64(r.Requests)/r.Took.Seconds(), countNovel(r.Novel), countFindings(len(r.Findings)))
	if r.Incomplete != "" {
		s.printf("incomplete: %s\n", s.a.redactAndEscape(r.Incomplete))
	}
	if len(r.Findings) > 0 && s.folder == "" {
		s.printf("this search kept no replay files: --out FOLDER keeps one for each finding\n")
	}
}
