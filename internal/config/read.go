// Package config reads mcp-conform.yaml, which says how to reach a server, which
// of its tools may be called, and which calls are fixtures.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/spelling"
	"github.com/mcp-conform/mcp-conform/internal/target"
)

// Name is the name of the configuration file.
const Name = "mcp-conform.yaml"

// names are the names under which the file is found in the current folder.
var names = []string{Name, "mcp-conform.yml"}

// Limits on the file.
const (
	maxSize  = 1 << 20 // bytes
	maxDepth = 64      // levels of nesting of an object that is sent as JSON
)

// Find returns the path of the file in the folder, or "" if there is none. Two files, one with each
// name, are an error.
func Find(folder string) (string, error) {
	var found []string
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return filepath.Join(folder, found[0]), nil
	default:
		return "", usageError("", "the current folder has both "+strings.Join(found, " and "), "remove one of them, or name one with --config")
	}
}

// HasYAMLExtension reports, by the extension of its name, whether a file is a configuration file of
// mcp-conform, not of a client.
func HasYAMLExtension(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		return true
	default:
		return false
	}
}

// Read reads the file. The argument shown is its path as shown to the user.
// Errors are of type *target.UsageError.
func Read(path, shown string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usageError("", "the file "+quote(shown)+" can't be read ("+readErrorReason(err)+")", "name an mcp-conform.yaml, or let mcp-conform init write one")
	}
	defer func() { _ = f.Close() }() // opened for reading only
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, usageError("", quote(shown)+" is a folder, not a file", "name the file in it")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, usageError("", "the file "+quote(shown)+" can't be read ("+readErrorReason(err)+")", "look at its permissions")
	}
	file, err := Parse(shown, text)
	if err != nil {
		return nil, err
	}
	file.Folder = filepath.Dir(path)
	return file, nil
}

// Parse parses the text of a file. The argument shown is its path as shown to the user. Errors are
// of type *target.UsageError.
func Parse(shown string, text []byte) (*File, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	switch {
	case len(text) > maxSize:
		return nil, usageError(shown, "the file is larger than 1 MiB", "name the mcp-conform.yaml")
	case bytes.HasPrefix(text, []byte{0xFF, 0xFE}), bytes.HasPrefix(text, []byte{0xFE, 0xFF}):
		return nil, usageError(shown, "the file is in UTF-16, but must be UTF-8", "save it as UTF-8")
	case !utf8.Valid(text):
		return nil, usageError(shown, "the file is not UTF-8 text", "save it as UTF-8")
	}
	root, err := parseDocument(shown, text)
	if err != nil {
		return nil, err
	}
	r := &reader{shown: shown}
	top := Keys()
	if r.check(root, &top, ""); len(r.errs) > 0 {
		return nil, target.JoinErrors(r.errs)
	}
	return r.buildFile(root)
}

// parseDocument returns the root value of the file. The file must be a single document, and not
// empty.
func parseDocument(shown string, text []byte) (*yaml.Node, error) {
	var first, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&first)
	if errors.Is(err, io.EOF) || err == nil && (len(first.Content) == 0 || first.Content[0].ShortTag() == "!!null") {
		return nil, usageError(shown, "the file is empty", "add keys, let mcp-conform init --force write a new one, or remove it")
	}
	if err == nil {
		if err = decoder.Decode(&second); errors.Is(err, io.EOF) {
			return first.Content[0], nil
		}
		if err == nil {
			return nil, usageError(location(shown, &second), "the file has a second YAML document", "remove the line --- and everything after it")
		}
	}
	return nil, SyntaxError(shown, err)
}

// SyntaxError returns the error for a file that is not YAML. The argument err is that of the YAML
// decoder.
func SyntaxError(shown string, err error) error {
	what := strings.TrimPrefix(err.Error(), "yaml: ")
	where := shown
	if rest, ok := strings.CutPrefix(what, "line "); ok {
		if line, says, ok := strings.Cut(rest, ": "); ok {
			where, what = shown+":"+line, says
		}
	}
	return usageError(where, "this is not YAML: "+what, "correct the file there; values with : or # or { in them need quotes, and indents are spaces")
}

// A reader checks a file against the table of keys, and collects what is wrong with it.
type reader struct {
	shown string
	errs  []error // of type *target.UsageError
	// isEntry is set for an entry of a list of servers. prefix begins what is wrong with it.
	isEntry bool
	prefix  string
}

// CheckEntry checks an entry of a list of servers against the mapping k, and returns an error of type
// *target.UsageError for each mistake. Other than in mcp-conform.yaml, an alias can be a value,
// scalars are strings as written, and a key without a value counts as missing. The argument shown is
// the path of the list as shown to the user, and name that of the server; it may be "".
func CheckEntry(n *yaml.Node, k *Key, shown, name string) []error {
	r := &reader{shown: shown, isEntry: true}
	if name != "" {
		r.prefix = "server " + quote(name) + ": "
	}
	r.checkMapping(n, k, "")
	return r.errs
}

