package cli

import (
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/login"
)

// configured is the combination of the configuration file, the environment and
// the flags.
type configured struct {
	off    bool         // --no-config is given
	file   *config.File // nil if there is none
	named  string       // the path that --config gave; "" if the file was found in the folder
	server bool         // the server is the one in the file
	unused []string     // keys in the file that do not apply, because the server is not the one in the file
	plain  bool         // no flag on the command line says how to reach the server
	calls  inventory.Config
	forced bool // --call-tools or its environment variable is given
}

func (f *serverFlags) registerConfig(fs *pflag.FlagSet) {
	fs.BoolVar(&f.configured.off, "no-config", false, "ignore "+config.Name+" in this folder")
}

// configure reads the configuration file, if there is one. Flags that are not on the command line
// get their values from the environment or, if that does not set them, from the file. The server in
// the file is used if the command line names none, or names that server by its URL.
func (a *app) configure(fs *pflag.FlagSet, f *serverFlags) error {
	k := &f.configured
	if err := k.read(f, fs); err != nil {
		return err
	}
	named := f.reference || len(f.target.Args) > 0 || f.target.Dash >= 0 || f.target.ConfigFile != "" || f.target.ServerName != ""
	k.plain = !slices.ContainsFunc(targetFlags(), fs.Changed)
	k.forced = fs.Changed("call-tools")
	if f.reference && !k.forced {
		f.callTools = string(inventory.CallAll) // the reference server's tools are harmless, and 2024-11-05 has no annotation that says so
	}
	if err := a.setFromEnvironment(fs, k); err != nil {
		return err
	}
	if k.file != nil {
		if err := k.setFromFile(fs, f, named); err != nil {
			return err
		}
	}
	f.startGiven = fs.Changed("start-timeout")
	if fs.Changed("start") {
		f.target.Start = &f.started
	}
	if fs.Changed("ready") {
		f.target.Ready = &f.ready
	}
	return k.setPolicy(inventory.Policy(f.callTools))
}

// read finds and reads the configuration file. k.file stays nil if there is none, with --no-config,
// and for the reference server unless --config names a file.
func (k *configured) read(f *serverFlags, fs *pflag.FlagSet) (err error) {
	path := f.target.ConfigFile
	switch {
	case config.HasYAMLExtension(path):
		if k.off {
			return usagef("remove one of them", "--config %q and --no-config contradict each other", path)
		}
		if f.target.ServerName != "" {
			return usagef("leave --server out: the file has at most one server", "--server is for the configuration file of a client, and %q is not one", path)
		}
		f.target.ConfigFile, k.named = "", path
		fs.Lookup("config").Changed = false
	case k.off || f.reference:
		return nil
	default:
		here, err := os.Getwd()
		if err != nil {
			return nil // package target reports this error
		}
		if path, err = config.Find(here); err != nil || path == "" {
			return err
		}
	}
	shown := k.named
	if shown == "" {
		shown = baseName(path)
	}
	k.file, err = config.Read(path, shown)
	return err
}

func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// targetFlags returns the names of the flags that say how to reach the server.
func targetFlags() []string {
	var out []string
	for _, k := range config.Keys().Keys[0].Keys {
		if k.Flag != "" {
			out = append(out, k.Flag)
		}
	}
	return out
}

// setFromEnvironment sets the flags that are not on the command line from their environment
// variables.
func (a *app) setFromEnvironment(fs *pflag.FlagSet, k *configured) error {
	for _, key := range config.KeysWithVariables() {
		value := environmentValue(a.Environ, key.Variable)
		if value == "" || fs.Lookup(key.Flag) == nil || fs.Changed(key.Flag) {
			continue
		}
		if err := fs.Set(key.Flag, value); err != nil {
			return usagef("give it a value that --"+key.Flag+" accepts, or unset it", "the environment variable %s is %q, which is not valid", key.Variable, value)
		}
		k.forced = k.forced || key.Flag == "call-tools"
	}
	return nil
}

// environmentValue returns the value of an environment variable. If it is set twice,
// the last value counts.
func environmentValue(environ []string, name string) string {
	value := ""
	for _, kv := range environ {
		if n, v, _ := strings.Cut(kv, "="); n == name {
			value = v
		}
	}
	return value
}

