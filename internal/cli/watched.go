package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-conform/mcp-conform/internal/baseline"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// watchFlags are the flags of repeated runs.
type watchFlags struct {
	on    bool
	build string
	paths []string
}

func (f *watchFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&f.on, "watch", false, "judge again whenever a file changes, and show what changed; Ctrl-C ends it")
	fs.StringVar(&f.build, "watch-build", "", "with --watch: a command that builds the server before each run, such as 'go build -o my-server .'")
	fs.StringArrayVar(&f.paths, "watch-path", nil, "with --watch: a folder or file to watch (repeatable; default: the current folder)")
}

// checkWatch returns a usage error if the flags of --watch can't be combined with the other flags.
func (f *runFlags) checkWatch() error {
	switch {
	case !f.watch.on && (f.watch.build != "" || len(f.watch.paths) > 0):
		return usagef("add --watch, or leave them out", "--watch-build and --watch-path need --watch")
	case f.watch.on && f.reference:
		return usagef("name a server of your own", "the reference server is a part of this program, so it does not change")
	}
	return nil
}

// watched judges the server repeatedly.
type watched struct {
	a     *app
	f     *runFlags
	files []reportFile
	last  *verdict.Report // the report of the last run that was not interrupted
	shown []string        // the lines about findings of the last run that this round has already printed
	err   error           // the error of the first run, if the user has to fix the command line
	quit  context.CancelFunc
}

// runWatched judges the server whenever a watched file changes.
func (a *app) runWatched(f *runFlags, reports []reportFile) error {
	without := []string{f.out}
	if f.transcript != "" {
		without = append(without, f.transcript)
	}
	for _, r := range reports {
		if r.path != "" {
			without = append(without, r.path)
		}
	}
	t, err := a.resolve(&f.serverFlags)
	switch {
	case err != nil && f.watch.build == "": // otherwise the build may create the command
		return err
	case err == nil && t.URL != "" && t.Start == nil:
		return usagef("let the run start it, as in --watch --start 'npm start' "+t.URL, "--watch needs a server that it can start for each run, but this one is already running")
	case err == nil && f.watch.build != "" && len(t.Argv) > 0:
		without = append(without, t.Argv[0])
	}
	paths := f.watch.paths
	if len(paths) == 0 {
		paths = []string{"."}
	}
	watch, err := watchFiles(paths, without)
	if err != nil {
		return usagef("name files and folders that can be read with --watch-path", "--watch: %v", err)
	}
	defer func() { _ = watch.Close() }()
	if watch.isIncomplete {
		fmt.Fprintf(a.Out, "note: --watch watches only the first %d folders; --watch-path names others\n", maxFolders)
	}
	ctx, quit := context.WithCancel(a.ctx)
	defer quit()
	w := &watched{a: a, f: f, files: reports, quit: quit}
	a.code = ExitNotJudged
	r := &rounds{changes: watch.changes, settle: settleTime, judge: w.judge, wait: w.wait, ignore: w.ignore, gone: isGone}
	if f.watch.build != "" {
		r.build = w.build
	}
	r.run(ctx)
	return w.err
}

func (w *watched) printf(format string, args ...any) {
	fmt.Fprint(w.a.Out, w.a.redactAndEscape(fmt.Sprintf(format, args...))+"\n")
}

// printLines prints lines, wrapped at the width of the terminal.
func (w *watched) printLines(all []string) {
	for _, line := range all {
		for _, part := range reporters.WrapLine(line, min(w.a.Columns, widest), 4) {
			w.printf("%s", part)
		}
	}
}

func (w *watched) wait() { w.printf("watching for changes; Ctrl-C ends it") }

func (w *watched) ignore(path string) {
	w.printf("note: %s changes in each run, most likely because of the server, so it is no longer watched", relativeIfShorter(path))
}

func isGone(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// relativeIfShorter returns the path relative to the current folder if that is shorter.
func relativeIfShorter(path string) string {
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, path); err == nil && len(short) < len(path) {
			return short
		}
	}
	return path
}

