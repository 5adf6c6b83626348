package sweep

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/spelling"
	"github.com/mcp-conform/mcp-conform/internal/target"
)

// stringList is a list of strings, or one string.
type stringList []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (w *stringList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*w = stringList{n.Value}
		return nil
	}
	return n.Decode((*[]string)(w))
}

// item is an entry of a list in mcp-conform's own format.
type item struct {
	Name      string     `yaml:"name"`
	Command   []string   `yaml:"command"`
	URL       string     `yaml:"url"`
	Start     string     `yaml:"start"`
	Transport string     `yaml:"transport"`
	Cwd       string     `yaml:"cwd"`
	Revision  stringList `yaml:"revision"`
	Profile   stringList `yaml:"profile"`
	Env       stringList `yaml:"env"`
	MaxTime   string     `yaml:"max-time"`
}

// itemKeys are the keys of an item.
var itemKeys = []string{"name", "command", "url", "start", "transport", "cwd", "revision", "profile", "env", "max-time"}

// readEntry reads an entry in mcp-conform's own format.
func (l *listReader) readEntry(n *yaml.Node) (*Entry, error) {
	if n.Kind != yaml.MappingNode {
		return nil, l.errorAt(n, "", "an entry of the list is not a mapping", listAdvice)
	}
	name := ""
	if named := member(n, "name"); named != nil {
		name = named.Value
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(itemKeys, key.Value) {
			if key.Tag == "!!merge" {
				return nil, l.errorAt(key, name, "the merge key << can't be used", "write the keys out in each entry; an alias may stand for a value, as in env: *name")
			}
			advice := "known: " + strings.Join(itemKeys, ", ")
			if near := spelling.Nearest(key.Value, itemKeys); near != "" {
				advice = "did you mean " + near + "?"
			}
			return nil, l.errorAt(key, name, fmt.Sprintf("unknown key %q", key.Value), advice)
		}
	}
	var it item
	if err := n.Decode(&it); err != nil {
		what := strings.TrimPrefix(err.Error(), "yaml: ")
		if types := (*yaml.TypeError)(nil); errors.As(err, &types) {
			what = strings.Join(types.Errors, "; ")
		}
		return nil, l.errorAt(n, name, what, "command is a list, such as [node, server.js]; revision, profile and env are a string or a list")
	}
	text, err := json.Marshal(it)
	if err != nil {
		return nil, l.errorAt(n, name, err.Error(), "")
	}
	e := &Entry{Name: it.Name, Env: it.Env, text: text}
	return e, l.fillEntry(e, &it, n)
}

// fillEntry checks an item, and sets the fields of the entry from it.
func (l *listReader) fillEntry(e *Entry, it *item, n *yaml.Node) error {
	wrong := func(advice, format string, args ...any) error {
		return l.errorAt(n, it.Name, fmt.Sprintf(format, args...), advice)
	}
	switch {
	case it.Name == "":
		return wrong("add a name; it is used for a folder and a row of the table", "a server has no name")
	case (len(it.Command) == 0) == (it.URL == ""):
		return wrong("give it a command that starts it, or the url at which it listens", "it needs either a command or a url")
	case it.URL == "" && it.Start != "":
		return wrong("add the url at which the server listens once it is started", "start is given, but no url")
	case it.URL != "" && it.Start == "" && (it.Cwd != "" || len(it.Env) > 0):
		return wrong("leave them out, or add start", "cwd or env is given, but nothing is started")
	case it.URL != "" && !isWebURL(it.URL):
		return wrong("write it as https://example.com/mcp", "url %q is not a URL that begins with http:// or https://", it.URL)
	case it.Transport != "" && !slices.Contains([]string{"auto", "http", "sse"}, it.Transport):
		return wrong("known: auto, http, sse", "there is no transport %q", it.Transport)
	case it.URL == "" && it.Transport != "":
		return wrong("leave transport out: a command is reached over stdio", "transport is given, but no url")
	}
	for _, name := range it.Revision {
		if _, err := spec.ParseRevision(name); err != nil {
			return wrong("", "%v", err)
		}
		e.Flags = append(e.Flags, "--revision", name)
	}
	for _, name := range it.Profile {
		if !slices.ContainsFunc(spec.Profiles(), func(p *spec.Profile) bool { return p.Name == name }) {
			return wrong("mcp-conform list --profiles lists them", "there is no profile %q", name)
		}
		e.Flags = append(e.Flags, "--profile", name)
	}
	if it.MaxTime != "" {
		d, err := time.ParseDuration(it.MaxTime)
		if err != nil || d <= 0 {
			return wrong("write for example max-time: 5m", "max-time %q is not a duration", it.MaxTime)
		}
		e.MaxTime = d
	}
	for _, variable := range it.Env {
		if name, _, _ := strings.Cut(variable, "="); strings.TrimSpace(name) == "" {
			return wrong("write for example env: [API_KEY]", "env %q names no variable", variable)
		}
	}
	if it.Cwd != "" {
		if !filepath.IsAbs(it.Cwd) {
			it.Cwd = filepath.Join(l.dir, it.Cwd)
		}
		e.Flags = append(e.Flags, "--cwd", it.Cwd)
	} else {
		e.listDir = l.dir
	}
	if it.URL != "" {
		e.Flags = append(e.Flags, "--transport", cmp.Or(it.Transport, "auto"))
		e.Args = []string{it.URL}
		if it.Start != "" {
			e.Args = []string{"--start", it.Start, it.URL}
		} else {
			e.URL = it.URL
		}
		return nil
	}
	argv := slices.Clone(it.Command)
	if strings.ContainsAny(argv[0], `/\`) && !filepath.IsAbs(argv[0]) {
		argv[0] = filepath.Join(l.dir, argv[0])
	}
	e.Args = append([]string{"--"}, argv...)
	return nil
}

// hintCwd returns a hint if the command of an entry without cwd names a file next to the list.
func (e *Entry) hintCwd() string {
	if e.listDir == "" {
		return ""
	}
	words, isStart := e.Args[1:], e.Args[0] == "--start" // otherwise "--" is before the command, or a URL is alone
	if isStart {
		words = strings.Fields(e.Args[1])
	}
	for i, word := range words {
		if _, value, ok := strings.Cut(word, "="); ok {
			word = value
		}
		if !filepath.IsLocal(word) || word == "." || !exists(filepath.Join(e.listDir, word)) {
			continue
		}
		if i > 0 || isStart {
			return fmt.Sprintf("%s is next to the list: set cwd: . to start the command there", shorten(word, 80))
		}
		if !strings.ContainsAny(word, `/\`) {
			return fmt.Sprintf("%s is next to the list: write ./%s", shorten(word, 80), shorten(word, 80))
		}
	}
	return ""
}

// isWebURL reports whether text is an http or https URL with a host. mcp-conform run may take other
// strings as a command or a flag.
func isWebURL(text string) bool {
	u, err := target.ParseURL(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
