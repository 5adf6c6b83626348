package target

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// httpTypes are the names that clients use for the HTTP transports.
var httpTypes = map[string]spec.Transport{
	"http": spec.StreamableHTTP, "streamable-http": spec.StreamableHTTP,
	"streamableHttp": spec.StreamableHTTP, "streamable_http": spec.StreamableHTTP,
	"sse": spec.SSE,
}

// entryTarget turns one entry of a file into a target. source is the Source of that target.
func (r *resolver) entryTarget(e entry, source string) (Target, error) {
	if !e.node.isObject() {
		return Target{}, newUsageError(e.doc.at(e.node.offset), "server "+quote(e.name)+" must be an object, and is "+e.node.kind(),
			`write {"command": "…", "args": ["…"]} or {"url": "…"}`)
	}
	given, err := r.parseInputs()
	if err != nil {
		return Target{}, err
	}
	x := &expander{resolver: r, entry: e, workspace: r.workspaceOf(e.doc.path), given: given}
	t := Target{Name: plainName(e.name), Source: source}
	remote, err := x.readTransport(&t)
	if err != nil {
		return Target{}, err
	}
	if remote {
		if err = x.setURL(&t); err == nil {
			t, err = r.completeURLTarget(x.at("url"), t)
		}
	} else if err = r.rejectURLFlags(); err == nil {
		err = x.setCommand(&t)
	}
	if err != nil {
		return Target{}, err
	}
	if err := x.checkIDs(); err != nil {
		return Target{}, err
	}
	if e.node.isTrue("disabled") {
		t.Notices = append(t.Notices, "server "+quote(e.name)+" is disabled in "+e.doc.path+", but is used because it was named")
	}
	t.flags = append(t.flags, "--config", e.doc.path, "--server", e.name)
	for _, id := range given.ids {
		t.flags = append(t.flags, "--input", id)
	}
	t.flags = append(t.flags, r.commonFlags()...)
	t.configured = true
	t.secrets = r.secrets
	return t, nil
}

// workspaceOf returns the folder that a configuration file belongs to: the one that
// contains it, or the parent of a client's own folder.
func (r *resolver) workspaceOf(path string) string {
	dir := filepath.Dir(r.absolute(r.expandTilde(path), r.here))
	if base := filepath.Base(dir); base == ".vscode" || base == ".cursor" {
		return filepath.Dir(dir)
	}
	return dir
}

// readTransport reports whether the server is reached by a URL rather than started as a command,
// and sets the transport that the entry names. It returns an error if the entry does not show which
// of the two applies.
func (x *expander) readTransport(t *Target) (bool, error) {
	n := x.entry.node
	kind, err := x.readString("type")
	if err != nil {
		return false, err
	}
	command, url := n.get("command") != nil, n.get("url") != nil
	transport, isHTTP := httpTypes[kind]
	t.Transport = transport
	switch {
	case kind != "" && kind != "stdio" && kind != "local" && !isHTTP:
		return false, newUsageError(x.at("type"), "server "+quote(x.entry.name)+" has the type "+quote(kind)+", which is unknown",
			`use "stdio" with "command", or "http" or "sse" with "url"`)
	case isHTTP && !url:
		return false, newUsageError(x.at("type"), "server "+quote(x.entry.name)+" has the type "+quote(kind)+" and no "+quote("url"),
			`add "url": "https://…"`)
	case kind != "" && !isHTTP && !command:
		return false, newUsageError(x.at("type"), "server "+quote(x.entry.name)+" has the type "+quote(kind)+" and no "+quote("command"),
			`add "command": "…"`)
	case kind == "" && command && url:
		return false, newUsageError(x.entry.doc.at(n.offset), "server "+quote(x.entry.name)+` has both "command" and "url"`,
			`say which one to use with "type": "stdio" or "type": "http"`)
	case !command && !url:
		return false, newUsageError(x.entry.doc.at(n.offset), "server "+quote(x.entry.name)+` has neither "command" nor "url"`,
			`add "command" and "args" for a server to start, or "url" for one that runs`)
	}
	return isHTTP || kind == "" && url, nil
}

