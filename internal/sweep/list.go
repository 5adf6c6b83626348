package sweep

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/spelling"
	"github.com/mcp-conform/mcp-conform/internal/target"
)

// An Entry is one server of a list.
type Entry struct {
	Name   string
	Folder string // the name of its folder; see folderOf
	// Args are the arguments of mcp-conform run that name the server.
	Args []string
	// Flags are further flags of mcp-conform run for this server, such as --profile.
	Flags   []string
	Env     []string      // its environment variables: NAME or NAME=VALUE
	MaxTime time.Duration // 0 for the limit of the sweep
	URL     string        // "" for a server that is started
	// Package and Version are the server's package and version in a registry; "" if
	// unknown.
	Package, Version string
	// Unusable is the reason why the server can't be started or reached; "" if it can.
	Unusable string

	text  []byte // the entry as written in the list
	place string // where it is written: the list, with the line and the column if they are known
	// listDir is the folder of the list if the entry has no cwd; "" if it has one, or if the entry is
	// not in mcp-conform's own format.
	listDir string
	asked   string // see Result.Asked; set when a sweep begins
	// isForeign is set if a registry or a client's configuration file names the server.
	isForeign bool
}

// address returns the URL at which the server is reached, or "" if it is reached over stdio.
func (e *Entry) address() string {
	if len(e.Args) == 3 && e.Args[0] == "--start" {
		return e.Args[2]
	}
	return e.URL
}

// host returns the host of the server in lower case. It returns "" for a stdio server, and for a
// server that is started here and listens at a loopback address.
func (e *Entry) host() string {
	u, err := target.ParseURL(e.address())
	if err != nil || e.URL == "" && isLoopback(u.Hostname()) {
		return ""
	}
	return hostOf(u)
}

func isLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// hostOf returns the host of a URL without its port, in lower case and without a dot at the end.
func hostOf(u *url.URL) string { return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") }

// maxList limits the size of a list, in bytes.
const maxList = 256 << 20

// listAdvice shows what a list looks like.
const listAdvice = "a list looks like\n  servers:\n    - name: weather\n      command: [npx, -y, weather-mcp@1.2.0]\n    - name: search\n      url: https://example.com/mcp"

// ReadLists reads lists of servers. It accepts lists in mcp-conform's own format, clients'
// configuration files, and the MCP registry's server.json and pages of servers. Its error joins one
// of type *target.UsageError for each mistake, which names the file and the entry.
func ReadLists(paths ...string) ([]Entry, error) {
	var all []Entry
	var errs []error
	for _, path := range paths {
		entries, wrong := readList(path)
		all, errs = append(all, entries...), append(errs, wrong...)
	}
	all, wrong := nameFolders(all)
	errs = append(errs, wrong...)
	if len(all) == 0 && len(errs) == 0 {
		errs = []error{usagef(listAdvice, "%s: the list has no servers", strings.Join(paths, ", "))}
	}
	if len(errs) > 0 {
		return nil, target.JoinErrors(errs)
	}
	return all, nil
}

func usagef(advice, format string, args ...any) error {
	return &target.UsageError{What: fmt.Sprintf(format, args...), Advice: advice}
}

// readList reads one list. Entries with errors have only a name.
func readList(path string) ([]Entry, []error) {
	text, err := readFile(path)
	if err != nil {
		return nil, []error{err}
	}
	l := &listReader{path: path, dir: filepath.Dir(path)}
	root, broken := l.parse(text)
	if strings.EqualFold(filepath.Ext(path), ".json") && (broken != nil || isClientConfig(root)) {
		entries, err := readClientConfig(path) // clients permit comments in it
		if err != nil {
			return nil, []error{err}
		}
		return entries, nil
	}
	if broken != nil {
		return nil, []error{broken}
	}
	if len(root.Content) == 0 {
		return nil, []error{usagef(listAdvice, "%s is empty", path)}
	}
	if l.dir, err = filepath.Abs(l.dir); err != nil {
		return nil, []error{usagef("", "%s: %v", path, err)}
	}
	return l.readEntries(root.Content[0]), l.errs
}

// parse parses YAML or JSON.
func (l *listReader) parse(text []byte) (*yaml.Node, error) {
	var root, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	err := d.Decode(&root)
	var value any
	if err != nil && json.Unmarshal(text, &value) == nil { // JSON with escaped surrogates is not YAML
		if text, err = json.Marshal(value); err == nil {
			err = yaml.Unmarshal(text, &root)
		}
		if err != nil {
			return nil, config.SyntaxError(l.path, err)
		}
		return &root, nil
	}
	switch {
	case errors.Is(err, io.EOF): // empty
		return &root, nil
	case err != nil:
		return nil, config.SyntaxError(l.path, err)
	}
	switch err := d.Decode(&more); {
	case err == nil:
		return nil, l.errorAt(&more, "", "the list has a second YAML document", "write it into a file of its own: several lists can be given")
	case !errors.Is(err, io.EOF):
		return nil, config.SyntaxError(l.path, err)
	}
	for i, key := range root.Content[0].Content {
		if root.Content[0].Kind == yaml.MappingNode && i%2 == 0 && member(root.Content[0], key.Value) != root.Content[0].Content[i+1] {
			return nil, l.errorAt(key, "", fmt.Sprintf("%q is given twice", key.Value), "write all servers below one of them")
		}
	}
	return &root, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		var bare *os.PathError
		if errors.As(err, &bare) {
			err = bare.Err
		}
		return nil, usagef(listAdvice, "the list %s can't be read: %v", path, err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	text, err := io.ReadAll(io.LimitReader(f, maxList+1))
	switch {
	case err != nil:
		return nil, usagef(listAdvice, "the list %s can't be read: %v", path, err)
	case len(text) > maxList:
		return nil, usagef("split it: several lists can be given", "the list %s is larger than %d MiB", path, maxList>>20)
	}
	return text, nil
}

// isClientConfig reports whether a document configures the servers of a client.
func isClientConfig(root *yaml.Node) bool {
	if len(root.Content) == 0 {
		return false
	}
	servers := member(root.Content[0], "servers")
	return member(root.Content[0], "mcpServers") != nil || member(root.Content[0], "mcp") != nil ||
		member(root.Content[0], "mcp.servers") != nil || servers != nil && servers.Kind == yaml.MappingNode
}

// member returns the value of a key of a mapping, or nil.
func member(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// readClientConfig returns the servers of a client's configuration file. Each is
// started as the client would start it.
func readClientConfig(path string) ([]Entry, error) {
	servers, err := target.ReadServers(path)
	if err != nil {
		return nil, err
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, usagef("", "%s: %v", path, err)
	}
	var out []Entry
	for _, s := range servers {
		out = append(out, Entry{Name: s.Name, isForeign: true, URL: s.URL, Args: []string{"--config", full, "--server", s.Name}, text: s.Text, place: path})
	}
	return out, nil
}

// A listReader reads the entries of one file. path is the file's path as the user gave it, and dir
// the absolute path of its folder. It collects what is wrong with the file.
type listReader struct {
	path, dir string
	errs      []error // of type *target.UsageError
}

// readEntries returns the servers of a document: a list in mcp-conform's own format, a page of the
// registry, one server.json, or a JSON or YAML list of registry pages, server.json objects or
// entries.
func (l *listReader) readEntries(root *yaml.Node) []Entry {
	items := []*yaml.Node{root}
	switch servers := member(root, "servers"); {
	case root.Kind == yaml.SequenceNode:
		items = root.Content
	case servers != nil && servers.Kind == yaml.SequenceNode:
		items = servers.Content
		l.checkListKeys(root, items)
	case servers != nil && servers.Tag == "!!null": // an empty page of the registry
		return nil
	case servers != nil && servers.Kind == yaml.AliasNode:
		l.complainOfAlias(servers)
		return nil
	case servers != nil:
		l.complain(servers, "", "servers is not a list", listAdvice)
		return nil
	case member(root, "name") == nil:
		l.complainOfNoList(root)
		return nil
	}
	var out []Entry
	for _, item := range items {
		switch {
		case item.Kind == yaml.AliasNode:
			l.complainOfAlias(item)
		case member(item, "servers") != nil: // a page of the registry
			out = append(out, l.readEntries(item)...)
		default:
			if e := l.readItem(item); e != nil {
				out = append(out, *e)
			}
		}
	}
	return out
}

// checkListKeys complains about unknown keys next to the servers, unless all servers come from a
// registry, whose pages may have any keys.
func (l *listReader) checkListKeys(root *yaml.Node, servers []*yaml.Node) {
	if !slices.ContainsFunc(servers, func(n *yaml.Node) bool { return registered(n) == nil && member(n, "servers") == nil }) {
		return
	}
	for i := 0; i < len(root.Content); i += 2 {
		key := root.Content[i]
		if slices.Contains([]string{"servers", "metadata", "$schema"}, key.Value) {
			continue
		}
		advice := "a list has no other key than servers"
		if near := spelling.Nearest(key.Value, itemTable.KeyNames()); near != "" {
			advice += "; write " + near + " in the entries of the servers to which it applies"
		}
		l.complain(key, "", fmt.Sprintf("unknown key %q next to servers", key.Value), advice)
	}
}

// complainOfNoList complains about a document without servers. If the document has the key
// mcpServers, or a key that is probably a misspelling of servers, the error names that key.
func (l *listReader) complainOfNoList(root *yaml.Node) {
	for i := 0; root.Kind == yaml.MappingNode && i < len(root.Content); i += 2 {
		switch key := root.Content[i]; {
		case key.Value == "mcpServers":
			l.complain(key, "", "it has the key mcpServers", "a client's configuration file is read as such if its name ends with .json")
			return
		case spelling.Nearest(key.Value, []string{"servers"}) != "":
			l.complain(key, "", fmt.Sprintf("unknown key %q", key.Value), "did you mean servers?")
			return
		}
	}
	l.complain(root, "", "it has no list of servers", listAdvice)
}

// complainOfAlias complains about a YAML alias in the place of entries.
func (l *listReader) complainOfAlias(n *yaml.Node) {
	l.complain(n, "", fmt.Sprintf("the alias *%s can't be an entry", n.Value), "write the entry out: each has a name of its own")
}

// registered returns the server.json in an item of a list, or nil if the item does not come from a
// registry.
func registered(item *yaml.Node) *yaml.Node {
	server := member(item, "server")
	if server == nil && (member(item, "packages") != nil || member(item, "remotes") != nil) {
		server = item
	}
	return server
}

// readItem returns the entry of an item. It returns nil if the item comes from a registry that has
// a newer version of the server, or has deleted the server. See readEntry for an item with errors.
func (l *listReader) readItem(item *yaml.Node) *Entry {
	server := registered(item)
	if server == nil {
		return l.readEntry(item)
	}
	official := member(member(item, "_meta"), "io.modelcontextprotocol.registry/official")
	if latest := member(official, "isLatest"); latest != nil && latest.Value == "false" {
		return nil // an older version of another entry
	}
	if status := member(official, "status"); status != nil && status.Value == "deleted" {
		return nil // deleted from the registry
	}
	return l.readRegistered(server)
}

// place returns the place of n in the list.
func (l *listReader) place(n *yaml.Node) string {
	return fmt.Sprintf("%s:%d:%d", l.path, n.Line, n.Column)
}

// errorAt returns an error at n. It mentions the server with this name, unless name is "".
func (l *listReader) errorAt(n *yaml.Node, name, what, advice string) error {
	if name != "" {
		what = fmt.Sprintf("server %q: %s", name, what)
	}
	return &target.UsageError{Where: l.place(n), What: what, Advice: advice}
}

// complain adds the error of errorAt.
func (l *listReader) complain(n *yaml.Node, name, what, advice string) {
	l.errs = append(l.errs, l.errorAt(n, name, what, advice))
}

// decodeError matches an error of the YAML decoder about a value of the wrong kind. The submatches
// are its line and its kind.
var decodeError = lazyregexp.New(`^(line \d+): cannot unmarshal !!(\w+)`)

// plainDecodeError describes an error of the YAML decoder without the types of Go.
func plainDecodeError(err error) string {
	var types *yaml.TypeError
	if !errors.As(err, &types) {
		return strings.TrimPrefix(err.Error(), "yaml: ")
	}
	var out []string
	for _, text := range types.Errors {
		if found := decodeError.FindStringSubmatch(text); found != nil {
			kind := map[string]string{"map": "a mapping", "seq": "a list", "str": "a string", "int": "a number", "float": "a number", "bool": "true or false", "null": "null"}[found[2]]
			text = found[1] + " has " + cmp.Or(kind, found[2]) + " where another kind of value is expected"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
