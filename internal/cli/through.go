package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/gateway"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// The placeholders for the reference server in the command line of a gateway.
const (
	upstreamMark        = "{upstream}"         // its URL
	upstreamCommandMark = "{upstream-command}" // a command that serves it over stdio
)

// throughFlags say that the target is a gateway in front of the reference server.
type throughFlags struct {
	on       bool
	listen   string   // the address of the reference server; "" for any
	expected []string // changes that the user expects

	upstream *gateway.Upstream // nil before it listens
	command  []string          // the command that serves the upstream over stdio
}

// registerUpstream adds the flags that say how a gateway reaches the reference server.
func (f *throughFlags) registerUpstream(fs *pflag.FlagSet) {
	fs.BoolVar(&f.on, "through", false, "judge a gateway, in front of the reference server: in the gateway's command, "+upstreamMark+" becomes that server's URL, and "+upstreamCommandMark+" a command that starts it")
	fs.StringVar(&f.listen, "upstream-listen", "", "with --through: HOST:PORT for the reference server to listen at, if the gateway is configured to reach it there")
}

// register adds all flags about a gateway.
func (f *throughFlags) register(fs *pflag.FlagSet) {
	f.registerUpstream(fs)
	fs.StringSliceVar(&f.expected, "expect-change", nil, "with --through: report these intended changes as notes, not as warnings: "+strings.Join(gateway.Names(), ", "))
}

// check returns a usage error for flags that can't be combined.
func (f *throughFlags) check(reference bool) error {
	switch {
	case !f.on && (f.listen != "" || len(f.expected) > 0):
		return usagef("add --through, or leave them out", "--upstream-listen and --expect-change are for a gateway")
	case f.on && reference:
		return usagef("name the gateway, as in mcp-conform run --through --start 'my-gateway --port {port} "+upstreamMark+"' http://127.0.0.1:{port}/mcp",
			"--reference names no gateway")
	}
	return nil
}

// allowCalls sets the default of --call-tools for a gateway: all tools, because they are those of
// the reference server.
func (f *throughFlags) allowCalls(fs *pflag.FlagSet, server *serverFlags) {
	if f.on && !fs.Changed("call-tools") {
		server.callTools = string(inventory.CallAll)
	}
}

// checkThrough returns a usage error for flags of a run that can't be combined.
func (f *runFlags) checkThrough() error {
	t := &f.through
	if err := t.check(f.reference); err != nil || !t.on {
		return err
	}
	if f.watch.on {
		return usagef("remove one of them", "--through and --watch can't be combined")
	}
	for _, name := range t.expected {
		if !slices.Contains(gateway.Names(), name) {
			return usagef("give one of "+strings.Join(gateway.Names(), ", "), "--expect-change %q: nothing of this name is compared", name)
		}
	}
	return nil
}

// startGatewayUpstream starts, with --through, the reference server as the upstream of the gateway
// that f names. It replaces the placeholders in the gateway's command, arguments and environment
// with the address of the reference server.
func (a *app) startGatewayUpstream(t *throughFlags, f *serverFlags) error {
	if !t.on {
		return nil
	}
	self, err := a.Executable()
	if err != nil {
		return harnessError{fmt.Errorf("finding this program to start its reference server: %w", err)}
	}
	address := t.listen
	if address == "" {
		address = "127.0.0.1:0"
	}
	if t.upstream, err = gateway.Listen(a.ctx, address); err != nil {
		return usagef("give a free HOST:PORT", "the reference server can't listen at --upstream-listen %s: %v", address, err)
	}
	t.command = []string{self, "serve", "--connect", t.upstream.Addr}
	marked := false
	replace := func(text string) string {
		marked = marked || strings.Contains(text, upstreamMark) || strings.Contains(text, upstreamCommandMark)
		return strings.NewReplacer(upstreamMark, t.upstream.URL.String(), upstreamCommandMark, t.commandText()).Replace(text)
	}
	var args []string
	for i, arg := range f.target.Args {
		if arg == upstreamCommandMark && f.target.Dash >= 0 && i >= f.target.Dash {
			marked = true
			args = append(args, t.command...)
			continue
		}
		args = append(args, replace(arg))
	}
	f.target.Args = args
	if f.target.Start != nil {
		text := replace(*f.target.Start)
		f.target.Start = &text
	}
	for i := range f.target.Env {
		f.target.Env[i] = replace(f.target.Env[i])
	}
	if !marked && t.listen == "" {
		return usagef("write "+upstreamMark+" where the gateway's command takes the URL of the server, or "+upstreamCommandMark+" where it takes a command; for a gateway that runs already: --upstream-listen HOST:PORT",
			"--through: nothing tells the gateway where the reference server is")
	}
	return nil
}