func (r *reader) location(n *yaml.Node) string { return location(r.shown, n) }

// complain adds an error at n.
func (r *reader) complain(n *yaml.Node, what, advice string) {
	r.errs = append(r.errs, usageError(r.location(n), r.prefix+what, advice))
}

// plainValue returns the value of a node, which in an entry of a list of servers may be an alias. It
// returns nil, and complains, if the file must have no anchors and aliases.
func (r *reader) plainValue(n *yaml.Node) *yaml.Node {
	switch {
	case !r.isEntry && (n.Kind == yaml.AliasNode || n.Anchor != ""):
		r.complain(n, "anchors (&) and aliases (*) are not supported", "write out their values")
		return nil
	case n.Kind == yaml.AliasNode:
		value := *n.Alias
		value.Line, value.Column = n.Line, n.Column // errors name the place where it is used
		return &value
	default:
		return n
	}
}

// check checks a value. The argument path is the full name of its key, such as
// tools.call.
func (r *reader) check(n *yaml.Node, k *Key, path string) {
	if n = r.plainValue(n); n == nil || r.isEntry && n.ShortTag() == "!!null" {
		return
	}
	switch k.Kind {
	case Mapping:
		r.checkMapping(n, k, path)
	case Named:
		r.eachMember(n, path, func(name string, _, value *yaml.Node) { r.check(value, k.Of, joinPath(path, name)) })
	case Scalars:
		r.eachMember(n, path, func(name string, _, value *yaml.Node) {
			if value.Kind != yaml.ScalarNode || value.Anchor != "" {
				r.wrongValue(value, joinPath(path, name), "a string", "")
			}
		})
	case Object:
		r.eachMember(n, path, func(name string, _, value *yaml.Node) { r.checkAnything(value, joinPath(path, name), 0) })
	case Several:
		if n.Kind != yaml.SequenceNode {
			r.check(n, k.Of, path)
			return
		}
		r.eachElement(n, path, func(e *yaml.Node) { r.check(e, k.Of, path) })
	case Texts:
		if n.Kind != yaml.SequenceNode {
			r.checkText(n, k, path, "a string, or a list of strings")
			return
		}
		r.eachElement(n, path, func(e *yaml.Node) { r.checkText(e, k, path, "a string") })
	case List:
		if n.Kind != yaml.SequenceNode {
			r.wrongValue(n, path, "a list", k.listAdvice(n))
			return
		}
		r.eachElement(n, path, func(e *yaml.Node) { r.checkText(e, k, path, "a list of strings") })
	default:
		r.checkScalar(n, k, path)
	}
}

