package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/stderr"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

func (a *app) doctorCommand() *cobra.Command {
	f := &serverFlags{timeout: client.DefaultTimeout, callTools: string(inventory.CallNone)}
	c := &cobra.Command{
		Use:   "doctor [flags] COMMAND | doctor [flags] -- COMMAND ARGUMENT...",
		Short: "Find out why a server does not start or respond",
		Long: `Start a server, do the handshake in each revision, read its lists, end it, and
report the result of each step. If a step fails, say what to do. doctor judges
nothing and calls no tool.

  mcp-conform doctor ./my-server
  mcp-conform doctor --config .mcp.json --server NAME
  mcp-conform doctor http://localhost:3000/mcp

Exit codes: 0 the server can be judged, 2 usage, 3 it can't be judged, or only its
protection can, because there is no token.`,
		RunE: func(c *cobra.Command, args []string) error {
			f.command = "doctor"
			f.takeTarget(c, args)
			if err := a.configure(c.Flags(), f); err != nil {
				return err
			}
			f.callTools = string(inventory.CallNone)
			return a.doctor(f)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.BoolVar(&f.reference, "reference", false, "examine the bundled reference server")
	f.registerTarget(fs)
	f.remote.registerOtherTokens(fs)
	f.registerConfig(fs)
	fs.DurationVar(&f.start, "start-timeout", client.DefaultStartTimeout, startUsage)
	return c
}

// slowHandshake is the duration above which doctor calls a handshake slow. Clients give up on slow
// servers, and a run starts a server many times.
const slowHandshake = 3 * time.Second

// doctorTime limits the time for inspecting the server. The server's first start has a limit of its
// own.
const doctorTime = time.Minute

// doctor inspects the server step by step.
func (a *app) doctor(f *serverFlags) error {
	defer a.handleSignals(interruptMessage)()
	s, err := a.open(f, nil)
	defer s.close()
	o := s.options
	var unreachable *engine.UnreachableError
	if errors.As(err, &unreachable) && a.ctx.Err() == nil {
		a.reportUnreachable(o.Target, unreachable)
		return nil
	}
	if err != nil {
		return err
	}
	limit := o.FirstStart + doctorTime
	ctx, cancel := context.WithTimeoutCause(a.ctx, limit, fmt.Errorf("it took longer than %s", formatDuration(limit)))
	defer cancel()
	d := &diagnosis{app: a, tokenAdvice: o.TokenAdvice}
	fmt.Fprintf(a.Out, "examining %s over %s\n", a.redactAndEscape(o.Target), o.Dialer.Transport())
	for _, n := range s.notices {
		d.say(noteMark, "%s", n)
	}
	for i, rev := range probeOrder(o.Dialer.Transport()) {
		start := f.start
		switch {
		case i == 0:
			start = o.FirstStart
		case rev.Era() == spec.Stateless && d.slowest > 0:
			start = engine.DiscoverTimeout(d.slowest)
		}
		if spoken := d.examine(ctx, o.Dialer, client.Options{Revision: rev, StartTimeout: start}, i == 0); !spoken && d.fatal {
			break
		}
	}
	if n := o.RateLimit(); n != "" {
		d.say(noteMark, "%s", n)
	}
	d.conclude()
	return nil
}

// probeOrder returns the revisions that define the transport, in the order in which a server
// is probed: those with a handshake, newest first, and then the stateless one.
func probeOrder(over spec.Transport) []spec.Revision {
	revisions := slices.Concat(spec.NewestFirst(spec.HandshakeRevisions()), spec.StatelessRevisions())
	return slices.DeleteFunc(revisions, func(r spec.Revision) bool { return !over.IsDefinedIn(r) })
}

// reportUnreachable reports a server with which no conversation can be opened.
func (a *app) reportUnreachable(name string, why *engine.UnreachableError) {
	d := &diagnosis{app: a}
	fmt.Fprintf(a.Out, "examining %s\n", a.redactAndEscape(name))
	d.say(failedMark, "%s", why.Reason)
	d.advise(why.Advice)
	if why.Stderr != "" {
		d.quote(why.Stderr)
	}
	d.conclude()
}

// Marks at the beginning of the lines of the report.
const (
	okMark     = "✓"
	failedMark = "✗"
	doubtMark  = "!"
	noteMark   = "·"
)

// diagnosis is what doctor has observed so far.
type diagnosis struct {
	app        *app
	spoken     []string      // revisions that the server speaks
	other      []string      // versions that the server chose instead of the requested revision
	offered    bool          // the server's offer was printed
	fatal      bool          // the failure would happen again in any revision
	slowest    time.Duration // the longest wait for the response to an opening request so far
	needsToken bool          // the server requires a token that the command does not have
	refusal    string        // the last error with which the server refused initialize

	tokenAdvice string // see engine.Options
}

func (d *diagnosis) say(mark, format string, args ...any) {
	fmt.Fprintf(d.app.Out, "%s %s\n", mark, d.app.redactAndEscape(fmt.Sprintf(format, args...)))
}

// advise prints advice, indented below the line that it is about, unless it is empty.
func (d *diagnosis) advise(text string) {
	if text != "" {
		fmt.Fprintf(d.app.Out, "    %s\n", d.app.redactAndEscape(text))
	}
}

// examine holds one conversation in a revision, prints the results, and reports whether the server
// speaks the revision. first is true for the first conversation with the server; only then does
// examine print whether the command was started, and noise on stdout. What the server offers and
// how it ends is printed once, for the first conversation in which the server accepts the opening
// request.
func (d *diagnosis) examine(ctx context.Context, dialer transport.Dialer, o client.Options, first bool) (spoken bool) {
	began := time.Now()
	c, err := client.Open(ctx, dialer, o)
	if err != nil {
		d.say(failedMark, "it can't be started or reached: %v", err)
		d.fatal = true
		return false
	}
	defer c.Close()
	if first && dialer.Transport() == spec.Stdio {
		d.say(okMark, "the command was found and started")
	}
	stop := engine.ReportWaiting("the server's first response", cmp.Or(o.StartTimeout, client.DefaultStartTimeout), d.app.waitingPrinter())
	reply := c.Greet(ctx)
	stop()
	took := time.Since(began)
	if first {
		d.reportNoise(c)
	}
	switch {
	case engine.Echoes(c.Record.From(0)) && !reply.Succeeded():
		d.say(failedMark, "%s", engine.EchoReason)
		d.advise(engine.EchoAdvice)
		d.fatal = true
		return false
	case o.Revision.Era() == spec.Stateless && len(d.spoken)+len(d.other) > 0 && !c.Server().Lists(o.Revision):
		d.say(noteMark, "%s: not spoken", o.Revision)
		return false
	case !reply.Answered():
		d.explainUnanswered(c, dialer.Transport(), reply, o.StartTimeout)
		d.fatal = true
		return false
	case supportsOtherVersions(reply):
		d.say(noteMark, "%s: not spoken; %s gets error %d", o.Revision, o.Revision.OpeningMethod(), spec.CodeUnsupported)
		return false
	case !reply.Succeeded():
		d.reportRefusal(o.Revision, reply)
		return false
	}
	d.slowest = max(d.slowest, took)
	chosen := c.Server().ProtocolVersion
	if chosen != string(o.Revision) && o.Revision.Era() == spec.Stateless {
		d.say(doubtMark, "%s: not spoken; %s", o.Revision, d.app.redactAndEscape(c.Server().DescribeListedVersions()))
		return false
	}
	if chosen != string(o.Revision) {
		if !slices.Contains(d.other, chosen) {
			d.other = append(d.other, chosen)
		}
		d.say(noteMark, "%s: not spoken; the server answers %s", o.Revision, chosen)
	} else {
		d.spoken = append(d.spoken, chosen)
		d.say(okMark, "%s: spoken; the first response took %d ms", o.Revision, took.Milliseconds())
	}
	if took > slowHandshake {
		d.say(doubtMark, "that is slow: clients may give up, and a run starts the server many times")
		d.advise("allow more time with --start-timeout and --timeout; if it builds itself on every start, build it once")
	}
	if o.Revision.Era() == spec.Handshake {
		if err := c.Initialized(ctx); err != nil {
			d.say(failedMark, "mcp-conform could not send initialized: %v", err)
			return false
		}
	}
	if !d.offered {
		d.offered = true
		d.reportOffer(ctx, c)
		d.end(c, dialer.Transport())
	}
	return chosen == string(o.Revision)
}

// reportRefusal reports an error in response to the opening request, but in full only once.
func (d *diagnosis) reportRefusal(rev spec.Revision, reply *client.Reply) {
	if is := string(reply.Message.Member("error")); is != d.refusal {
		d.refusal = is
		d.say(doubtMark, "%s: %s is refused: %s", rev, rev.OpeningMethod(), oneLine(d.app.redact(string(reply.Message.Raw))))
		return
	}
	d.say(noteMark, "%s: %s is refused with the same error", rev, rev.OpeningMethod())
}

// supportsOtherVersions reports whether the response is the error for an unsupported version.
func supportsOtherVersions(r *client.Reply) bool {
	if !r.Answered() {
		return false
	}
	code, ok := r.Message.ErrorCode()
	return ok && spec.Code(code) == spec.CodeUnsupported
}

// reportNoise reports the first output on stdout that is not a message, if there is any.
func (d *diagnosis) reportNoise(c *client.Conversation) {
	for _, e := range c.Record.From(0) {
		if e.Kind != transcript.Received || e.Exchange != 0 || len(e.Messages()) > 0 {
			continue
		}
		d.say(doubtMark, "stdout contains text that is not a message: %s", oneLine(d.app.redact(string(e.Raw))))
		d.advise("only messages may be written there; logs belong on stderr (console.error, log.SetOutput(os.Stderr))")
		return
	}
}

// explainUnanswered reports why the request that opens the conversation got no response, as far as
// that is known.
func (d *diagnosis) explainUnanswered(c *client.Conversation, over spec.Transport, reply *client.Reply, waited time.Duration) {
	if waited <= 0 {
		waited = client.DefaultStartTimeout
	}
	if over != spec.Stdio {
		c.Close() // so that the record is complete
		why := engine.ExplainRefusal(c.Record.From(0), waited)
		why.AdviseToken(d.tokenAdvice)
		d.needsToken = why.NeedsToken
		d.say(failedMark, "%s", why.Reason)
		d.advise(why.Advice)
		if text := strings.TrimSpace(c.Stderr(stderr.Searched)); text != "" {
			d.quote(text)
		}
		return
	}
	opening := c.Options().Revision.OpeningMethod()
	switch {
	case errors.Is(reply.Err, client.ErrUnanswered):
		reason, advice := engine.ExplainSilence(c.Record.From(0), opening, waited, false)
		d.say(failedMark, "%s", reason)
		d.advise(advice)
	case errors.Is(reply.Err, client.ErrEnded):
		c.Close() // so that the record has the exit status
		d.say(failedMark, "the server ended before it answered %s%s", opening, exitText(c))
		d.advise("start it by hand with the same command; --env and --cwd set its environment and folder")
	default:
		d.say(failedMark, "mcp-conform could not send %s: %v", opening, reply.Err)
	}
	d.quoteStderr(c)
}

// exitText returns how the server's process exited, in parentheses, or "" if that is unknown.
func exitText(c *client.Conversation) string {
	for _, e := range c.Record.From(0) {
		if e.Kind == transcript.Exited {
			if e.Detail != "" {
				return " (" + e.Detail + ")"
			}
			return fmt.Sprintf(" (exit status %d)", e.ExitCode)
		}
	}
	return ""
}

// quoteStderr prints the lines of the server's stderr that the method quote selects or, if the
// stderr is empty, a line that says so.
func (d *diagnosis) quoteStderr(c *client.Conversation) {
	text := strings.TrimSpace(c.Stderr(stderr.Searched))
	if text == "" {
		d.advise("it wrote nothing on stderr")
		return
	}
	d.quote(text)
}

// quote prints the lines of stderr that say why the server ended, or the last lines if no line
// says why.
func (d *diagnosis) quote(text string) {
	if cause := stderr.Cause(d.app.redact(text)); cause != nil {
		d.advise("it wrote on stderr:")
		for _, line := range cause {
			d.advise("  " + oneLine(line))
		}
		return
	}
	d.advise("its last lines on stderr:")
	lines := strings.Split(strings.TrimSpace(d.app.redact(text)), "\n")
	for _, line := range lines[max(0, len(lines)-8):] {
		d.advise("  " + oneLine(line))
	}
}

// reportOffer prints the server's name, how many entries each of its lists has, and how many tools
// a run may call by default.
func (d *diagnosis) reportOffer(ctx context.Context, c *client.Conversation) {
	if s := c.Server(); s.Name != "" {
		d.say(okMark, "it calls itself %s %s", s.Name, s.Version)
	} else {
		d.say(doubtMark, "it does not give its name")
	}
	offered := inventory.Take(ctx, c, inventory.Config{Policy: inventory.CallSafe})
	var offers []string
	for _, list := range []struct {
		capability, method, one, more string
		n                             int
	}{
		{"tools", spec.MethodToolsList, "tool", "tools", len(offered.Tools)},
		{"resources", spec.MethodResourcesList, "resource", "resources", len(offered.Resources)},
		{"resources", spec.MethodResourcesTemplates, "resource template", "resource templates", len(offered.Templates)},
		{"prompts", spec.MethodPromptsList, "prompt", "prompts", len(offered.Prompts)},
	} {
		if !offered.Declares(list.capability) {
			continue
		}
		if why := offered.Incomplete[list.method]; why != "" {
			d.say(doubtMark, "%s: %s", list.method, why)
		}
		offers = append(offers, countWithNoun(list.n, list.one, list.more))
	}
	if len(offers) == 0 {
		d.say(doubtMark, "it declares neither tools nor resources nor prompts")
		return
	}
	d.say(okMark, "it offers %s; a run may call %d of the tools", strings.Join(offers, ", "), len(offered.Callable()))
	if len(offered.Tools) > 0 && len(offered.Callable()) == 0 && !offered.CallsAll() {
		d.advise("none declares readOnlyHint: --call-tools all calls them all, tools.call in mcp-conform.yaml selects some")
	}
}

// end closes the conversation. Over stdio, it prints how long the process ran after its stdin was
// closed, or which signal had to end it.
func (d *diagnosis) end(c *client.Conversation, over spec.Transport) {
	began := time.Now()
	c.Close()
	if over != spec.Stdio {
		return
	}
	for _, e := range c.Record.From(0) {
		if e.Kind == transcript.Signalled {
			d.say(doubtMark, "it did not end when its stdin was closed, and was sent SIG%s after %v", e.Detail, time.Since(began).Round(100*time.Millisecond))
			d.advise("exit when stdin ends: clients only close it, and leave other processes running")
			return
		}
	}
	d.say(okMark, "it ended %d ms after its stdin was closed", time.Since(began).Milliseconds())
}

// conclude prints whether the server can be judged, and sets the exit code.
func (d *diagnosis) conclude() {
	switch {
	case len(d.spoken) > 0:
		fmt.Fprintf(d.app.Out, "it can be judged in %s: mcp-conform run, with the same arguments\n", strings.Join(spec.NewestFirst(d.spoken), ", "))
		return
	case len(d.other) > 0:
		fmt.Fprintln(d.app.Out, "it responds, but speaks none of the requested revisions; mcp-conform run reports whether that is permitted")
	case d.needsToken:
		fmt.Fprintln(d.app.Out, "without a token, only its protection can be judged: mcp-conform run, with the same arguments")
	default:
		fmt.Fprintln(d.app.Out, "it cannot be judged as it is")
	}
	d.app.code = ExitUnreachable
}

// oneLine cuts text that is longer than 200 bytes, and adds an ellipsis to it. It keeps line
// breaks: the methods say and advise print a line break as \n, so that the text takes one line.
func oneLine(text string) string {
	const limit = 200
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
