package target

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

// An expander replaces the variables in a file's entry for one server. It collects
// all missing values, so that one error can list them.
type expander struct {
	*resolver
	entry     entry
	workspace string // the folder that the file belongs to
	given     inputFlags
	asked     []string // ids of the inputs that the server refers to
	missing   []string // one sentence for each missing value, with its position
	known     []string // the missing values, such as env:HOME
}

var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand replaces each ${…} in s, a string of the file. It does not expand inserted values again.
// n is the node of the string, for positions in errors.
func (x *expander) expand(n *node, s string) string {
	var out strings.Builder
	for {
		start := strings.Index(s, "${")
		if start < 0 {
			break
		}
		end := strings.IndexByte(s[start:], '}')
		if end < 0 {
			break
		}
		whole := s[start : start+end+1]
		out.WriteString(s[:start])
		if value, ok := x.variable(n, whole[2:len(whole)-1]); ok {
			out.WriteString(value)
		} else {
			out.WriteString(whole)
		}
		s = s[start+end+1:]
	}
	out.WriteString(s)
	return out.String()
}

// variable returns the value of ${name}. It returns false if no client replaces this variable, so
// that ${name} stays unchanged, for the server or its shell. If the value is missing, variable
// records that, and returns "" and true.
func (x *expander) variable(n *node, name string) (string, bool) {
	prefix, rest, hasPrefix := strings.Cut(name, ":")
	switch {
	case name == "workspaceFolder" || name == "cwd":
		return x.workspace, true
	case name == "workspaceFolderBasename":
		return filepath.Base(x.workspace), true
	case name == "pathSeparator" || name == "/":
		return string(filepath.Separator), true
	case name == "userHome":
		if home := x.home(); home != "" {
			return home, true
		}
		return x.recordMissing(n, name, "${userHome} is unknown: neither HOME nor USERPROFILE is set")
	case hasPrefix && prefix == "env":
		return x.environmentValue(n, rest)
	case hasPrefix && prefix == "input":
		return x.inputValue(n, rest)
	case hasPrefix && slices.Contains([]string{"command", "config", "workspaceFolder", "extensionInstallFolder"}, prefix):
		return x.recordMissing(n, name, "only the editor knows ${"+name+"}: write its value there")
	case x.entry.editor:
		return "", false
	}
	bare, fallback, hasFallback := strings.Cut(name, ":-")
	if !identifier.MatchString(bare) {
		return "", false
	}
	if hasFallback {
		if v, ok := x.lookup(bare); ok {
			return x.recordSecret(bare, v), true
		}
		return fallback, true
	}
	return x.environmentValue(n, bare)
}

func (x *expander) environmentValue(n *node, name string) (string, bool) {
	if v, ok := x.lookup(name); ok {
		return x.recordSecret(name, v), true
	}
	return x.recordMissing(n, "env:"+name, "the variable "+name+" is not set: set it, or add --env "+name+"=value")
}

// lookup returns a variable from the --env flags or, if they do not set it, from the
// environment of this program.
func (x *expander) lookup(name string) (string, bool) {
	for _, s := range x.resolver.given {
		if x.outer.key(s.name) == x.outer.key(name) {
			return s.value, true
		}
	}
	return x.outer.get(name)
}

// recordSecret records value as a secret if its name or its form looks like that of a secret. It
// returns value.
func (x *expander) recordSecret(name, value string) string {
	x.secrets.AddNamed(name, value)
	return value
}

func (x *expander) inputValue(n *node, id string) (string, bool) {
	if !slices.Contains(x.asked, id) {
		x.asked = append(x.asked, id)
	}
	var in input
	for _, i := range x.entry.inputs {
		if i.id == id {
			in = i
		}
	}
	value, ok := x.given.values[id]
	if !ok {
		value, ok = x.outer.get(inputVariable(id))
	}
	label := "the input " + quote(id)
	if in.description != "" {
		label += " (" + plainName(in.description) + ")"
	}
	switch {
	case ok && len(in.options) > 0 && !slices.Contains(in.options, value):
		return x.recordMissing(n, "input:"+id, label+" has an invalid value: it must be one of "+strings.Join(in.options, ", "))
	case ok:
		if in.password || in.id == "" {
			x.secrets.Add(value)
		}
		x.secrets.AddGiven(id, value)
		return value, true
	case in.hasFallback:
		return in.fallback, true
	}
	return x.recordMissing(n, "input:"+id, label+" is not given: add --input "+shellQuote(id)+"=value, or set "+inputVariable(id))
}

// recordMissing records a missing value, unless it is already recorded. The argument what
// identifies the value, and sentence tells the user what is missing. It returns "" and true, the
// results of variable.
func (x *expander) recordMissing(n *node, what, sentence string) (string, bool) {
	if !slices.Contains(x.known, what) {
		x.known = append(x.known, what)
		x.missing = append(x.missing, "  "+x.entry.doc.at(n.offset)+": "+sentence)
	}
	return "", true
}

// missingError returns an error that lists all missing values, or nil if there are none.
func (x *expander) missingError() error {
	if len(x.missing) == 0 {
		return nil
	}
	what := "a value that is not given"
	if len(x.missing) > 1 {
		what = "values that are not given"
	}
	return newUsageError(x.entry.doc.at(x.entry.node.offset), "server "+quote(x.entry.name)+" needs "+what, x.missing...)
}

func (r *resolver) home() string {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if v, ok := r.outer.get(name); ok && v != "" {
			return v
		}
	}
	return ""
}

// expandTilde replaces a leading ~ with the user's home directory.
func (r *resolver) expandTilde(path string) string {
	if home := r.home(); home != "" && (path == "~" || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, `~\`)) {
		return home + path[1:]
	}
	return path
}