// listAdvice returns how to write a value that is not a list as one.
func (k *Key) listAdvice(n *yaml.Node) string {
	words := strings.Fields(n.Value)
	if n.Kind != yaml.ScalarNode || len(words) == 0 || strings.ContainsAny(n.Value, `"'\`) {
		return "write it as in " + k.Name + ": " + k.Example
	}
	return "write " + k.Name + ": " + wordList(words)
}

// checkMapping checks a mapping with a fixed set of keys.
func (r *reader) checkMapping(n *yaml.Node, k *Key, path string) {
	have := map[string]bool{}
	isMapping := r.eachMember(n, path, func(name string, key, value *yaml.Node) {
		known := k.keyNamed(name)
		if known == nil {
			r.unknownKey(key, k, path)
			return
		}
		have[name] = true
		r.check(value, known, joinPath(path, name))
	})
	for i := range k.Keys {
		if known := &k.Keys[i]; isMapping && known.Must && !have[known.Name] {
			r.complain(n, quote(path)+" has no "+quote(known.Name), "add "+known.Name+": …")
		}
	}
}

// eachMember calls the function each with every member of a mapping. A duplicate name is an error,
// as is an anchor, an alias or a merge. It reports whether n is a mapping.
func (r *reader) eachMember(n *yaml.Node, path string, each func(name string, key, value *yaml.Node)) bool {
	if n.Kind != yaml.MappingNode {
		r.wrongValue(n, path, "a mapping", "write its keys below it, each as name: value")
		return false
	}
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case r.isEntry && key.ShortTag() == "!!merge":
			r.complain(key, "merges (<<) are not supported", "write the keys out in each entry; an alias may stand for a value, as in env: *name")
		case !r.isEntry && (key.Kind == yaml.AliasNode || key.Anchor != "" || key.ShortTag() == "!!merge"):
			r.complain(key, "anchors (&), aliases (*) and merges (<<) are not supported", "write out their values")
		case key.Kind != yaml.ScalarNode:
			r.complain(key, "a key is "+kindOf(key)+", but must be a string", "put quotes around it")
		case seen[key.Value] != nil:
			r.complain(key, quote(joinPath(path, key.Value))+" is given twice", fmt.Sprintf("remove it here, or in line %d", seen[key.Value].Line))
		default:
			seen[key.Value] = key
			each(key.Value, key, value)
		}
	}
	return true
}

// eachElement calls the function each with every element of a list. A list in a list is an error,
// as is an anchor or an alias.
func (r *reader) eachElement(n *yaml.Node, path string, each func(*yaml.Node)) {
	for _, e := range n.Content {
		switch e = r.plainValue(e); {
		case e == nil:
		case e.Kind == yaml.SequenceNode:
			r.wrongValue(e, path, "no list in a list", "")
		default:
			each(e)
		}
	}
}

// checkAnything checks a value of any kind, which is sent as JSON.
func (r *reader) checkAnything(n *yaml.Node, path string, depth int) {
	switch {
	case depth > maxDepth:
		r.complain(n, fmt.Sprintf("%s is nested deeper than %d levels", quote(path), maxDepth), "make it flatter")
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.complain(n, "anchors (&) and aliases (*) are not supported", "write out their values")
	case n.Kind == yaml.MappingNode:
		r.eachMember(n, path, func(name string, _, value *yaml.Node) { r.checkAnything(value, joinPath(path, name), depth+1) })
	case n.Kind == yaml.SequenceNode:
		for _, e := range n.Content {
			r.checkAnything(e, path, depth+1)
		}
	default:
		if _, err := scalarValue(n); err != nil {
			r.complain(n, quote(path)+" is "+quote(n.Value)+", which "+err.Error(), "put quotes around it if a string is meant")
		}
	}
}

// unknownKey complains about an unknown key. Its advice suggests the key that was probably meant, or
// lists the keys.
func (r *reader) unknownKey(key *yaml.Node, k *Key, path string) {
	known := k.KeyNames()
	place := "the file has no key "
	switch {
	case r.isEntry:
		place = "unknown key "
	case path != "":
		place = quote(path) + " has no key "
	}
	advice := "it has " + strings.Join(known, ", ")
	if n := spelling.Nearest(key.Value, known); n != "" {
		advice = "did you mean " + quote(n) + "?"
	} else if elsewhere := uniqueKeyPath(key.Value); elsewhere != "" && !r.isEntry {
		advice = "did you mean " + elsewhere + "?"
	} else if key.Value == "mcpServers" || key.Value == "servers" {
		advice = "this looks like a client's configuration, which is a JSON file: use --config FILE.json --server NAME"
	}
	r.complain(key, place+quote(key.Value), advice)
}

// uniqueKeyPath returns the path of the only key with that name in the table, or "" if there is
// none or more than one.
func uniqueKeyPath(name string) string {
	found, n := "", 0
	var look func(k *Key, path string)
	look = func(k *Key, path string) {
		for i := range k.Keys {
			here := joinPath(path, k.Keys[i].Name)
			if k.Keys[i].Name == name {
				found, n = here, n+1
			}
			look(&k.Keys[i], here)
		}
	}
	top := Keys()
	if look(&top, ""); n != 1 {
		return ""
	}
	return found
}

// KeyNames returns the names of the keys of a mapping, in the order of the table.
func (k *Key) KeyNames() []string {
	var out []string
	for i := range k.Keys {
		out = append(out, k.Keys[i].Name)
	}
	return out
}

func (k *Key) keyNamed(name string) *Key {
	for i := range k.Keys {
		if k.Keys[i].Name == name {
			return &k.Keys[i]
		}
	}
	return nil
}

// wrongValue complains about a value of the wrong kind. want describes the right kind.
func (r *reader) wrongValue(n *yaml.Node, path, want, advice string) {
	if path == "" {
		path = "the file"
	} else {
		path = quote(path)
	}
	r.complain(n, path+" is "+kindOf(n)+", but should be "+want, advice)
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func location(shown string, n *yaml.Node) string {
	return fmt.Sprintf("%s:%d:%d", shown, n.Line, n.Column)
}

// kindOf returns a phrase with the kind of a value, or with the value itself if it is a scalar.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!null":
		return "empty"
	case "!!bool", "!!int", "!!float":
		return n.Value
	default:
		return "the string " + quote(n.Value)
	}
}

// maxQuoted is the number of characters after which quote cuts a string.
const maxQuoted = 80

func quote(s string) string {
	if r := []rune(s); len(r) > maxQuoted {
		s = string(r[:maxQuoted]) + "…"
	}
	return strconv.Quote(s)
}

func usageError(where, what, advice string) *target.UsageError {
	return &target.UsageError{Where: where, What: what, Advice: advice}
}

func readErrorReason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "it does not exist"
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
