// Package target turns what a user gives on the command line into how to
// reach the server: a command with its folder and environment, or a URL. It
// reads the configuration files that users already have for their clients.
// It starts nothing.
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

// Target is how to reach one server. Either Argv or URL is set.
type Target struct {
	Argv []string // the command and its arguments, never through a shell
	Dir  string   // absolute folder in which the command starts
	Env  []string // complete environment of the child, as K=V

	URL     string
	Headers map[string]string // sent with every HTTP request
	// Start is the command that serves the URL; nil where the server runs
	// already. Where the URL says {port}, a free one is picked for each start.
	Start *Start
	// Transport is the HTTP transport that a configuration file names; empty
	// when it names none, so that it has to be probed.
	Transport spec.Transport

	Name    string   // short, for people: the name in a configuration file, else like Display
	Source  string   // where the target was named
	Notices []string // what the user should know of how the target was understood

	flags      []string // the flags that name it again, before Argv or URL
	configured bool     // the flags alone name it
	secrets    *redact.Secrets
}

// Command returns the command that starts the server, and the folder in which it
// starts; none where the server is not started.
func (t *Target) Command() (argv []string, dir string) {
	if t.Start != nil {
		return t.Start.argv, t.Start.dir
	}
	return t.Argv, t.Dir
}

// fetchers are programs that may have to download what they start; those with
// subcommands name the ones that do.
var fetchers = map[string][]string{
	"npx": nil, "pnpx": nil, "bunx": nil, "uvx": nil,
	"npm": {"exec", "x"}, "pnpm": {"dlx"}, "yarn": {"dlx"}, "bun": {"x"}, "uv": {"run", "tool"}, "pipx": {"run"},
	"deno": {"run"}, "go": {"run"}, "docker": {"run"}, "podman": {"run"},
}

// Fetches reports whether the command may have to download, or build, the server
// before it starts it.
func (t *Target) Fetches() bool {
	argv := t.Argv
	if len(argv) > 2 && program(argv[0]) == "cmd" && strings.EqualFold(argv[1], "/c") { // as on Windows npx has to be started
		argv = argv[2:]
	}
	if len(argv) == 0 {
		return false
	}
	subcommands, known := fetchers[program(argv[0])]
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

// program is the name of a program without its folder and what Windows adds.
func program(path string) string {
	name := strings.ToLower(path[strings.LastIndexAny(path, `/\`)+1:])
	for _, extension := range []string{".exe", ".cmd", ".ps1"} {
		name = strings.TrimSuffix(name, extension)
	}
	return name
}

// Options are what the user gave.
type Options struct {
	// Args are the positional arguments, Dash how many of them stand before
	// `--`, or -1 when there was no `--`.
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

	// Secrets learns the secrets among all of this, those of a server that can't
	// be resolved, too. May be nil.
	Secrets *redact.Secrets

	Environ []string               // os.Environ() when nil
	Getwd   func() (string, error) // os.Getwd when nil

	goos string // runtime.GOOS when empty
}

// Resolve says how to reach the server that the options name. Its errors are
// of type *UsageError: the user has to give something else. Whether a command
// can be started is seen only when it is started; Resolve refuses what could
// not work on any machine, or is known to be meant otherwise.
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

// resolver holds what all the ways of naming a server need.
type resolver struct {
	Options
	here    string    // absolute folder that the user is in
	cwd     string    // absolute form of --cwd, or empty
	outer   environ   // the environment that we were started in
	given   []setting // --env
	secrets *redact.Secrets
}

func (r *resolver) resolve() (Target, error) {
	here, err := r.Getwd()
	if err != nil {
		return Target{}, usage("", "the current folder can't be found: "+err.Error(), "change to a folder that exists and try again")
	}
	r.here = here
	r.outer = newEnviron(r.Environ, r.goos)
	r.learn()
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
			return Target{}, usage("", "a server is named twice: on the command line and with --config or --server",
				"give one of them:",
				"  mcp-conform run -- "+quoteAll(r.secrets.Args(r.Args)),
				"  mcp-conform run "+quoteAll(r.configFlags()))
		}
		return r.fromConfig()
	}
	if len(r.Inputs) > 0 {
		return Target{}, usage("", "--input is for the inputs of a configuration file, and none is given",
			"add --config FILE --server NAME, or leave --input out")
	}
	return r.fromArgs()
}

// folder returns the absolute path of a folder that must exist; a relative
// one is taken from base.
func (r *resolver) folder(where, what, path, base string) (string, error) {
	abs := r.absolute(path, base)
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return "", usage(where, what+" names a folder that can't be used: "+quote(path)+" ("+reason(err)+")",
			"name a folder that exists; a relative one is looked up in "+base)
	case !info.IsDir():
		return "", usage(where, what+" names a file, and a folder is needed: "+quote(path),
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

// commonFlags returns the flags that every way of naming a server shares, in
// the form that holds no values of variables.
func (r *resolver) commonFlags() []string {
	var flags []string
	for _, s := range r.given {
		text := s.name
		if whole := s.name + "=" + s.value; strings.Contains(s.value, PortMark) && r.secrets.Arg(whole) == whole {
			text = whole // it is meant for us, and would not be found in the environment
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

// child returns the environment of the server: more is laid over what it
// inherits, and --env over that.
func (r *resolver) child(more ...setting) environ {
	base := r.outer.clone()
	if r.CleanEnv {
		base = r.outer.clean()
	}
	for _, entry := range base.list() { // the server may print what it inherits
		name, value, _ := strings.Cut(entry, "=")
		r.secrets.AddNamed(name, value)
	}
	for _, s := range slices.Concat(more, r.given) {
		base.set(s)
		r.secrets.AddGiven(s.name, s.value)
	}
	return base
}

// learn takes the secrets out of what was typed, before anything of it can be
// part of an error.
func (r *resolver) learn() {
	for _, flag := range r.Env {
		name, value, ok := strings.Cut(flag, "=")
		if !ok {
			value, _ = r.outer.get(name)
		}
		r.secrets.AddGiven(name, value)
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

func blank(s string) bool { return strings.TrimSpace(s) == "" }