// setURL sets the URL and the headers of a server that is reached by its URL.
func (x *expander) setURL(t *Target) error {
	raw, err := x.readString("url")
	if err != nil {
		return err
	}
	headers, err := x.readTable("headers")
	if err != nil {
		return err
	}
	if err := x.missingError(); err != nil {
		return err
	}
	if err := x.checkURL(x.at("url"), raw); err != nil {
		return err
	}
	if r := x.resolver; r.Start == nil && (r.CleanEnv || r.Cwd != "") {
		return newUsageError(x.at("url"), "server "+quote(x.entry.name)+" is reached by a URL, but --cwd and --clean-env are for a server that is started",
			"leave them out")
	}
	t.URL = raw
	t.Headers = map[string]string{}
	for _, h := range headers {
		t.Headers[h.name] = h.value
		x.secrets.AddGiven(h.name, h.value)
	}
	x.secrets.AddArgs(raw)
	return nil
}

// setCommand sets the command of a server, its folder and its environment.
func (x *expander) setCommand(t *Target) error {
	command, err := x.readString("command")
	if err != nil {
		return err
	}
	args, err := x.readStrings("args")
	if err != nil {
		return err
	}
	env, err := x.readTable("env")
	if err != nil {
		return err
	}
	cwd, err := x.readString("cwd")
	if err != nil {
		return err
	}
	envFile, err := x.readString("envFile")
	if err != nil {
		return err
	}
	if err := x.missingError(); err != nil {
		return err
	}
	if x.entry.editor {
		// VS Code expands ~ here; other clients pass it on unchanged.
		command = x.expandTilde(command)
		for i := range args {
			args[i] = x.expandTilde(args[i])
		}
	}
	t.Argv = append([]string{command}, args...)
	if t.Dir, err = x.startFolder(cwd); err != nil {
		return err
	}
	if envFile != "" {
		more, err := x.readEnvFile(envFile)
		if err != nil {
			return err
		}
		env = append(more, env...)
	}
	whole := x.childEnviron(env...)
	t.Env = whole.list()
	x.secrets.AddArgs(t.Argv...)
	if err := x.checkCommand(t.Argv, t.Dir, &whole); err != nil {
		return err
	}
	if x.entry.node.isTrue("sandboxEnabled") {
		t.Notices = append(t.Notices, "the sandbox that "+x.entry.doc.path+" asks for is not set up: server "+quote(x.entry.name)+" runs with your rights")
	}
	return nil
}

// startFolder returns the folder in which the server starts: the value of --cwd or, if the flag is
// not given, the argument cwd, which is the entry's field of that name. If both are empty, it is
// the folder that the file belongs to.
func (x *expander) startFolder(cwd string) (string, error) {
	switch {
	case x.cwd != "":
		return x.cwd, nil
	case cwd != "":
		return x.folder(x.at("cwd"), quote("cwd"), x.expandTilde(cwd), x.workspace)
	}
	return x.workspace, nil
}

func (x *expander) checkCommand(argv []string, dir string, env *environ) error {
	command := argv[0]
	if isBlank(command) {
		return newUsageError(x.at("command"), "the command of server "+quote(x.entry.name)+" is empty", `write what starts it, like "command": "npx"`)
	}
	if p := x.startProblem(command, dir, env); p != nil {
		if p.instead == nil {
			return newUsageError(x.at("command"), p.what, "name the program in it, or what runs it")
		}
		return newUsageError(x.at("command"), p.what, "write:",
			"  "+jsonCommand(slices.Concat(p.instead, x.secrets.RedactArgs(argv)[1:])))
	}
	words := strings.Fields(command)
	if len(words) < 2 || env.isInPath(command) {
		return nil
	}
	if _, err := os.Stat(x.absolute(command, dir)); err == nil || filepath.IsAbs(command) {
		return nil
	}
	return newUsageError(x.at("command"), "there is no file "+quote(x.secrets.RedactArg(command))+", and commands are not split at spaces",
		"write its arguments as a list:",
		"  "+jsonCommand(x.secrets.RedactArgs(append(words, argv[1:]...))))
}

