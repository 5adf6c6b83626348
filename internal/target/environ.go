package target

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// A setting sets one variable or, if unset is true, removes it.
type setting struct {
	name, value string
	unset       bool
	join        bool // append value to an existing one, as for a list of paths
}

// An environ is an environment with unique names.
type environ struct {
	names  []string          // in the order of their first occurrence, as written
	values map[string]string // keyed by what the method key returns for the name
	goos   string
}

func newEnviron(list []string, goos string) environ {
	e := environ{values: map[string]string{}, goos: goos}
	for _, kv := range list {
		// Windows stores the current folder of each drive in names like "=C:".
		i := strings.IndexByte(kv[min(1, len(kv)):], '=') + 1
		if i <= 0 {
			continue
		}
		e.set(setting{name: kv[:i], value: kv[i+1:]})
	}
	return e
}

func (e *environ) clone() environ {
	return environ{names: slices.Clone(e.names), values: maps.Clone(e.values), goos: e.goos}
}

// key returns the key of a variable in values. It is in upper case on Windows, where names are
// case-insensitive.
func (e *environ) key(name string) string {
	if e.goos == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

func (e *environ) get(name string) (string, bool) {
	v, ok := e.values[e.key(name)]
	return v, ok
}

func (e *environ) set(s setting) {
	key := e.key(s.name)
	old, had := e.values[key]
	switch {
	case s.unset:
		delete(e.values, key)
		return
	case s.join && old != "":
		s.value = old + e.listSeparator() + s.value
	}
	if !had {
		e.names = append(e.names, s.name)
	}
	e.values[key] = s.value
}

func (e *environ) listSeparator() string {
	if e.goos == "windows" {
		return ";"
	}
	return ":"
}

func (e *environ) list() []string {
	list := make([]string, 0, len(e.names))
	seen := map[string]bool{}
	for _, name := range e.names {
		key := e.key(name)
		if v, ok := e.values[key]; ok && !seen[key] {
			list = append(list, name+"="+v)
			seen[key] = true
		}
	}
	return list
}

// isInPath reports whether a file of that name is in one of the folders of PATH.
func (e *environ) isInPath(name string) bool {
	path, _ := e.get("PATH")
	for dir := range strings.SplitSeq(path, e.listSeparator()) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// Programs need these variables to start and to find other programs: node and npx
// need HOME for their cache, and Windows programs fail in odd ways without
// SystemRoot.
var (
	cleanUnix    = []string{"PATH", "HOME"}
	cleanWindows = []string{
		"PATH", "PATHEXT", "SystemRoot", "SystemDrive", "ComSpec", "TEMP", "TMP",
		"USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles",
	}
)

// onlyEssential returns only the variables that programs need to start.
func (e *environ) onlyEssential() environ {
	keep := cleanUnix
	if e.goos == "windows" {
		keep = cleanWindows
	}
	c := environ{values: map[string]string{}, goos: e.goos}
	for _, name := range keep {
		if v, ok := e.get(name); ok {
			c.set(setting{name: name, value: v})
		}
	}
	return c
}

// parseEnvFlags parses all --env flags. If several have the same name, it uses the last. A flag
// without a value, --env NAME, takes the value from outer, the environment of this program.
func parseEnvFlags(flags []string, outer environ) ([]setting, error) {
	given := newEnviron(nil, outer.goos)
	for _, flag := range flags {
		name, value, hasValue := strings.Cut(flag, "=")
		switch {
		case name == "":
			return nil, newUsageError("", "--env begins with =, so it names no variable",
				"write --env NAME=value, or --env NAME to take it from the environment")
		case strings.ContainsAny(name, " \t\r\n\x00"):
			return nil, newUsageError("", "--env has a name with a space in it: "+quote(redact.Arg(name)),
				"write --env NAME=value, without spaces around =, and a flag for each variable")
		case strings.ContainsRune(value, 0):
			return nil, newUsageError("", "the value that --env gives to "+name+" has a NUL byte in it",
				"no variable can hold one; leave it out")
		}
		if !hasValue {
			v, ok := outer.get(name)
			if !ok {
				return nil, newUsageError("", "--env "+redact.Arg(name)+" takes the variable from the environment, where it is not set",
					"set it before (export "+redact.Arg(name)+"=…), or write --env "+redact.Arg(name)+"=value")
			}
			value = v
		}
		given.set(setting{name: name, value: value})
	}
	var settings []setting
	for _, name := range given.names {
		v, _ := given.get(name)
		settings = append(settings, setting{name: name, value: v})
	}
	return settings, nil
}