// build runs the build command and reports whether it succeeded. It prints the
// command's output only if the command fails.
func (w *watched) build(ctx context.Context) bool {
	shell := []string{"sh", "-c", w.f.watch.build}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c", w.f.watch.build}
	}
	c := exec.CommandContext(ctx, shell[0], shell[1:]...) //nolint:gosec // the user's own command
	c.Env = stdio.OutsiderEnv(w.a.Environ)                // a build may leave a daemon running for the next build
	out, err := c.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		return err == nil
	}
	w.printf("the build failed (%v): %s", err, w.f.watch.build)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines[max(0, len(lines)-buildLines):] {
		w.printf("  | %s", line)
	}
	return false
}

// buildLines is the number of lines at the end of a failed build's output that are printed.
const buildLines = 40

// judge judges the server once. Only the first run prints everything.
func (w *watched) judge(_ context.Context, why string) {
	if why != "" {
		w.printf("%s changed: judging again", relativeIfShorter(why))
	}
	code := w.a.code
	report, err := w.judgeAll()
	switch cut := report == nil || report.Incomplete != ""; {
	case w.a.ctx.Err() != nil && cut && w.last != nil: // an interrupt keeps the last verdict
		w.a.code = code
	case err == nil:
	case why == "" && isUsageError(err):
		w.err = err
		w.quit()
		return
	default:
		w.a.code = w.a.fail(err)
	}
	if report != nil && report.Incomplete == "" {
		w.last = report
	}
}

// judgeAll judges the findings of the last run, if there are any, and then
// everything.
func (w *watched) judgeAll() (*verdict.Report, error) {
	if w.last == nil {
		return w.a.judgeOnce(w.f, w.files, reporters.NewConsole(w.a.Out, w.f.consoleOptions(w.a)), w.f.about())
	}
	if err := w.judgeLastFindings(w.newChanges()); err != nil {
		return nil, w.a.writeUnjudged(w.files, w.about(), err)
	}
	return w.a.judgeOnce(w.f, w.files, w.newChanges(), w.about())
}

// about returns a report without verdicts about the server of the last run.
func (w *watched) about() verdict.Report {
	p := w.f.about()
	p.Target, p.Transport = w.last.Target, w.last.Transport
	return p
}

// isUsageError reports whether no change of the server can fix the error, because the command line
// is wrong.
func isUsageError(err error) bool {
	return errors.As(err, new(*target.UsageError)) || errors.As(err, new(*engine.SelectionError))
}

// changes is the screen of every run but the first. It shows the progress, and
// only what has changed.
type changes struct {
	*reporters.Console
	w *watched
}

// newChanges returns the screen of a run that is not the first.
func (w *watched) newChanges() changes {
	o := w.f.consoleOptions(w.a)
	o.StatusOnly = true
	return changes{reporters.NewConsole(w.a.Out, o), w}
}

// End shows what has changed since the last run.
func (c changes) End(report *verdict.Report) {
	c.Clear()
	c.w.printChanges(report)
}

// printChanges prints what has changed since the last run: a line for each difference, the new
// findings in full, and the conclusion. Of an incomplete run it prints only the reason.
func (w *watched) printChanges(report *verdict.Report) {
	if report.Incomplete != "" { // an incomplete run can't be compared
		w.printf("the run is incomplete: %s", report.Incomplete)
		return
	}
	all := baseline.Diff(w.last, report)
	w.printLines(slices.DeleteFunc(changeLines(mergeDifferences(all), true), func(line string) bool { return slices.Contains(w.shown, line) }))
	news := *report
	news.Notices = nil
	news.Findings = slices.DeleteFunc(slices.Clone(report.Findings), func(f verdict.Finding) bool {
		return !slices.ContainsFunc(all, func(d baseline.Difference) bool {
			return d.Kind == baseline.New && d.Requirement == f.Requirement && d.Revision == f.Revision
		})
	})
	o := w.f.consoleOptions(w.a)
	o.Quiet, o.Live = true, false
	reporters.NewConsole(w.a.Out, o).End(&news)
}