// commandText returns the command that serves the upstream, quoted for a shell.
func (f *throughFlags) commandText() string {
	words := slices.Clone(f.command)
	if strings.ContainsAny(words[0], " '\"$\\") {
		words[0] = "'" + strings.ReplaceAll(words[0], "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// withPlaceholders returns text as the user gave it: with the placeholders instead of the
// upstream's address and command.
func (f *throughFlags) withPlaceholders(text string) string {
	if f.upstream == nil {
		return text
	}
	return strings.NewReplacer(f.upstream.URL.String(), upstreamMark, f.commandText(), upstreamCommandMark, f.upstream.Addr, "{upstream}").Replace(text)
}

// runArgs returns the flags that name the changes that the user expects of the gateway.
func (f *throughFlags) runArgs() (words []string) {
	for _, name := range f.expected {
		words = append(words, "--expect-change", name)
	}
	return words
}

// replayArgs returns the arguments with which a command reaches the gateway: args, with the flags
// and placeholders of --through.
func (f *throughFlags) replayArgs(args []string) []string {
	if !f.on {
		return args
	}
	out := []string{"--through"}
	if f.listen != "" {
		out = append(out, "--upstream-listen", f.listen)
	}
	for rest := args; len(rest) > 0; {
		if n := len(f.command); len(rest) >= n && slices.Equal(rest[:n], f.command) {
			out, rest = append(out, upstreamCommandMark), rest[n:]
			continue
		}
		out, rest = append(out, f.withPlaceholders(rest[0])), rest[1:]
	}
	return out
}

// explain extends the reason of an UnreachableError if the gateway has sent nothing to the
// upstream. It returns other errors unchanged.
func (f *throughFlags) explain(err error) error {
	var unreachable *engine.UnreachableError
	if f.upstream != nil && f.upstream.CountArrived() == 0 && errors.As(err, &unreachable) {
		unreachable.Reason += "; the gateway sent nothing to the reference server at " + f.upstream.URL.String()
	}
	return err
}

// end stops the upstream, if it listens.
func (f *throughFlags) end() {
	if f.upstream != nil {
		f.upstream.Close()
		f.upstream = nil
	}
}

// addGatewayComparison judges the reference server without the gateway, and adds the comparison of
// both runs to the report. It does nothing without --through, or if ctx has already ended. The
// report becomes incomplete if the gateway never reached the upstream, or if ctx ends during the
// comparison.
func (a *app) addGatewayComparison(ctx context.Context, f *runFlags, o engine.Options, report *verdict.Report, doing func(string)) error {
	t := &f.through
	if !t.on {
		return nil
	}
	defer func() { report.Stats.Took = time.Since(report.Stats.Started) }()
	if ctx.Err() != nil {
		return nil // the report has the reason why the run ended
	}
	if t.upstream.CountArrived() == 0 {
		report.Incomplete = cmp.Or(report.Incomplete, "the gateway sent nothing to the reference server at "+t.upstream.URL.String())
		return nil
	}
	direct, stop, err := a.directDialer(ctx, o.Dialer.Transport())
	if err != nil {
		return err
	}
	defer stop()
	doing("judging the reference server without the gateway")
	without := o
	without.Dialer, without.Progress, without.Tree, without.Record, without.Revisions = direct, nil, nil, nil, report.Revisions
	without.Issuer, without.Upstream, without.OtherToken, without.RateLimit = nil, nil, nil, nil
	plain, err := engine.Run(ctx, without)
	switch {
	case ctx.Err() != nil:
		report.Incomplete = cmp.Or(report.Incomplete, "the comparison with the server alone: "+context.Cause(ctx).Error())
		return nil
	case err != nil:
		return fmt.Errorf("judging the reference server without the gateway: %w", err)
	}
	through, end := o.Dialer, func() {}
	if s, ok := through.(transport.Sharer); ok && !s.IsLimitedToOne() { // the run may have left the shared server in any state
		through, end = s.FreshDialer()
	}
	defer end()
	alone, err := gateway.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer alone.Close()
	report.Gateway = gateway.Compare(ctx, gateway.Options{
		Direct: gateway.Route{Upstream: alone, Dialer: streamablehttp.NewDialer(alone.URL, exchange.Reach{})}, Through: gateway.Route{Upstream: t.upstream, Dialer: through},
		Revision: comparedRevision(report.Revisions), Timeout: f.timeout, StartTimeout: f.start, Expected: t.expected, Say: doing,
	})
	if ctx.Err() != nil {
		report.Incomplete = cmp.Or(report.Incomplete, "the comparison with the server alone: "+context.Cause(ctx).Error())
	}
	report.Gateway.Upstream = upstreamMark
	if t.listen != "" {
		report.Gateway.Upstream = t.upstream.URL.String()
	}
	report.Gateway.Lost = verdict.LostRequirements(plain, report)
	report.Server.Name = "the gateway in front of " + report.Server.Name
	return nil
}

// comparedRevision returns the newest handshake revision, because the comparison needs sessions. If
// there is no handshake revision, it returns the newest revision. revisions are sorted, newest
// first.
func comparedRevision(revisions []spec.Revision) spec.Revision {
	for _, r := range revisions {
		if r.Era() == spec.Handshake {
			return r
		}
	}
	return revisions[0]
}

// directDialer returns a dialer for a reference server over the transport, and a function that
// stops it.
func (a *app) directDialer(ctx context.Context, over spec.Transport) (transport.Dialer, func(), error) {
	if over == spec.Stdio {
		t, err := a.referenceTarget(target.Options{})
		return stdio.NewDialer(stdio.Command{Argv: t.Argv, Dir: t.Dir, Env: t.Env}), func() {}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	server, err := refserver.Listen(ctx, "127.0.0.1:0", over, refserver.Options{})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	stop := func() { server.Shutdown(ctx); cancel() }
	if over == spec.SSE {
		return sse.NewDialer(server.URL, exchange.Reach{}), stop, nil
	}
	return streamablehttp.NewDialer(server.URL, exchange.Reach{}), stop, nil
}

// relayStdio copies stdin to a TCP connection to the address, and the connection to stdout.
func (a *app) relayStdio(address string) error {
	c, err := (&net.Dialer{}).DialContext(a.ctx, "tcp", address)
	if err != nil {
		return usagef("--connect works only in the commands that run --through starts", "--connect: %v", err)
	}
	defer c.Close()
	go func() {
		_, _ = io.Copy(c, a.In)
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	}()
	if _, err = io.Copy(a.wire, c); errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
