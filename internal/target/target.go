// Package target turns the user's command line into a description of how to reach
// the server: a command with its folder and environment, or a URL. It reads the
// configuration files that users already have for their clients. It starts no
// server.
package target

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// A Target is how to reach one server. Either Argv or URL is set.
type Target struct {
	Argv []string // the command and its arguments; no shell is involved
	Dir  string   // the absolute path of the folder in which the command starts
	Env  []string // the complete environment of the command, as K=V

	URL     string
	Headers map[string]string // sent with every HTTP request
	// Start is the command that starts the server at the URL; nil if the server already runs. If
	// the URL contains {port}, a free port replaces it at each start.
	Start *Start
	// Transport is the HTTP transport that --transport or a configuration file names. If it is
	// empty, the transport has to be probed.
	Transport spec.Transport

	Name    string   // the name in the configuration file, else the result of Display
	Source  string   // where the target was named, such as command line
	Notices []string // what the user should know about how the target was interpreted

	flags      []string // the flags that name the target again, before Argv or URL
	configured bool     // flags alone name the target
	secrets    *redact.Secrets
}

// Command returns the command that starts the server, and the folder in which it starts;
// both are empty if mcp-conform does not start the server.
func (t *Target) Command() (argv []string, dir string) {
	if t.Start != nil {
		return t.Start.argv, t.Start.dir
	}
	return t.Argv, t.Dir
}

// fetchers has the programs that may download what they start, each with the subcommands that do
// so; nil means that the program may do so with any arguments.
var fetchers = map[string][]string{
	"npx": nil, "pnpx": nil, "bunx": nil, "uvx": nil,
	"npm": {"exec", "x"}, "pnpm": {"dlx"}, "yarn": {"dlx"}, "bun": {"x"}, "uv": {"run", "tool"}, "pipx": {"run"},
	"deno": {"run"}, "go": {"run"}, "docker": {"run"}, "podman": {"run"},
}

// MayDownload reports whether the command of a stdio server may download or build the server before
// it starts.
func (t *Target) MayDownload() bool {
	argv := t.Argv
	if len(argv) > 2 && programName(argv[0]) == "cmd" && strings.EqualFold(argv[1], "/c") { // as npx is started on Windows
		argv = argv[2:]
	}
	if len(argv) == 0 {
		return false
	}
	subcommands, known := fetchers[programName(argv[0])]
	if !known || subcommands == nil {
		return known
	}
	for _, arg := range argv[1:] {
		if !strings.HasPrefix(arg, "-") {
			return slices.Contains(subcommands, arg)
		}
	}
	return false
}

