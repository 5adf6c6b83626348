package target

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

// fromArgs returns the target that the positional arguments name.
func (r *resolver) fromArgs() (Target, error) {
	args := r.Args
	if r.Dash > 0 && r.Dash <= len(args) {
		return Target{}, newUsageError("", "there are arguments before --: "+quoteAll(r.secrets.RedactArgs(args[:r.Dash])),
			"put the whole command of the server after it:",
			"  mcp-conform run -- "+quoteAll(r.secrets.RedactArgs(args)))
	}
	if len(args) == 0 || isBlank(args[0]) {
		return Target{}, r.missingCommandError()
	}
	switch {
	case strings.Contains(args[0], "://") && len(args) == 1:
		return r.urlTarget(args[0])
	case strings.Contains(args[0], "://"):
		return Target{}, newUsageError("", "a URL takes no arguments, but some follow it: "+quoteAll(r.secrets.RedactArgs(args[1:])),
			"leave the rest out:",
			"  mcp-conform run "+quoteAll(r.secrets.RedactArgs(args[:1])))
	case r.Dash == 0:
		return r.commandTarget(args)
	case len(args) > 1:
		return Target{}, newUsageError("", "the command of the server has arguments, but there is no -- before it",
			"put -- before the command, so that its flags are not taken for ours:",
			"  mcp-conform run -- "+quoteAll(r.secrets.RedactArgs(args)))
	}
	return r.fromSingleArg(args[0])
}

// missingCommandError returns the error for a missing or empty command. It distinguishes --start
// without a URL, an empty command with arguments, and nothing at all.
func (r *resolver) missingCommandError() *UsageError {
	if r.Start != nil && len(r.Args) == 0 {
		return newUsageError("", "--start starts a server, but no URL says where it listens", "add the URL:", startExample)
	}
	for _, arg := range r.Args {
		if !isBlank(arg) {
			return newUsageError("", "the command of the server is empty, but it has arguments: "+quoteAll(r.secrets.RedactArgs(r.Args)),
				"check whether the variable that should hold the command is empty; for example:",
				"  mcp-conform run -- npx -y some-server --flag")
		}
	}
	return noTargetError()
}

// hostAndPort matches the beginning of a URL without a scheme.
var hostAndPort = lazyregexp.New(`^(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}(/|$)`)

// fromSingleArg resolves a single argument that is not a URL and was given without --: a path,
// or the name of a program in PATH.
func (r *resolver) fromSingleArg(arg string) (Target, error) {
	dir := r.dir()
	info, err := os.Stat(r.absolute(arg, dir))
	exists := err == nil
	switch {
	case exists && info.Mode().IsRegular() && strings.EqualFold(filepath.Ext(arg), ".json"):
		return Target{}, newUsageError("", quote(arg)+" is a JSON file, not a command",
			"to judge a server that a configuration file names:",
			"  mcp-conform run --config "+quoteAll([]string{arg})+" --server NAME")
	case !exists && len(strings.Fields(arg)) > 1:
		return Target{}, newUsageError("", "there is no file "+quote(r.secrets.RedactArg(arg))+", and commands are not split at spaces",
			"put -- before the command and leave the quotes out:",
			"  mcp-conform run -- "+quoteAll(r.secrets.RedactArgs(strings.Fields(arg))))
	case !exists && hostAndPort.MatchString(arg):
		return Target{}, newUsageError("", "there is no file "+quote(r.secrets.RedactArg(arg))+"; it looks like the address of a server",
			"write the whole URL:",
			"  mcp-conform run "+quoteAll([]string{"http://" + r.secrets.RedactArg(arg)}))
	case !exists && strings.HasPrefix(arg, "@") && strings.Contains(arg, "/"):
		return Target{}, newUsageError("", "there is no file "+quote(arg)+"; it looks like the name of an npm package",
			"let npx start it:",
			"  mcp-conform run -- npx -y "+quoteAll([]string{arg}))
	}
	return r.commandTarget([]string{arg})
}

// commandTarget returns the target for a complete argv, which it does not modify.
func (r *resolver) commandTarget(argv []string) (Target, error) {
	if err := r.rejectURLFlags(); err != nil {
		return Target{}, err
	}
	if strings.HasPrefix(argv[0], "-") {
		return Target{}, newUsageError("", "the command of the server is missing: what follows -- begins with the flag "+quote(r.secrets.RedactArg(argv[0])),
			"name the command first (or check whether the variable that should hold it is empty):",
			"  mcp-conform run -- some-server "+quoteAll(r.secrets.RedactArgs(argv)))
	}
	dir := r.dir()
	env := r.childEnviron()
	switch p := r.startProblem(argv[0], dir, &env); {
	case p == nil:
	case p.instead == nil:
		return Target{}, newUsageError("", p.what, "name the program in it, or what runs it:", "  mcp-conform run -- node ./my-server/index.js")
	default:
		return Target{}, newUsageError("", p.what, "write:",
			"  mcp-conform run -- "+quoteAll(slices.Concat(p.instead, r.secrets.RedactArgs(argv)[1:])))
	}
	if err := r.checkCommandInCwd(argv[0]); err != nil {
		return Target{}, err
	}
	r.secrets.AddArgs(argv...)
	t := Target{
		Argv:   slices.Clone(argv),
		Dir:    dir,
		Env:    env.list(),
		Source: "command line",
		flags:  r.commonFlags(),
	}
	t.secrets = r.secrets
	return t, nil
}

