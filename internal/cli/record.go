package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/record"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// recordFlags are the flags of mcp-conform record.
type recordFlags struct {
	serverFlags
	file string
}

func (a *app) recordCommand() *cobra.Command {
	f := &recordFlags{}
	f.command = "record"
	c := &cobra.Command{
		Use:   "record [flags] -- COMMAND ARGUMENT...",
		Short: "Record and judge the session of a real client with a server",
		Long: `Start a server and connect it to the client that started mcp-conform: put
"mcp-conform record --" in front of the server's command in the client's
configuration. All bytes are passed on unchanged. The session is recorded, with
secrets removed, and judged while it goes on. What the server breaks, and what
the client does outside the protocol, is printed on stderr.

  mcp-conform record -- node server.js
  mcp-conform record --transcript session.jsonl -- ./my-server

The exit code is that of the server; 2 if the command line is wrong, 3 if the
server could not be started.`,
		RunE: func(c *cobra.Command, args []string) error {
			f.takeTarget(c, args)
			return a.record(f)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.file, "transcript", "", "file for the session (default: a new one in the user's cache folder; stderr names it)")
	fs.StringArrayVar(&f.target.Env, "env", nil, "environment variable of the server: K=V, or K to inherit it (repeatable)")
	fs.BoolVar(&f.target.CleanEnv, "clean-env", false, "give the server only the essential environment variables")
	fs.StringVar(&f.target.Cwd, "cwd", "", "folder in which the server is started")
	return c
}

// record passes a session on, records and judges it.
func (a *app) record(f *recordFlags) error {
	t, err := a.resolve(&f.serverFlags)
	if err != nil {
		return err
	}
	if t.URL != "" {
		return usagef("record a server over stdio", "%s is a URL", t.Display())
	}
	path, err := stdio.Locate(stdio.Command{Argv: t.Argv, Dir: t.Dir, Env: t.Env})
	if err != nil {
		return &engine.UnreachableError{Reason: err.Error(), Err: err}
	}
	s := &recordedSession{a: a, name: t.Display(), rec: transcript.New(), redactor: transcript.NewRedactor(a.secrets), rules: ruleset.All(), said: map[string]bool{}}
	if err := s.create(f.file); err != nil {
		return usagef("name a file that can be written with --transcript", "the session can't be recorded: %v", err)
	}
	signals, stop := (<-chan os.Signal)(nil), func() {}
	if a.Signals != nil {
		signals, stop = a.Signals()
	}
	defer stop()
	done := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() { s.follow(done) })
	code, err := record.Stdio(a.ctx, record.Command{Path: path, Argv: t.Argv, Dir: t.Dir, Env: t.Env}, record.Streams{In: a.In, Out: a.wire, Err: a.wireErr}, signals, s.rec)
	close(done)
	following.Wait()
	if err != nil {
		_ = s.file.Close()
		return &engine.UnreachableError{Reason: fmt.Sprintf("the server %q could not be started: %v", t.Argv[0], err), Err: err}
	}
	if a.code = code; code < 0 {
		a.code = ExitNotJudged // a signal ended the server
	}
	return s.end()
}

// recordedSession is a session that is being recorded.
type recordedSession struct {
	a        *app
	name     string // of the server
	rec      *transcript.Transcript
	redactor *transcript.Redactor
	rules    []rules.Rule

	path    string
	file    *os.File
	written int // events in the file
	said    map[string]bool
}

// create creates the file of the session, with its first line.
func (s *recordedSession) create(path string) error {
	if path == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		dir := filepath.Join(cache, "mcp-conform", "sessions")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		path = filepath.Join(dir, fmt.Sprintf("%s-%d.jsonl", time.Now().Format("20060102-150405"), os.Getpid()))
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.path, s.file = path, f
	return transcript.WriteRecording(s.writer(), &transcript.Recording{Transport: string(spec.Stdio), Tool: "mcp-conform " + version()})
}

// writer returns a writer to the file that removes secrets.
func (s *recordedSession) writer() io.Writer { return s.a.secrets.Writer(s.file) }

