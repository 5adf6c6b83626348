package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/record"
	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// recordFlags are the flags of mcp-conform record.
type recordFlags struct {
	serverFlags
	file   string
	listen string
}

func (a *app) recordCommand() *cobra.Command {
	f := &recordFlags{}
	f.command = "record"
	c := &cobra.Command{
		Use:   "record [flags] {-- COMMAND ARGUMENT... | --listen HOST:PORT URL}",
		Short: "Record and judge the session of a real client with a server",
		Long: `Start a server and connect it to the client that started mcp-conform: put
"mcp-conform record --" in front of the server's command in the client's
configuration. All bytes are passed on unchanged. The session is recorded, with
secrets removed, and judged while it is open. Requirements that the server breaks,
and mistakes of the client, are printed on stderr.

  mcp-conform record -- node server.js
  mcp-conform record --transcript session.jsonl -- ./my-server

Over HTTP (Streamable HTTP, or the older HTTP+SSE), mcp-conform listens at an
address, which clients use instead of the server's. It records until it is
interrupted.

  mcp-conform record --listen 127.0.0.1:8080 http://localhost:3000/mcp

The exit code is that of the server, or 4 if a signal ended it, and 0 after an
interrupt with --listen; 2 if the command line is wrong or the address is taken, 3
if the server could not be started.`,
		RunE: func(c *cobra.Command, args []string) error {
			f.takeTarget(c, args)
			return a.record(f)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.file, "transcript", "", "file for the session; with --listen: folder for the sessions (default: in the user's cache folder; stderr names it)")
	fs.StringVar(&f.listen, "listen", "", "listen at this HOST:PORT, and pass on what clients send to the server at the URL; without HOST: 127.0.0.1")
	fs.StringArrayVar(&f.target.Env, "env", nil, "environment variable of the server: K=V, or K to inherit it (repeatable)")
	fs.BoolVar(&f.target.CleanEnv, "clean-env", false, "give the server only the essential environment variables")
	fs.StringVar(&f.target.Cwd, "cwd", "", "folder in which the server is started")
	return c
}

// record connects a client to the server, and records and judges its sessions.
func (a *app) record(f *recordFlags) error {
	defer ignoreBrokenPipes()()
	defer raiseMemoryLimit()()
	t, err := a.resolve(&f.serverFlags)
	switch {
	case err != nil:
		return err
	case f.listen != "" && t.URL == "":
		return usagef("as in mcp-conform record --listen 127.0.0.1:8080 http://localhost:3000/mcp", "--listen takes the URL of the server, and %s is a command", t.Display())
	case f.listen != "":
		return a.recordHTTP(f, &t)
	case t.URL != "":
		return usagef("add --listen HOST:PORT for the clients", "%s is a URL", t.Display())
	}
	return a.recordStdio(f, &t)
}

// recordStdio starts the server and records one session over stdio.
func (a *app) recordStdio(f *recordFlags, t *target.Target) error {
	path, err := stdio.Locate(stdio.Command{Argv: t.Argv, Dir: t.Dir, Env: t.Env})
	if err != nil {
		return &engine.UnreachableError{Reason: err.Error(), Err: err}
	}
	rec := a.sessionRecorder(t.Display())
	s := &recordedSession{rec: transcript.New(), transport: func() spec.Transport { return spec.Stdio }, path: f.file}
	if s.path == "" {
		s.path, err = sessionFile("", "")
	}
	if err == nil {
		err = rec.create(s)
	}
	if err != nil {
		return usagef("name a file that can be written with --transcript", "the session can't be recorded: %v", err)
	}
	signals, stop := a.interrupts()
	defer stop()
	done := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() { rec.follow(done, func() {}) })
	code, err := record.RunStdio(a.ctx, record.Command{Path: path, Argv: t.Argv, Dir: t.Dir, Env: t.Env}, record.Streams{In: a.In, Out: a.wire, Err: a.wireErr}, signals, s.rec)
	close(done)
	following.Wait()
	if err != nil {
		_ = s.file.Close()
		return &engine.UnreachableError{Reason: fmt.Sprintf("the server %q could not be started: %v", t.Argv[0], err), Err: err}
	}
	if a.code = code; code < 0 {
		a.code = ExitNotJudged // a signal ended the server
	}
	return rec.end()
}

// interrupts returns a channel of interrupts, and a function that ends their delivery. The channel
// is nil if there are no interrupts.
func (a *app) interrupts() (<-chan os.Signal, func()) {
	if a.Signals == nil {
		return nil, func() {}
	}
	return a.Signals()
}