func (r *resolver) dir() string {
	if r.cwd != "" {
		return r.cwd
	}
	return r.here
}

// checkCommandInCwd returns an error if name is a relative path that is missing in --cwd but exists
// in the current folder, where the user's shell probably completed it.
func (r *resolver) checkCommandInCwd(name string) error {
	if r.Cwd == "" || filepath.IsAbs(name) || !strings.ContainsAny(name, `/\`) {
		return nil
	}
	if _, err := os.Stat(r.absolute(name, r.cwd)); err == nil {
		return nil
	}
	full := r.absolute(name, r.here)
	if _, err := os.Stat(full); err != nil {
		return nil
	}
	return newUsageError("", quote(name)+" is in the current folder, not in the one that --cwd names ("+r.Cwd+")",
		"a relative command is looked up in --cwd, where the server starts; give the full path: "+quoteAll([]string{full}))
}

// urlTarget returns the target for a URL that was given on the command line.
func (r *resolver) urlTarget(raw string) (Target, error) {
	if err := r.checkURL("", raw); err != nil {
		return Target{}, err
	}
	flags := r.commonFlags()
	if len(flags) > 0 && r.Start == nil {
		return Target{}, newUsageError("", flags[0]+" is for a server that is started as a command, and "+r.secrets.RedactArg(raw)+" is reached by its URL",
			"leave "+flags[0]+" out, or let the server be started with --start")
	}
	r.secrets.AddArgs(raw)
	return r.completeURLTarget("", Target{URL: raw, Source: "command line", flags: flags})
}

func (r *resolver) checkURL(where, raw string) error {
	shown := quote(r.secrets.RedactArg(raw))
	u, err := ParseURL(raw)
	switch {
	case err != nil:
		return newUsageError(where, shown+" is not a URL that can be read",
			"give one like https://example.com/mcp")
	case !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https"):
		return newUsageError(where, shown+" has the scheme "+quote(u.Scheme)+", but servers are reached over http or https",
			"give a URL like https://example.com/mcp, or the command of a stdio server")
	case u.Hostname() == "":
		return newUsageError(where, shown+" names no host",
			"give a URL like http://localhost:3000/mcp")
	}
	return nil
}

// A problem describes why a command can't work, and which command would.
type problem struct {
	what    string
	instead []string // replaces argv[0]; nil if it can't be guessed
}

// runners maps extensions of files that rarely have execute permission to the commands that run
// such files.
var runners = map[string][]string{
	".js": {"node"}, ".mjs": {"node"}, ".cjs": {"node"},
	".ts": {"npx", "tsx"}, ".mts": {"npx", "tsx"}, ".cts": {"npx", "tsx"},
	".py": {"python3"}, ".rb": {"ruby"}, ".php": {"php"}, ".sh": {"sh"},
	".jar": {"java", "-jar"}, ".dll": {"dotnet"},
}

// startProblem returns why a command can't be started as written, or nil. It recognises a folder, a
// file of dir that is named without a slash and is not in PATH, and a script that the system can't
// start: one without execute permission or #! line, or any script on Windows. Other problems are
// reported when the command is started.
func (r *resolver) startProblem(name, dir string, env *environ) *problem {
	path := r.absolute(name, dir)
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	bare := !strings.ContainsAny(name, `/\`)
	switch {
	case bare && (env.isInPath(name) || !info.Mode().IsRegular()):
		return nil
	case info.IsDir():
		return &problem{what: quote(name) + " is a folder, not a command"}
	case !info.Mode().IsRegular():
		return nil
	}
	runner, script := runners[strings.ToLower(filepath.Ext(name))]
	if r.goos == "windows" && script && runner[0] == "python3" {
		runner = []string{"python"}
	}
	instead := append(slices.Clone(runner), name)
	switch {
	case bare && !script && r.goos == "windows":
		return nil // on Windows, PATHEXT decides what is executable
	case bare && !script:
		return &problem{quote(name) + " is in the folder, but a command without a slash is looked up in PATH", []string{"./" + name}}
	case bare:
		return &problem{quote(name) + " is a script in the folder, but a command without a slash is looked up in PATH", instead}
	case !script:
		return nil
	case r.goos == "windows":
		return &problem{quote(name) + " is a script, which Windows does not start by itself", instead}
	case info.Mode().Perm()&0o111 == 0:
		return &problem{quote(name) + " is not executable", instead}
	case !hasShebang(path):
		return &problem{quote(name) + " is a script whose first line does not say what runs it (#!)", instead}
	}
	return nil
}

// hasShebang reports whether the file begins with #!. It returns true if the file can't be opened,
// because starting the file then fails with an error that has the details.
func hasShebang(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }() // opened for reading only
	start := make([]byte, 2)
	if _, err := io.ReadFull(f, start); err != nil {
		return false
	}
	return bytes.Equal(start, []byte("#!"))
}