func jsonCommand(argv []string) string {
	args := make([]string, len(argv)-1)
	for i, arg := range argv[1:] {
		args[i] = quote(arg)
	}
	return fmt.Sprintf(`"command": %s, "args": [%s]`, quote(argv[0]), strings.Join(args, ", "))
}

// at returns the position of a field, or of the server if the field is missing.
func (x *expander) at(field string) string {
	if n := x.entry.node.get(field); n != nil {
		return x.entry.doc.at(n.offset)
	}
	return x.entry.doc.at(x.entry.node.offset)
}

// readString reads a field that is a string, and expands its variables. A missing field is "".
func (x *expander) readString(field string) (string, error) {
	n := x.entry.node.get(field)
	if n == nil {
		return "", nil
	}
	s, ok := n.value.(string)
	if !ok {
		advice := "write it in quotes"
		if field == "command" && n.kind() == "an array" {
			advice = `write the first as "command" and the others as "args": ["…"]`
		}
		return "", newUsageError(x.at(field), quote(field)+" of server "+quote(x.entry.name)+" must be a string, and is "+n.kind(), advice)
	}
	return x.expand(n, s), nil
}

// readStrings reads a field that is an array of strings, and expands their variables. A missing
// field is nil.
func (x *expander) readStrings(field string) ([]string, error) {
	n := x.entry.node.get(field)
	if n == nil {
		return nil, nil
	}
	if n.kind() != "an array" {
		return nil, newUsageError(x.at(field), quote(field)+" of server "+quote(x.entry.name)+" must be an array of strings, and is "+n.kind(),
			`write "`+field+`": ["one", "two"]`)
	}
	var list []string
	for i, item := range n.items {
		s, ok := item.value.(string)
		if !ok {
			return nil, newUsageError(x.entry.doc.at(item.offset), fmt.Sprintf("%s[%d] of server %s must be a string, and is %s", field, i, quote(x.entry.name), item.kind()),
				"write it in quotes")
		}
		list = append(list, x.expand(item, s))
	}
	return list, nil
}

// readTable reads a field that is an object of strings, and expands their variables. Numbers and
// booleans are used as written; null removes a variable. A missing field is nil.
func (x *expander) readTable(field string) ([]setting, error) {
	n := x.entry.node.get(field)
	if n == nil {
		return nil, nil
	}
	if !n.isObject() {
		return nil, newUsageError(x.at(field), quote(field)+" of server "+quote(x.entry.name)+" must be an object, and is "+n.kind(),
			`write "`+field+`": {"NAME": "value"}`)
	}
	var settings []setting
	for _, name := range n.names {
		member := n.members[name]
		s := setting{name: name, join: x.entry.editor && strings.EqualFold(name, "PATH")}
		switch v := member.value.(type) {
		case string:
			s.value = x.expand(member, v)
		case nil:
			s.unset = true
		default:
			if member.members != nil || member.kind() == "an array" {
				return nil, newUsageError(x.entry.doc.at(member.offset), quote(field)+" of server "+quote(x.entry.name)+" gives "+quote(name)+" "+member.kind()+", and a string is needed",
					"write the value in quotes")
			}
			s.value = fmt.Sprint(v)
		}
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(s.value, 0) {
			return nil, newUsageError(x.entry.doc.at(member.offset), quote(field)+" of server "+quote(x.entry.name)+" has "+quote(name)+", which can't be a variable",
				"a name has no = and no NUL byte, and a value no NUL byte")
		}
		settings = append(settings, s)
	}
	return settings, nil
}

// isTrue reports whether a field is true.
func (n *node) isTrue(field string) bool {
	m := n.get(field)
	return m != nil && m.value == true
}

// plainName returns a name with control characters escaped, for a terminal.
func plainName(name string) string {
	quoted := quote(name)
	return quoted[1 : len(quoted)-1]
}