// Times between two looks at the session: at least leastPause, and so long that judging takes at
// most a twentieth of the time.
const (
	leastPause  = time.Second
	judgingCost = 20
)

// follow writes and judges what is new, until the session is over.
func (s *recordedSession) follow(done <-chan struct{}) {
	for pause := leastPause; ; {
		select {
		case <-done:
			return
		case <-time.After(pause):
		}
		began := time.Now()
		if s.write() {
			s.judge()
		}
		pause = max(leastPause, judgingCost*time.Since(began))
	}
}

// write appends the new events to the file, and reports whether there were any.
func (s *recordedSession) write() bool {
	events := s.rec.From(s.written)
	if len(events) == 0 {
		return false
	}
	s.written += len(events)
	out := bufio.NewWriter(s.writer())
	if transcript.Write(out, s.redactor.Events(events)) != nil || out.Flush() != nil {
		s.say("the transcript can't be written to " + s.path)
	}
	return true
}

// judge prints what is new of what the server and the client do wrong.
func (s *recordedSession) judge() {
	r := s.recorded()
	for _, result := range rules.SoFar(s.rules, r.Events, r.revision, r.transport) {
		for i := range result.Deviations {
			d := &result.Deviations[i]
			outcome := d.Outcome(spec.Requirements().Lookup(d.Requirement), result.Revision)
			if outcome > verdict.Note {
				s.say(fmt.Sprintf("server: %s %s: %s", outcome, d.Requirement, d.Summary))
			}
		}
	}
	for _, m := range record.Mistakes(r.Events) {
		s.say("client: " + m.Summary)
	}
}

// recorded returns the session so far, with secrets removed.
func (s *recordedSession) recorded() *recorded {
	r := &recorded{Recording: &transcript.Recording{Transport: string(spec.Stdio), Events: s.redactor.Events(s.rec.From(0))}, file: s.path}
	_ = r.settle("", spec.Stdio) // it fails for an unknown transport
	r.Notices = nil
	return r
}

// say prints a line on stderr, once.
func (s *recordedSession) say(line string) {
	if line = s.a.visible(line); !s.said[line] {
		s.said[line] = true
		fmt.Fprintf(s.a.Err, "mcp-conform: %s\n", line)
	}
}

// end writes the rest, judges the whole session, and prints a summary.
func (s *recordedSession) end() error {
	s.write()
	failed := s.file.Close()
	r := s.recorded()
	j := newJudgement(s.rules)
	j.take(r)
	report := j.report([]string{s.name})
	for i := range report.Findings {
		report.Findings[i].Replay = []string{"mcp-conform", "judge", s.path}
	}
	fmt.Fprintf(s.a.Err, "\nmcp-conform: the session of %s is over\n\n", s.a.visible(s.name))
	reporters.NewConsole(s.a.Err, reporters.ConsoleOptions{Width: widest}).End(report)
	s.clientSummary(r)
	fmt.Fprintf(s.a.Err, "\nrecorded in %s\n", s.a.visible(s.path))
	return failed
}

// clientSummary prints what the client did outside the protocol, with the messages.
func (s *recordedSession) clientSummary(r *recorded) {
	mistakes := record.Mistakes(r.Events)
	if len(mistakes) == 0 {
		fmt.Fprintln(s.a.Err, "client: nothing outside the protocol was seen")
		return
	}
	fmt.Fprintln(s.a.Err, "client: it did this outside the protocol; what the server does after that may result from it:")
	for i, m := range mistakes {
		if !slices.ContainsFunc(mistakes[:i], func(o record.Mistake) bool { return o.Summary == m.Summary }) {
			fmt.Fprintf(s.a.Err, "  %s\n    %s\n", m.Summary, spec.PageOf(m.Section, r.revision))
		}
		fmt.Fprintf(s.a.Err, "  » → %.200s\n", strings.TrimSpace(s.a.visible(string(r.Events[m.At].Raw))))
	}
}
