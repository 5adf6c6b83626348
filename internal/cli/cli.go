// Package cli is the command line, with one file for each command. It is the
// only package that connects all the others.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/cli/browser"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// Exit codes, as README and --help document them.
const (
	ExitKept        = 0 // no requirement broken
	ExitBroken      = 1 // a requirement is broken, or warned about with --fail-on should
	ExitUsage       = 2 // the command line or a configuration file is wrong
	ExitUnreachable = 3 // the server could not be started or reached
	ExitNotJudged   = 4 // nothing could be judged, the run is incomplete, a finding could not be retried, or mcp-conform itself failed
)

// World is the environment of the command line: input, output, variables and terminal. Tests
// replace it.
type World struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string
	// Color and Live report whether Out may be coloured, and whether lines on it can be rewritten.
	Color, Live bool
	// Columns is the width of the terminal, or 0 if the output is not a
	// terminal.
	Columns int
	// Executable returns the program's own path, for commands that start the program again, for
	// example as the reference server.
	Executable func() (string, error)
	// Browse opens a URL in the user's browser, and does not wait. Browse is nil if there is no
	// browser.
	Browse func(url string)
	// Signals returns a channel of interrupts, and a function that ends their delivery. Signals is
	// nil if there are no interrupts.
	Signals func() (<-chan os.Signal, func())
}

// SystemWorld returns the World of the operating system.
func SystemWorld() World {
	return World{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(),
		Color:      reporters.ColorWanted(os.Stdout, os.Getenv),
		Live:       reporters.IsTerminal(os.Stdout) && os.Getenv("CI") == "",
		Columns:    terminalWidth(os.Stdout),
		Executable: os.Executable,
		Browse:     openBrowser,
		Signals: func() (<-chan os.Signal, func()) {
			c := make(chan os.Signal, 4)
			signal.Notify(c, os.Interrupt, syscall.SIGTERM)
			if !signal.Ignored(syscall.SIGHUP) { // under nohup, which ignores SIGHUP, the run outlives the terminal
				signal.Notify(c, syscall.SIGHUP)
			}
			return c, func() { signal.Stop(c) }
		},
	}
}

// ignoreBrokenPipes makes a write to a client that has exited return an error instead of ending the
// program, until the returned function is called. It catches SIGPIPE instead of ignoring it,
// because servers would inherit an ignored signal.
func ignoreBrokenPipes() func() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}

// openBrowser opens a URL in the system's browser. An error does not matter, because the URL is
// also printed.
func openBrowser(url string) {
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	go func() { _ = browser.OpenURL(url) }() // some browsers run until they are closed
}

// terminalWidth returns the width of a terminal, or 0 for any other file.
func terminalWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// memoryLimit is the soft memory limit of the Go runtime, in bytes. It makes the
// garbage collector run more often before a hostile server can exhaust the
// memory.
const memoryLimit = 160 << 20

// raiseMemoryLimit raises the memory limit, for commands that keep much in memory, because near the
// lower limit they would spend most of their time on garbage collection. The returned function
// restores the limit. A limit that the user sets with GOMEMLIMIT stays.
func raiseMemoryLimit() func() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	limit := debug.SetMemoryLimit(1 << 30)
	return func() { debug.SetMemoryLimit(limit) }
}

// Main runs the command line and returns the exit code.
func Main(args []string, w World) int {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	secrets := &redact.Secrets{}
	a := &app{wire: w.Out, wireErr: w.Err, secrets: secrets, ctx: ctx, cancel: cancel}
	w.Out, w.Err = secrets.Writer(w.Out), secrets.Writer(w.Err)
	a.World = w
	a.cancelAtStdinEnd()
	defer a.handOver()()
	defer a.endServers()
	root := a.rootCommand()
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		return a.code
	}
	code := a.fail(err)
	if text := misplacedFlags(c); text != "" && (code == ExitUnreachable || code == ExitNotJudged && a.ctx.Err() == nil) {
		fmt.Fprintf(a.Err, "  %s\n", a.redactAndEscape(text))
	}
	return code
}

// endServers kills the remaining server processes and prints those that could not be killed.
func (a *app) endServers() {
	stdio.KillAll()
	for _, one := range stdio.TakeLeftovers(a.redact) {
		fmt.Fprintf(a.Err, "mcp-conform: %s\n", a.redactAndEscape(one))
	}
}

// app is one invocation of the program.
type app struct {
	World
	// wire and wireErr are Out and Err without redaction, for bytes of a server that are passed on
	// unchanged.
	wire, wireErr io.Writer
	// secrets must not leave the process. Out, Err and writeFile redact them. Text from the server
	// must pass through redact or redactAndEscape before it is truncated or wrapped, because part
	// of a secret is not recognised.
	secrets    *redact.Secrets
	ctx        context.Context
	cancel     context.CancelCauseFunc
	code       int           // the exit code of a command that returns no error
	specs      *types.Report // Ginkgo's report of the run; nil before the specs have run
	outputName string        // how messages name the server's output that they quote; "" for stderr
	// pacer paces the requests to the server. It is nil until the method open is called.
	pacer *exchange.Pacer
	quote string // see sweep.Handover
}

