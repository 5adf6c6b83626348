package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/target"
)

// serverFlags say which server to use, how to reach it, how long to wait for it
// and which tools may be called. Every command that talks to a server has them.
type serverFlags struct {
	command        string // how advice names this command; "" for run
	reference      bool
	target         target.Options
	remote         remoteFlags
	started        string // the command of --start
	ready          time.Duration
	timeout, start time.Duration
	startGiven     bool // --start-timeout, its environment variable or its key in the file was given
	callTools      string
	configured     configured
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
	fs.StringVar(&f.remote.upstreamEnv, "upstream-env", "", "with --start: variable in which the server finds the URL of a service that it calls; mcp-conform imitates the service, and checks that the server does not send it the client's token")
	fs.StringVar(&f.remote.upstreamURL, "upstream-url", "", "with --upstream-env: URL of that service, to which mcp-conform forwards the requests [default: it answers {} itself]")
	fs.StringVar(&f.started, "start", "", "command that starts the server of the URL, such as 'npm start'; {port} in it, in --env and in the URL is a free port")
	fs.DurationVar(&f.ready, "ready", target.DefaultReady, "with --start: longest wait for the server to listen")
}

// takeTarget takes the server from the command's arguments, and from --start and --ready if they
// are given.
func (f *serverFlags) takeTarget(c *cobra.Command, args []string) {
	f.target.Args, f.target.Dash = args, c.ArgsLenAtDash()
	if c.Flags().Changed("start") {
		f.target.Start = &f.started
	}
	if c.Flags().Changed("ready") {
		f.target.Ready = &f.ready
	}
}

// replayArgs returns the arguments with which a replay command reaches the same server in the same
// way. If the configuration file names everything, the result is empty but not nil, because nil
// would mean that no command can reach the server in this way.
func (f *serverFlags) replayArgs(t target.Target, policy inventory.Policy) []string {
	words := t.Args()
	if f.reference {
		words = referenceFlags(f.target)
	}
	if f.configured.server && f.configured.plain {
		words = nil // the file names it again
	}
	return append([]string{}, slices.Concat(f.configured.replayFlags(), f.replayFlags(policy), f.remote.replayFlags(), words)...)
}

// replayFlags returns the flags for timeouts and for tool calls whose values differ from the
// defaults. Without these flags, a finding may not recur.
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
			words = append(words, flag.name, formatDuration(flag.given))
		}
	}
	if f.configured.forced && policy != inventory.CallSafe {
		words = append(words, "--call-tools", string(policy))
	}
	return words
}

// hasCredentials reports whether the target has a header Authorization.
func hasCredentials(t target.Target) bool {
	for name := range t.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// formatDuration formats a duration without zero units: 1m, not 1m0s.
func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// waitingPrinter returns a function for Progress.Waiting that prints the first text of each wait on
// stderr. The text "" ends a wait.
func (a *app) waitingPrinter() func(text string) {
	var mu sync.Mutex
	waits := false
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if text != "" && !waits {
			fmt.Fprintln(a.Err, a.redactAndEscape(text))
		}
		waits = text != ""
	}
}

// resolve returns the server that the flags name. The advice in its errors names the command that
// is running.
func (a *app) resolve(f *serverFlags) (target.Target, error) {
	if f.reference {
		if len(f.target.Args) > 0 || f.target.ConfigFile != "" || f.target.ServerName != "" {
			return target.Target{}, usagef("give one of them", "both --reference and a server of your own are named")
		}
		return a.referenceTarget(f.target)
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
