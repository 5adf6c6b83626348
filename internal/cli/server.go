package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/sdk"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
)

// serverFlags say which server to use, how to reach it, how long to wait for it
// and which tools may be called. Every command that talks to a server has them.
type serverFlags struct {
	command        string // the command that hints name; "" for run
	reference      bool
	target         target.Options
	remote         remoteFlags
	started        string
	ready          time.Duration
	timeout, start time.Duration
	startGiven     bool // --start-timeout, its environment variable or its key in the file was given
	callTools      string
	configured     configured

	stop  func()           // ends the server that reach started; nil if there is none
	named string           // the server's name in reports; "" until it is known
	over  spec.Transport   // the transport; "" until it is known
	sdk   func() *sdk.Used // recognises the SDK that the server is built with; nil before the server is known
}

// registerTarget adds the flags that say how to reach a server.
func (f *serverFlags) registerTarget(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.target.Env, "env", nil, "environment variable of the server: K=V, or K to inherit it (repeatable)")
	fs.BoolVar(&f.target.CleanEnv, "clean-env", false, "give the server only the essential environment variables")
	fs.StringVar(&f.target.Cwd, "cwd", "", "folder in which the server is started")
	fs.StringVar(&f.target.ConfigFile, "config", "", "configuration file of a client (.mcp.json, claude_desktop_config.json, mcp.json of Cursor or VS Code), or an mcp-conform.yaml")
	fs.StringVar(&f.target.ServerName, "server", "", "name of the server in the configuration file")
	fs.StringArrayVar(&f.target.Inputs, "input", nil, "value of an input of the configuration file: ID=VALUE (repeatable)")
	fs.StringVar(&f.target.Transport, "transport", "", "transport of a URL: auto (default), http or sse")
	fs.StringArrayVar(&f.target.Headers, "header", nil, "header of every HTTP request: 'Name: value' (repeatable)")
	fs.StringVar(&f.target.BearerEnv, "bearer-env", "", "variable that holds the token for Authorization: Bearer")
	f.remote.registerTLS(fs)
	fs.BoolVar(&f.remote.authServer, "auth-server", false, "with --start: run an authorization server for the server to trust; its URL is in MCP_CONFORM_AUTH_SERVER_URL")
	fs.StringVar(&f.remote.clientID, "client-id", "", "id of a client that gets its own tokens from the server's authorization server (client credentials)")
	fs.StringVar(&f.remote.clientSecretEnv, "client-secret-env", "", "with --client-id: variable that holds the client's secret")
	fs.StringVar(&f.remote.as, "as", "", "judge the server as this user: the name of a login, or of an identity in mcp-conform.yaml; none sends no token")
	fs.StringVar(&f.remote.otherUser, "other-user", "", "a second user, who must not get what belongs to the first")
	fs.StringVar(&f.remote.upstreamEnv, "upstream-env", "", "with --start: variable in which the server finds the URL of a service that it calls; mcp-conform imitates the service, and checks that the server does not send it the client's token")
	fs.StringVar(&f.remote.upstreamURL, "upstream-url", "", "with --upstream-env: URL of that service, to which mcp-conform forwards the requests [default: it answers {} itself]")
	fs.StringVar(&f.started, "start", "", "command that starts the server of the URL, such as 'npm start'; {port} in it, in --env and in the URL is a free port")
	fs.DurationVar(&f.ready, "ready", target.DefaultReady, "with --start: longest wait for the server to listen")
}

// takeTarget takes the server from the command's arguments.
func (f *serverFlags) takeTarget(c *cobra.Command, args []string) {
	f.target.Args, f.target.Dash = args, c.ArgsLenAtDash()
	if c.Flags().Changed("start") {
		f.target.Start = &f.started
	}
	if c.Flags().Changed("ready") {
		f.target.Ready = &f.ready
	}
}