// programName returns the name of a program in lower case, without its folder and Windows
// extension.
func programName(path string) string {
	name := strings.ToLower(path[strings.LastIndexAny(path, `/\`)+1:])
	for _, extension := range []string{".exe", ".cmd", ".ps1"} {
		name = strings.TrimSuffix(name, extension)
	}
	return name
}

// Options holds what the user specified on the command line.
type Options struct {
	// Args are the positional arguments. Dash is how many of them precede the argument --,
	// or -1 if there is no such argument.
	Args []string
	Dash int

	Env      []string // each --env: K=V, or K alone to take it from Environ
	CleanEnv bool
	Cwd      string // --cwd, empty when not given

	Headers   []string // each --header: Name: value
	BearerEnv string   // --bearer-env: the variable that holds the token
	Transport string   // --transport: auto, http or sse; empty when not given

	Start *string        // --start, nil when not given
	Ready *time.Duration // --ready, nil when not given

	ConfigFile string   // --config, empty when not given
	ServerName string   // --server, empty when not given
	Inputs     []string // each --input: ID=VALUE, or ID alone

	// Secrets collects the secrets among the options, even if Resolve fails. It may be nil.
	Secrets *redact.Secrets

	Environ []string               // os.Environ() if nil
	Getwd   func() (string, error) // os.Getwd if nil

	goos string // runtime.GOOS if empty
}

// Resolve returns how to reach the server that the options name. Its errors are of type
// *UsageError, because the user has to change the command line. A command that Resolve accepts may
// still fail to start, because Resolve rejects only commands that can't work on any machine, or
// that result from a known misunderstanding.
func Resolve(o Options) (Target, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Getwd == nil {
		o.Getwd = os.Getwd
	}
	if o.goos == "" {
		o.goos = runtime.GOOS
	}
	if o.Secrets == nil {
		o.Secrets = &redact.Secrets{}
	}
	r := &resolver{Options: o, secrets: o.Secrets}
	t, err := r.resolve()
	if err != nil {
		return Target{}, err
	}
	if t.Name == "" {
		t.Name = t.Display()
	}
	return t, nil
}

// A resolver holds what is common to all ways of naming a server.
type resolver struct {
	Options
	here    string    // the absolute path of the current folder
	cwd     string    // the absolute form of --cwd, or empty
	outer   environ   // the environment of this program
	given   []setting // --env
	secrets *redact.Secrets
}

func (r *resolver) resolve() (Target, error) {
	here, err := r.Getwd()
	if err != nil {
		return Target{}, newUsageError("", "the current folder can't be found: "+err.Error(), "change to a folder that exists and try again")
	}
	r.here = here
	r.outer = newEnviron(r.Environ, r.goos)
	r.recordSecrets()
	if r.given, err = parseEnvFlags(r.Env, r.outer); err != nil {
		return Target{}, err
	}
	if r.Cwd != "" {
		if r.cwd, err = r.folder("", "--cwd", r.Cwd, here); err != nil {
			return Target{}, err
		}
	}
	if r.ConfigFile != "" || r.ServerName != "" {
		if len(r.Args) > 0 {
			return Target{}, newUsageError("", "a server is named twice: on the command line and with --config or --server",
				"give one of them:",
				"  mcp-conform run -- "+quoteAll(r.secrets.RedactArgs(r.Args)),
				"  mcp-conform run "+quoteAll(r.configFlags()))
		}
		return r.fromConfig()
	}
	if len(r.Inputs) > 0 {
		return Target{}, newUsageError("", "--input is for the inputs of a configuration file, but none is given",
			"add --config FILE --server NAME, or leave --input out")
	}
	return r.fromArgs()
}

// folder returns the absolute path of a folder, which must exist; a relative path is resolved
// against base. The arguments where and what are the position and the name of the flag or field,
// for errors.
func (r *resolver) folder(where, what, path, base string) (string, error) {
	abs := r.absolute(path, base)
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return "", newUsageError(where, what+" names a folder that can't be used: "+quote(path)+" ("+messageWithoutPath(err)+")",
			"name a folder that exists; a relative one is looked up in "+base)
	case !info.IsDir():
		return "", newUsageError(where, what+" names a file, but must name a folder: "+quote(path),
			"name the folder in which the server should start")
	}
	return abs, nil
}

func (r *resolver) absolute(path, base string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// commonFlags returns the flags that all ways of naming a server share. Of an --env flag it returns
// only the name of the variable, because the command takes the value from the user's environment.
// That environment has no values with PortMark, the placeholder of a port, so commonFlags returns
// such a value as well, unless it is secret.
func (r *resolver) commonFlags() []string {
	var flags []string
	for _, s := range r.given {
		text := s.name
		if whole := s.name + "=" + s.value; strings.Contains(s.value, PortMark) && r.secrets.RedactArg(whole) == whole {
			text = whole // the environment does not have a value with PortMark
		}
		flags = append(flags, "--env", text)
	}
	if r.CleanEnv {
		flags = append(flags, "--clean-env")
	}
	if r.Cwd != "" {
		flags = append(flags, "--cwd", r.Cwd)
	}
	return flags
}

// childEnviron returns the server's environment: the inherited variables, overridden by
// those in more, and both overridden by --env. It records the secrets among their values.
func (r *resolver) childEnviron(more ...setting) environ {
	base := r.outer.clone()
	if r.CleanEnv {
		base = r.outer.onlyEssential()
	}
	for _, entry := range base.list() { // the server may print what it inherits
		name, value, _ := strings.Cut(entry, "=")
		r.secrets.AddNamed(name, value)
	}
	for _, s := range slices.Concat(more, r.given) {
		base.set(s)
		AddVariable(r.secrets, s.name, s.value)
	}
	return base
}

// recordSecrets records the secrets of the command line before any of it can appear in an
// error.
func (r *resolver) recordSecrets() {
	for _, flag := range r.Env {
		name, value, ok := strings.Cut(flag, "=")
		if !ok {
			value, _ = r.outer.get(name)
		}
		AddVariable(r.secrets, name, value)
	}
	for _, flag := range r.Headers {
		name, value, _ := strings.Cut(flag, ":")
		r.secrets.AddGiven(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if token, ok := r.outer.get(r.BearerEnv); ok && r.BearerEnv != "" {
		r.secrets.AddNamed("token", token)
	}
	r.secrets.AddArgs(r.Args...)
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
