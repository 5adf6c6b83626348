package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-conform/mcp-conform/internal/target"
)

// registerTarget adds the flags that say how a server is reached.
func (f *runFlags) registerTarget(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.target.Env, "env", nil, "environment of the server: K=V, or K to pass it on (repeatable)")
	fs.BoolVar(&f.target.CleanEnv, "clean-env", false, "pass on nothing of our own environment but the essentials")
	fs.StringVar(&f.target.Cwd, "cwd", "", "folder in which the server is started")
	fs.StringVar(&f.target.ConfigFile, "config", "", "a configuration file: a client's (.mcp.json, claude_desktop_config.json, mcp.json of Cursor or VS Code), or an mcp-conform.yaml")
	fs.StringVar(&f.target.ServerName, "server", "", "name of the server in the configuration file")
	fs.StringArrayVar(&f.target.Inputs, "input", nil, "value of an input of the configuration file: ID=VALUE (repeatable)")
	fs.StringVar(&f.target.Transport, "transport", "", "transport of a URL: auto (default), http or sse")
	fs.StringArrayVar(&f.target.Headers, "header", nil, "header of every HTTP request: 'Name: value' (repeatable)")
	fs.StringVar(&f.target.BearerEnv, "bearer-env", "", "variable that holds the token for Authorization: Bearer")
	fs.StringVar(&f.remote.caFile, "ca-file", "", "file of PEM certificates to trust beside the system's own")
	fs.BoolVar(&f.remote.insecure, "insecure", false, "trust any certificate")
	fs.StringVar(&f.started, "start", "", "command that starts the server of the URL, as 'npm start'; {port} in it, in --env and in the URL is a free port")
	fs.DurationVar(&f.ready, "ready", target.DefaultReady, "with --start: wait for the server to listen")
}

// takeTarget takes the server that the arguments of the command name.
func (f *runFlags) takeTarget(c *cobra.Command, args []string) {
	f.target.Args, f.target.Dash = args, c.ArgsLenAtDash()
	if c.Flags().Changed("start") {
		f.target.Start = &f.started
	}
	if c.Flags().Changed("ready") {
		f.target.Ready = &f.ready
	}
}