// reach determines how to reach the server, starts it if it has a URL and a
// command, and returns the engine's options and notices for the user. f.end
// stops the server that reach started.
func (a *app) reach(f *serverFlags) (o engine.Options, notices []string, err error) {
	if f.remote.waiting == nil {
		f.remote.waiting = a.waiting()
	}
	f.remote.pacer = exchange.NewPacer()
	f.remote.pacer.Say = f.remote.waiting
	o = engine.Options{Timeout: f.timeout, StartTimeout: f.start, Policy: f.configured.calls, Version: version()}
	notices = f.configured.notices()
	if err := positive(map[string]time.Duration{"timeout": f.timeout, "start-timeout": f.start}); err != nil {
		return o, nil, err
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
	if err := f.remote.checkCredentials(t, authorizes(t)); err != nil {
		return o, nil, err
	}
	if f.remote.authServer {
		if t.Start == nil {
			return o, nil, usagef("add --start COMMAND, or leave it out and give a token with --bearer-env", "--auth-server is for a server that the run starts, which learns the URL of the authorization server from its environment")
		}
		if err := a.startIssuer(&f.remote); err != nil {
			return o, nil, err
		}
		o.Issuer = f.remote.issuer
	}
	if err := a.startUpstream(&f.remote, t); err != nil {
		return o, nil, err
	}
	o.Upstream = f.remote.upstream
	f.named, f.over = o.Target, spec.Stdio
	if t.URL != "" {
		f.over = cmp.Or(t.Transport, spec.StreamableHTTP)
	}
	why := ""
	switch {
	case t.Start != nil:
		o.Dialer, why, f.stop, err = a.started(t, &f.remote, f.start)
	case t.URL == "":
		o.Dialer = stdio.NewDialer(stdio.Command{Argv: t.Argv, Dir: t.Dir, Env: t.Env})
	default:
		o.Dialer, why, err = a.remote(t, &f.remote, f.start)
	}
	if err != nil {
		return o, nil, err
	}
	if o.OtherToken, err = a.otherTokens(&f.remote, f.remote.authorized || authorizes(t)); err != nil {
		return o, nil, err
	}
	if o.Issuer == nil {
		o.Issuer = a.ownIssuer(&f.remote)
	}
	o.TokenAdvice = f.remote.tokenAdvice(authorizes(t))
	notices = append(notices, f.remote.userNotices()...)
	if o.Answered = why != ""; o.Answered {
		notices = append(notices, why)
	}
	o.RateLimit = f.remote.pacer.Notice
	f.over = o.Dialer.Transport()
	f.sdk = func() *sdk.Used {
		if f.reference {
			return nil
		}
		return sdk.Recognise(t.Command())
	}
	o.Redactor = transcript.NewRedactor(a.secrets)
	words := f.replayArgs(t, o.Policy.Policy)
	o.Replay = func(rev spec.Revision, focus ...string) []string {
		argv := []string{"mcp-conform", "run", "--revision", string(rev)}
		for _, id := range focus {
			argv = append(argv, "--focus", id)
		}
		return append(argv, words...)
	}
	return o, append(notices, t.Notices...), nil
}

// end stops the server that reach started.
func (f *serverFlags) end() {
	if f.stop != nil {
		f.stop()
		f.stop = nil
	}
	if f.remote.upstream != nil {
		f.remote.upstream.Close()
		f.remote.upstream = nil
	}
	if f.remote.issuer != nil {
		f.remote.issuer.Close()
		f.remote.issuer = nil
	}
}

// replayArgs returns the arguments with which a replay command reaches the same
// server in the same way.
func (f *serverFlags) replayArgs(t target.Target, policy inventory.Policy) []string {
	words := t.Args()
	if f.reference {
		words = referenceFlags(f.target)
	}
	if f.configured.server && f.configured.plain {
		words = nil // the file names it again
	}
	return slices.Concat(f.configured.replayFlags(), f.replayFlags(policy), f.remote.replayFlags(), words)
}

// replayFlags returns the flags without which a finding may not recur, if their
// values differ from the defaults.
func (f *serverFlags) replayFlags(policy inventory.Policy) []string {
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

// authorizes reports whether the target has a header with credentials.
func authorizes(t target.Target) bool {
	for name := range t.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// short formats a duration without zero units: 1m, not 1m0s.
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

// waiting returns a function that prints a line on stderr for each wait.
func (a *app) waiting() func(text string) {
	var mu sync.Mutex
	waits := false
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if text != "" && !waits {
			fmt.Fprintln(a.Err, a.visible(text))
		}
		waits = text != ""
	}
}

// resolve returns the server to judge.
func (a *app) resolve(f *serverFlags) (target.Target, error) {
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