// setFromFile sets the flags that are not set yet, and the server, from the configuration file.
// named is true if the command line names a server. Settings about the target are ignored unless
// the server is the one in the file. Environment variables and headers of the command line are
// added to those of the file.
func (k *configured) setFromFile(fs *pflag.FlagSet, f *serverFlags, named bool) error {
	k.server = k.file.NamesServer() && (!named || f.namesOnlyURL(k.file.URL))
	f.remote.identities, f.remote.origins = k.file.Identities, map[string]string{}
	env, headers, cwd := f.target.Env, f.target.Headers, fs.Changed("cwd")
	f.target.Env, f.target.Headers = nil, nil
	for _, s := range k.file.Settings {
		many := s.Flag == "env" || s.Flag == "header" // values on the command line are added to those of the file
		if s.Target && !k.server && fs.Lookup(s.Flag) != nil && !fs.Changed(s.Flag) {
			k.unused = append(k.unused, s.Flag)
		}
		if s.Flag == "through" && k.server && fs.Lookup(s.Flag) == nil && slices.Contains(s.Values, "true") {
			return usagef("judge it by mcp-conform run, or name another server", "%s: the target is a gateway, which needs the reference server behind it", s.Where)
		}
		if s.Target && !k.server || fs.Lookup(s.Flag) == nil || fs.Changed(s.Flag) && !many {
			continue
		}
		cwd, f.remote.origins[s.Flag] = cwd || s.Flag == "cwd", s.Flag+" in "+k.file.Shown
		for _, value := range s.Values {
			if s.Path {
				value = k.file.Absolute(value)
			}
			switch s.Flag {
			case "env":
				f.target.Env = append(f.target.Env, value)
			case "header":
				f.target.Headers = append(f.target.Headers, value)
			default:
				if err := fs.Set(s.Flag, value); err != nil {
					return usagef("see "+config.Name+" in docs/configuration.md", "%s: invalid value %q: %v", s.Where, value, err)
				}
			}
		}
	}
	f.target.Env, f.target.Headers = append(f.target.Env, env...), append(f.target.Headers, headers...)
	if !k.server {
		return nil
	}
	if len(k.file.Command) > 0 {
		f.target.Args, f.target.Dash = k.file.Command, 0
	} else {
		f.target.Args, f.target.Dash = []string{k.file.URL}, -1
	}
	started := len(k.file.Command) > 0 || fs.Changed("start")
	if started && !cwd && k.named != "" {
		return fs.Set("cwd", k.file.Folder)
	}
	return nil
}

// namesOnlyURL reports whether the command line names a server by this URL alone. text is the URL.
// It is "" for a server without a URL, and namesOnlyURL then returns false.
func (f *serverFlags) namesOnlyURL(text string) bool {
	if text == "" || f.reference || len(f.target.Args) != 1 || f.target.Dash >= 0 || f.target.ConfigFile != "" || f.target.ServerName != "" {
		return false
	}
	a, err := url.Parse(text)
	b, err2 := url.Parse(f.target.Args[0])
	return text == f.target.Args[0] || err == nil && err2 == nil && login.ServerName(a) == login.ServerName(b) // a URL with the placeholder {port} can't be parsed
}

// setPolicy determines which tools may be called. given is the policy of the flags. If it is from
// the command line or an environment variable (k.forced), it has precedence over the file's policy,
// and tools.call of the file is ignored; with the policy none, the file's fixtures are ignored too.
// Otherwise the file's policy has precedence. An unknown policy is a usage error.
func (k *configured) setPolicy(given inventory.Policy) error {
	if k.file != nil {
		k.calls = k.file.Calls
	}
	if k.forced || k.calls.Policy == "" {
		k.calls.Policy = given
	}
	if k.forced {
		k.calls.Call = nil
		if given == inventory.CallNone {
			k.calls.Fixtures = nil
		}
	}
	if !slices.Contains(inventory.Policies(), k.calls.Policy) {
		return usagef("give safe, all or none", "--call-tools is %q", given)
	}
	return nil
}

// notices returns messages that say which file was read, which tools may be called, and which
// settings of the file are not used. It returns nil without a file.
func (k *configured) notices() []string {
	if k.file == nil {
		return nil
	}
	out := []string{k.file.Shown + " is used: " + k.callableText() + "."}
	if k.file.NamesServer() && !k.server {
		text := "The server in " + k.file.Shown + " is not used, because the command line names one"
		if len(k.unused) > 0 {
			text += "; nor are its " + strings.Join(k.unused, ", ")
		}
		out = append(out, text+".")
	} else if !k.server && len(k.unused) > 0 {
		out = append(out, "In "+k.file.Shown+" the target has no url and no command, so its "+strings.Join(k.unused, ", ")+" are not used.")
	}
	return out
}

// callableText returns a phrase that says which tools may be called.
func (k *configured) callableText() string {
	names := slices.Clone(k.calls.Call)
	for _, f := range k.calls.Fixtures {
		if !slices.Contains(names, f.Tool) {
			names = append(names, f.Tool)
		}
	}
	list := strings.Join(names, ", ")
	text := ""
	switch {
	case k.calls.Policy == inventory.CallAll:
		text = "all tools may be called"
	case k.calls.Policy == inventory.CallNone && list == "":
		text = "no tool may be called"
	case k.calls.Policy == inventory.CallNone:
		text = "these tools may be called and no other: " + list
	case list == "":
		text = "tools that only read may be called"
	default:
		text = "tools that only read may be called, and " + list
	}
	if len(k.calls.Never) > 0 {
		text += "; never " + strings.Join(k.calls.Never, ", ")
	}
	return text
}

// replayFlags returns the arguments that make a replay command use the same configuration. A file
// that was found in the folder needs no argument.
func (k *configured) replayFlags() []string {
	switch {
	case k.named != "":
		return []string{"--config", k.named}
	case k.off:
		return []string{"--no-config"}
	default:
		return nil
	}
}
