package cli

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/agent"
	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/target"
)

// mcpFlags are the flags of mcp-conform mcp.
type mcpFlags struct {
	commands, urls []string
	config, server string
	out            string
}

func (a *app) mcpCommand() *cobra.Command {
	f := &mcpFlags{}
	c := &cobra.Command{
		Use:   "mcp [--allow 'COMMAND ARGUMENT...'] [--allow-url URL] [--config FILE --server NAME]",
		Short: "Serve MCP on stdio, for agents",
		Long: `Serve MCP on stdio: an agent judges servers, reads findings with their fixes, and
checks whether they are fixed. docs/agents.md says how to add it to a client.

  mcp-conform mcp --allow ./my-server
  mcp-conform mcp --allow 'mine=node server.js' --allow-url http://localhost:3000/mcp
  mcp-conform mcp --config .mcp.json --server NAME

Its tools start or reach only the servers that these flags name.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.mcp(c, f) },
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringArrayVar(&f.commands, "allow", nil, "a server that the tools may start: COMMAND ARGUMENTS, or NAME=COMMAND ARGUMENTS (repeatable)")
	fs.StringArrayVar(&f.urls, "allow-url", nil, "a server that the tools may reach: URL, or NAME=URL (repeatable)")
	fs.StringVar(&f.config, "config", "", "with --server: configuration file of a client that has the server")
	fs.StringVar(&f.server, "server", "", "name of a server in the configuration file that the tools may start or reach")
	fs.StringVar(&f.out, "out", "", "folder for reports, which later sessions read again (default: a new temporary folder)")
	return c
}

func (a *app) mcp(c *cobra.Command, f *mcpFlags) error {
	servers, err := a.allowedServers(f)
	if err != nil {
		return err
	}
	self, err := a.Executable()
	if err != nil {
		return harnessError{fmt.Errorf("finding this program to start it again: %w", err)}
	}
	folder, err := reportFolder(f.out)
	if err != nil {
		return err
	}
	defer a.handleSignals("mcp-conform: interrupted: ending the servers; interrupt again to kill them")()
	defer ignoreBrokenPipes()()
	o := agent.Options{Program: self, Version: version(), Environ: a.Environ, Servers: servers, Reports: folder, In: a.In, Out: a.Out}
	if err := agent.Serve(c.Context(), o); err != nil {
		return harnessError{fmt.Errorf("the session ended: %w", err)}
	}
	return nil
}

// reportFolder returns the absolute path of the folder for reports. If out is "", that is a
// temporary folder, which is created only when the first report is written. Otherwise reportFolder
// creates the folder at once.
func reportFolder(out string) (string, error) {
	if out == "" {
		return filepath.Join(os.TempDir(), "mcp-conform-"+rand.Text()), nil
	}
	folder, err := filepath.Abs(out)
	if err == nil {
		err = os.MkdirAll(folder, 0o777)
	}
	if err == nil {
		err = checkFolder(folder)
	}
	if err != nil {
		return "", usagef("name a folder that can be written", "--out %q: %v", out, err)
	}
	return folder, nil
}

// namePrefix matches the name before a command or a URL, with its "=".
var namePrefix = lazyregexp.New(`^([A-Za-z][A-Za-z0-9_.-]*)=`)

// allowedServers returns the servers that the flags name. It checks that each one can be resolved,
// but starts none.
func (a *app) allowedServers(f *mcpFlags) ([]agent.Server, error) {
	var out []agent.Server
	add := func(name string, o target.Options, args ...string) error {
		o.Environ, o.Secrets = a.Environ, a.secrets
		if _, err := target.Resolve(o); err != nil {
			return err
		}
		out = append(out, agent.Server{Name: unusedName(out, name), Args: args})
		return nil
	}
	for _, text := range f.commands {
		name, command := splitName(text)
		words, err := target.SplitCommand("--allow", command)
		if err != nil {
			return nil, err
		}
		if len(words) == 0 {
			return nil, usagef("as in --allow 'node server.js'", "--allow names no command")
		}
		if name == "" {
			name = strings.TrimSuffix(filepath.Base(words[0]), filepath.Ext(words[0]))
		}
		if err := add(name, target.Options{Args: words, Dash: 0}, append([]string{"--"}, words...)...); err != nil {
			return nil, err
		}
	}
	for _, text := range f.urls {
		name, raw := splitName(text)
		u, err := url.Parse(raw)
		if err != nil || u.Host == "" {
			return nil, usagef("as in --allow-url http://localhost:3000/mcp", "--allow-url %q is not a URL", a.redact(text))
		}
		if name == "" {
			name = u.Hostname()
		}
		if err := add(name, target.Options{Args: []string{raw}, Dash: -1}, raw); err != nil {
			return nil, err
		}
	}
	switch {
	case f.config != "" && f.server != "":
		if err := add(f.server, target.Options{ConfigFile: f.config, ServerName: f.server, Dash: -1}, "--config", f.config, "--server", f.server); err != nil {
			return nil, err
		}
	case f.config != "" || f.server != "":
		return nil, usagef("give both", "--config and --server belong together")
	}
	return out, nil
}

// splitName splits a value of --allow or --allow-url into its name, if it has one, and the rest.
func splitName(text string) (name, rest string) {
	if m := namePrefix.FindStringSubmatch(text); m != nil {
		return m[1], text[len(m[0]):]
	}
	return "", text
}

// unsafeInName matches characters that the name of a server may not have, because the name is part
// of file names.
var unsafeInName = lazyregexp.New(`[^A-Za-z0-9_.-]+`)

// unusedName returns a name that no server has, made from name: it replaces the characters that a
// server's name may not have, and appends a number if another server already has the name.
func unusedName(servers []agent.Server, name string) string {
	name = strings.Trim(unsafeInName.ReplaceAllString(name, "-"), "-.")
	if name == "" {
		name = "server"
	}
	taken := map[string]bool{}
	for _, s := range servers {
		taken[s.Name] = true
	}
	unique := name
	for n := 2; taken[unique]; n++ {
		unique = fmt.Sprintf("%s.%d", name, n)
	}
	return unique
}