// sessionRecorder writes and judges sessions while they are open.
type sessionRecorder struct {
	a        *app
	name     string // of the server
	redactor *transcript.Redactor
	rules    []rules.Rule
	sessions []*recordedSession
	seen     int             // the number of the proxy's sessions that addSessions has handled
	given    map[string]bool // secrets that were learned from clients, as "name: value"

	mu   sync.Mutex      // guards said
	said map[string]bool // lines that the method printOnce has printed
}

func (a *app) sessionRecorder(name string) *sessionRecorder {
	return &sessionRecorder{a: a, name: name, redactor: transcript.NewRedactor(a.secrets), rules: ruleset.All(), given: map[string]bool{}, said: map[string]bool{}}
}

// recordedSession is a session that is being recorded.
type recordedSession struct {
	rec       *transcript.Transcript
	transport func() spec.Transport // returns the transport as known so far; it can still change
	path      string
	file      *os.File
	over      spec.Transport // the transport that the file names
	written   int            // the number of events in the file
}

// mistakes returns the mistakes of the client in the first n events. It reads the events before
// redaction, because otherwise a message and a header that mirrors it in Base64 could seem to
// differ.
func (s *recordedSession) mistakes(n int) []record.ClientMistake {
	return record.ClientMistakes(s.rec.From(0)[:n], s.over)
}

// sessionFile returns a path for a session in the folder dir or, if dir is "", in the user's cache
// folder. It creates the folder, but not the file.
func sessionFile(dir, suffix string) (string, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(cache, "mcp-conform", "sessions")
	}
	err := os.MkdirAll(dir, 0o700)
	return filepath.Join(dir, fmt.Sprintf("%s-%d%s.jsonl", time.Now().Format("20060102-150405"), os.Getpid(), suffix)), err
}

// create creates the file of a session, with its first line.
func (r *sessionRecorder) create(s *recordedSession) error {
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.file = f
	r.sessions = append(r.sessions, s)
	return r.begin(s)
}

// begin writes the first line of a file.
func (r *sessionRecorder) begin(s *recordedSession) error {
	s.over, s.written = s.transport(), 0
	return transcript.WriteRecording(r.writer(s), &transcript.Recording{Transport: string(s.over), Tool: "mcp-conform " + version()})
}

// rewrite begins the file again, because its first line does not name the transport that is known
// by now.
func (r *sessionRecorder) rewrite(s *recordedSession) error {
	_, err := s.file.Seek(0, io.SeekStart)
	return errors.Join(err, s.file.Truncate(0), r.begin(s))
}

// writer returns a writer to the file that removes secrets.
func (r *sessionRecorder) writer(s *recordedSession) io.Writer { return r.a.secrets.Writer(s.file) }

// The pause between two rounds of follow is at least minPause, and judgingCost times as long as the
// last round took, so that judging uses at most a twentieth of the time.
const (
	minPause    = time.Second
	judgingCost = 20
)

// follow writes and judges new events in rounds, until done is closed. It calls update before each
// round.
func (r *sessionRecorder) follow(done <-chan struct{}, update func()) {
	for pause := minPause; ; {
		select {
		case <-done:
			return
		case <-time.After(pause):
		}
		began := time.Now()
		update()
		for _, s := range r.sessions {
			if r.write(s) {
				r.judge(s)
			}
		}
		pause = max(minPause, judgingCost*time.Since(began))
	}
}

// write appends the new events to the file, and reports whether there were any. It prints an error
// if writing fails.
func (r *sessionRecorder) write(s *recordedSession) bool {
	var failed error
	if s.over != s.transport() {
		failed = r.rewrite(s)
	}
	events := s.rec.From(s.written)
	if len(events) == 0 {
		return false
	}
	s.written += len(events)
	out := bufio.NewWriter(r.writer(s))
	if failed != nil || transcript.Write(out, r.redactEvents(events)) != nil || out.Flush() != nil {
		r.printOnce("the transcript can't be written to " + s.path)
	}
	return true
}

// judge prints the deviations of the server that are more severe than a note, and the mistakes of
// the client, unless they were printed before.
func (r *sessionRecorder) judge(s *recordedSession) {
	so := r.snapshot(s)
	for _, result := range rules.SoFar(r.rules, so.Events, so.revision, so.transport) {
		for i := range result.Deviations {
			d := &result.Deviations[i]
			outcome := d.Outcome(spec.Requirements().Lookup(d.Requirement), result.Revision)
			if outcome > verdict.Note {
				r.printOnce(fmt.Sprintf("server: %s %s: %s", outcome, d.Requirement, d.Summary))
			}
		}
	}
	for _, m := range s.mistakes(len(so.Events)) {
		r.printOnce("client: " + m.Summary)
	}
}

