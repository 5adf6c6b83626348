package sweep

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/spec"
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

// itemTable has the keys of an item.
var itemTable = config.Key{Kind: config.Mapping, Keys: []config.Key{
	{Name: "name", Kind: config.Text, Example: "weather"},
	{Name: "command", Kind: config.List, Example: "[node, server.js]"},
	{Name: "url", Kind: config.Text, Example: "https://example.com/mcp"},
	{Name: "start", Kind: config.Text, Example: "npm start"},
	{Name: "transport", Kind: config.Choice, Values: []string{"auto", "http", "sse"}},
	{Name: "cwd", Kind: config.Text, Example: "."},
	{Name: "revision", Kind: config.Texts, Example: "2025-11-25"},
	{Name: "profile", Kind: config.Texts, Example: "[core@1, tools@1]"},
	{Name: "env", Kind: config.Texts, Example: "[API_KEY, LEVEL=info]"},
	{Name: "max-time", Kind: config.Duration, Example: "5m"},
}}

// readEntry reads an entry in mcp-conform's own format. If something is wrong with it, the result has
// only its name and place, or is nil if it has no name.
func (l *listReader) readEntry(n *yaml.Node) *Entry {
	if n.Kind != yaml.MappingNode {
		l.complain(n, "", "an entry of the list is not a mapping", listAdvice)
		return nil
	}
	before, name := len(l.errs), ""
	if named := member(n, "name"); named != nil && named.Kind == yaml.ScalarNode {
		name = named.Value
	}
	l.errs = append(l.errs, config.CheckEntry(n, &itemTable, l.path, name)...)
	var it item
	var text []byte
	if len(l.errs) == before {
		err := n.Decode(&it)
		if err == nil {
			text, err = json.Marshal(it)
		}
		if err != nil {
			l.complain(n, name, plainDecodeError(err), "")
		}
	}
	e := &Entry{Name: name, Env: it.Env, text: text, place: l.place(n)}
	if len(l.errs) == before {
		l.fillEntry(e, &it, n)
	}
	switch {
	case len(l.errs) == before:
		return e
	case name == "":
		return nil
	default:
		return &Entry{Name: name, place: e.place}
	}
}

// fillEntry checks an item, and sets the fields of the entry from it.
func (l *listReader) fillEntry(e *Entry, it *item, n *yaml.Node) {
	wrong := func(advice, format string, args ...any) { l.complain(n, it.Name, fmt.Sprintf(format, args...), advice) }
	switch {
	case it.Name == "":
		wrong("add a name; it is used for a folder and a row of the table", "a server has no name")
	case (len(it.Command) == 0) == (it.URL == ""):
		wrong("give it a command that starts it, or the url at which it listens", "it needs either a command or a url")
	case it.URL == "" && it.Start != "":
		wrong("add the url at which the server listens once it is started", "start is given, but no url")
	case it.URL != "" && it.Start == "" && (it.Cwd != "" || len(it.Env) > 0):
		wrong("leave them out, or add start", "cwd or env is given, but nothing is started")
	case it.URL != "" && !isWebURL(it.URL):
		wrong("write it as https://example.com/mcp", "url %q is not a URL that begins with http:// or https://", it.URL)
	case it.URL == "" && it.Transport != "":
		wrong("leave transport out: a command is reached over stdio", "transport is given, but no url")
	}
	for _, name := range it.Revision {
		if _, err := spec.ParseRevision(name); err != nil {
			wrong("", "%v", err)
		}
		e.Flags = append(e.Flags, "--revision", name)
	}
	for _, name := range it.Profile {
		if !slices.ContainsFunc(spec.Profiles(), func(p *spec.Profile) bool { return p.Name == name }) {
			wrong("mcp-conform list --profiles lists them", "there is no profile %q", name)
		}
		e.Flags = append(e.Flags, "--profile", name)
	}
	e.MaxTime, _ = time.ParseDuration(it.MaxTime) // it was checked; 0 if there is none
	for _, variable := range it.Env {
		if name, _, _ := strings.Cut(variable, "="); strings.TrimSpace(name) == "" {
			wrong("write for example env: [API_KEY]", "env %q names no variable", variable)
		}
	}
	l.setCommand(e, it)
}

// setCommand sets how the server of an item is started or reached.
func (l *listReader) setCommand(e *Entry, it *item) {
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
		return
	}
	argv := slices.Clone(it.Command)
	if len(argv) == 0 {
		return // an error
	}
	if strings.ContainsAny(argv[0], `/\`) && !filepath.IsAbs(argv[0]) {
		argv[0] = filepath.Join(l.dir, argv[0])
	}
	e.Args = append([]string{"--"}, argv...)
}

// hintCwd returns a hint if the command of an entry without cwd names a file next to the list.
func (e *Entry) hintCwd() string {
	if e.listDir == "" {
		return ""
	}
	words, isStart := e.Args[1:], e.Args[0] == "--start" // the first of Args is --start, --, or a URL
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