// interruptMessage is printed at the first interrupt of a command that runs servers.
const interruptMessage = "\nmcp-conform: interrupted: ending the servers; interrupt again to kill them"

// errInterrupted is the cause of a context that a signal, or the end of a sweep, cancelled.
var errInterrupted = errors.New("interrupted")

// handleSignals makes the first signal print the message and cancel a.ctx, and the second one kill
// all servers. The third one ends the program, as it would without this handler. The returned
// function ends the handling.
func (a *app) handleSignals(message string) func() {
	if a.Signals == nil {
		return func() {}
	}
	stdio.AdoptOrphans() // from here on, an orphan that this process adopts counts as a server's, and is killed
	signals, stop := a.Signals()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-signals:
				if n == 0 {
					fmt.Fprintln(a.Err, message)
					a.cancel(errInterrupted)
				} else {
					stop()
					stdio.KillAll()
				}
			}
		}
	}()
	return func() { stop(); close(done); <-ended }
}

const longHelp = `mcp-conform reports whether an MCP (Model Context Protocol) server keeps the
protocol, and what exactly it breaks.

Judge a server:
  mcp-conform run ./my-server                          a command, started over stdio
  mcp-conform run -- npx -y some-server                a command with arguments
  mcp-conform run http://localhost:3000/mcp            a server that is running
  mcp-conform run --config .mcp.json --server NAME     as a client would start it
  mcp-conform run --reference                          the server bundled with the tool
  mcp-conform record -- node server.js                 a real client's session: put this into its configuration
  mcp-conform judge session.jsonl                      a recorded session

When it does not start, or a run should do more:
  mcp-conform doctor ./my-server                       why it does not start
  mcp-conform init ./my-server                         a configuration file that names its tools
  mcp-conform fuzz ./my-server                         a search for bugs that no check looks for

Judge many servers:
  mcp-conform sweep servers.yaml                       each in its own process, on one machine or many

Publish the result:
  mcp-conform run --report conformance=FILE ./my-server    evidence, profile by profile
  mcp-conform report check FILE                            what is wrong or missing in it

A server that requires a token:
  mcp-conform login https://example.com/mcp            log in with a browser; runs use that login

Understand a finding:
  mcp-conform explain base.response-id-echo            a requirement, a case or a rule
  mcp-conform list requirements --area lifecycle       the requirements of an area

Exit codes:
  0  no requirement is broken
  1  a requirement is broken (with --fail-on should: or warned about)
  2  the command line or a configuration file is wrong
  3  the server could not be started or reached
  4  nothing could be judged, the run is incomplete, a finding could not be
     retried, or mcp-conform itself failed`

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "mcp-conform",
		Short:         "Reports whether an MCP server keeps the protocol",
		Long:          longHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			advice := "mcp-conform --help lists the commands; to judge a server: mcp-conform run ./my-server"
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				advice = "did you mean mcp-conform " + near[0] + "?"
			}
			return usagef(advice, "there is no command %q", args[0])
		},
		RunE:                       func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE:          func(*cobra.Command, []string) error { return checkCatalogue() },
		SuggestionsMinimumDistance: 2,
	}
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if bad := new(pflag.InvalidValueError); errors.As(err, &bad) && bad.GetFlag().Value.Type() == "duration" {
			return durationError(bad)
		}
		return &target.UsageError{What: err.Error(), Advice: flagAdvice(c, err)}
	})
	root.AddCommand(a.runCommand(), a.fuzzCommand(), a.replayCommand(), a.judgeCommand(), a.recordCommand(), a.doctorCommand(), a.initCommand(), a.baselineCommand(), a.diffCommand(), a.reportCommand(), a.sweepCommand(), a.listCommand(), a.explainCommand(), a.loginCommand(), a.logoutCommand(), a.whoamiCommand(), a.serveCommand(), a.mcpCommand(), a.selftestCommand(), a.manCommand(), a.versionCommand())
	return root
}

// checkCatalogue returns a harness error if the requirement catalogue can't be read.
func checkCatalogue() error {
	if err := spec.CheckCatalogue(); err != nil {
		return harnessError{err}
	}
	return nil
}

// redact replaces the secrets in text of the server or the user.
func (a *app) redact(text string) string { return a.secrets.RedactText(text) }

// redactAndEscape replaces the secrets in text of the server or the user and makes it safe to print
// on a terminal.
func (a *app) redactAndEscape(text string) string { return reporters.Visible(a.redact(text)) }