// maxGiven limits the number of secrets that are learned from clients, because some clients sign
// each request separately.
const maxGiven = 1000

// redactEvents returns the events without secrets. It first learns the values that a client sends
// in headers such as Authorization, or in the query of its URL, as secrets, so that they are also
// removed where the server repeats them.
func (r *sessionRecorder) redactEvents(events []*transcript.Event) []*transcript.Event {
	for _, e := range events {
		if e.Kind != transcript.Requested {
			continue
		}
		if target := e.Head.Target(); redact.Arg(target) != target {
			r.learnSecret("", target)
		}
		for _, f := range e.Head.Fields {
			if redact.IsSecretSetting(f.Name) {
				r.learnSecret(f.Name, f.Value)
			}
		}
	}
	return r.redactor.RedactEvents(events)
}

// learnSecret adds a secret that a client sent in a header with this name, or in a URL if name is
// empty.
func (r *sessionRecorder) learnSecret(name, value string) {
	if key := name + ": " + value; !r.given[key] && len(r.given) < maxGiven {
		r.given[key] = true
		r.a.secrets.AddNamed(name, value)
	}
}

// snapshot returns the session so far, with secrets removed.
func (r *sessionRecorder) snapshot(s *recordedSession) *recorded {
	soFar := &recorded{Recording: &transcript.Recording{Transport: string(s.over), Events: r.redactEvents(s.rec.From(0))}, file: s.path}
	_ = soFar.chooseRevision("", s.over) // it can't fail: s.over is a known transport or ""
	soFar.Notices = nil
	return soFar
}

// printOnce prints a line on stderr, unless it was printed before.
func (r *sessionRecorder) printOnce(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if line = r.a.redactAndEscape(line); !r.said[line] {
		if len(r.said) < maxSaid {
			r.said[line] = true
		}
		fmt.Fprintf(r.a.Err, "mcp-conform: %s\n", line)
	}
}

// maxSaid limits how many printed lines the method printOnce remembers.
const maxSaid = 10_000

// end writes the remaining events, closes the files, judges the complete sessions, and prints a
// summary. It returns the errors of closing.
func (r *sessionRecorder) end() error {
	var failed error
	j := newJudgement(r.rules)
	all := make([]*recorded, 0, len(r.sessions))
	for _, s := range r.sessions {
		r.write(s)
		failed = errors.Join(failed, s.file.Close())
		so := r.snapshot(s)
		j.judge(so)
		all = append(all, so)
	}
	report := j.finish([]string{r.name})
	out := r.a.Err
	switch len(all) {
	case 0:
		fmt.Fprintf(out, "\nmcp-conform: no client sent anything for %s\n", r.a.redactAndEscape(r.name))
		return failed
	case 1:
		fmt.Fprintf(out, "\nmcp-conform: the session of %s is over\n\n", r.a.redactAndEscape(r.name))
	default:
		fmt.Fprintf(out, "\nmcp-conform: %d sessions of %s are over\n\n", len(all), r.a.redactAndEscape(r.name))
	}
	reporters.NewConsole(out, reporters.ConsoleOptions{Width: widest}).End(report)
	r.printMistakes(all)
	fmt.Fprintln(out)
	for _, s := range r.sessions {
		fmt.Fprintf(out, "recorded in %s\n", r.a.redactAndEscape(s.path))
	}
	return failed
}

// printMistakes prints the mistakes of the client, each with at most record.MaxMistakes messages.
func (r *sessionRecorder) printMistakes(all []*recorded) {
	out, summaries, messages := r.a.Err, []string{}, map[string][]string{}
	for i, so := range all {
		for _, m := range r.sessions[i].mistakes(len(so.Events)) {
			summary := fmt.Sprintf("  %s\n    %s\n", m.Summary, spec.PageOf(m.Section, so.revision))
			if messages[summary] == nil {
				summaries = append(summaries, summary)
			}
			if len(messages[summary]) < record.MaxMistakes {
				messages[summary] = append(messages[summary], fmt.Sprintf("  » → %.200s\n", strings.TrimSpace(r.a.redactAndEscape(string(so.Events[m.At].Raw)))))
			}
		}
	}
	if len(summaries) == 0 {
		fmt.Fprintln(out, "client: no mistakes were seen")
		return
	}
	fmt.Fprintln(out, "client: it made these mistakes, which may explain what the server did after them:")
	for _, summary := range summaries {
		fmt.Fprint(out, summary, strings.Join(messages[summary], ""))
	}
}
