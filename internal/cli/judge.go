package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// judgeFlags are the flags of mcp-conform judge.
type judgeFlags struct {
	revision, transport string
	failOn              string
	reports             []string
	out                 string
	verbose, quiet      bool
}

func (a *app) judgeCommand() *cobra.Command {
	f := &judgeFlags{}
	c := &cobra.Command{
		Use:   "judge [flags] FILE...",
		Short: "Judge recorded sessions",
		Long: `Judge recorded sessions by their traffic, without a server.
A FILE is one of these; - is the standard input:

  a transcript       as mcp-conform run --transcript DIR writes it
  a message log      {"direction":"client-to-server","message":{...}}, one a line
  a script           lines such as > {...} (client) and < {...} (server)

docs/transcripts.md describes these and further formats. Findings are reported
as they were recorded; nothing is retried.

  mcp-conform judge session.jsonl
  mcp-conform judge --report json=verdicts.json transcripts/*.jsonl
  my-proxy --log-json | mcp-conform judge -

Exit codes: 0 no requirement broken, 1 broken, 2 usage, or a file that can't be
read, 4 nothing could be judged.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("as in mcp-conform judge session.jsonl; - is the standard input", "judge takes the files to judge")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.judge(f, args) },
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.revision, "revision", "", "revision of sessions that do not name one, such as 2025-06-18")
	fs.StringVar(&f.transport, "transport", string(spec.Stdio), "transport of sessions that do not name one: stdio, streamable-http, sse")
	fs.StringVar(&f.failOn, "fail-on", "must", "what makes the exit code 1: must (broken), should (warnings too)")
	fs.StringArrayVar(&f.reports, "report", nil, reportUsage(recordingReports()))
	fs.StringVar(&f.out, "out", ".mcp-conform", "folder for reports without a file: "+reportFiles(recordingReports()))
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show notes")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show only verdicts: a line for each finding, and the last line")
	return c
}

// judge judges the recordings in the files and writes the reports.
func (a *app) judge(f *judgeFlags, names []string) error {
	defer raiseMemoryLimit()()
	started := time.Now()
	if err := f.check(); err != nil {
		return err
	}
	files, err := a.parseReports(f.reports, recordingReports(), f.out)
	if err != nil {
		return err
	}
	all, err := a.readRecordings(names)
	for _, r := range all {
		if err == nil {
			err = r.chooseRevision(spec.Revision(f.revision), spec.Transport(f.transport))
		}
	}
	if err != nil {
		about := verdict.NewReport(version())
		about.Target, about.Transport, about.Stats.Started = strings.Join(names, ", "), spec.Transport(f.transport), started
		return a.writeUnjudged(files, about, err)
	}
	j := newJudgement(ruleset.All())
	redactor := transcript.NewRedactor(a.secrets)
	for _, r := range all {
		r.Events = redactor.RedactEvents(r.Events) // reports quote them
		j.judge(r)
	}
	report := j.finish(names)
	report.Stats.Started, report.Stats.Took = started, time.Since(started)
	console := reporters.NewConsole(a.Out, reporters.ConsoleOptions{Color: a.Color, Width: min(a.Columns, widest), Quiet: f.quiet, Terse: f.quiet, Verbose: f.verbose})
	if !f.quiet {
		fmt.Fprintf(a.Out, "judging %s: %s\n\n", a.redactAndEscape(report.Target), countSessions(len(all)))
	}
	console.End(report)
	report.FailOn = f.failOn
	a.code = exitCode(report)
	if err := a.writeReports(files, report); err != nil || f.quiet {
		return err
	}
	a.printReportPaths(files)
	return nil
}

func countSessions(n int) string {
	if n == 1 {
		return "1 recorded session"
	}
	return fmt.Sprintf("%d recorded sessions", n)
}

func (f *judgeFlags) check() error {
	switch {
	case f.revision != "" && !spec.Revision(f.revision).IsPublished():
		_, err := spec.ParseRevision(f.revision)
		return usagef("", "--revision: %v", err)
	case !slices.Contains(spec.Transports(), spec.Transport(f.transport)):
		return usagef("give stdio, streamable-http or sse", "--transport is %q", f.transport)
	case f.failOn != "must" && f.failOn != "should":
		return usagef("give must or should", "--fail-on is %q", f.failOn)
	case f.quiet && f.verbose:
		return usagef("give one of them", "--quiet and --verbose contradict each other")
	}
	return nil
}
