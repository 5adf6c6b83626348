package target

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spelling"
)

// wellKnown are the files in the current folder that are searched if --server is given
// without --config.
var wellKnown = []string{".mcp.json", filepath.Join(".cursor", "mcp.json"), filepath.Join(".vscode", "mcp.json")}

// An entry is one server that a file configures.
type entry struct {
	name   string
	doc    *document
	node   *node
	inputs []input
	editor bool // VS Code's rules apply: the file has "servers", not "mcpServers"
}

// fromConfig finds the server in the file of --config or, without the flag, in a well-known file.
func (r *resolver) fromConfig() (Target, error) {
	if r.ConfigFile == "" {
		return r.fromWellKnown()
	}
	if isBlank(r.ConfigFile) {
		return Target{}, newUsageError("", "--config names no file: its value is only spaces",
			"check whether the variable that should hold the path is empty")
	}
	shown := r.ConfigFile
	doc, err := readDocument(r.absolute(r.expandTilde(shown), r.here), shown)
	if err != nil {
		return Target{}, err
	}
	entries, err := doc.servers()
	if err != nil {
		return Target{}, err
	}
	e, err := selectEntry(entries, r.ServerName, shown)
	if err != nil {
		return Target{}, err
	}
	return r.entryTarget(e, "server "+quote(e.name)+" in "+shown)
}

// fromWellKnown searches the well-known configuration files of the current folder for the
// server.
func (r *resolver) fromWellKnown() (Target, error) {
	var all []entry
	var files []string
	for _, name := range wellKnown {
		if _, err := os.Stat(filepath.Join(r.here, name)); err != nil {
			continue
		}
		doc, err := readDocument(filepath.Join(r.here, name), name)
		if err != nil {
			return Target{}, err
		}
		entries, err := doc.servers()
		if err != nil {
			return Target{}, err
		}
		files = append(files, name)
		all = append(all, entries...)
	}
	if len(files) == 0 {
		return Target{}, newUsageError("", "--server is given without --config, and the current folder has no configuration file",
			"looked for "+strings.Join(wellKnown, ", ")+" in "+r.here+";",
			"name the file: mcp-conform run --config FILE --server "+quoteAll([]string{r.ServerName}))
	}
	e, err := selectEntry(all, r.ServerName, strings.Join(files, ", "))
	if err != nil {
		return Target{}, err
	}
	return r.entryTarget(e, "server "+quote(e.name)+" in "+e.doc.path+" (found in the current folder)")
}

// configFlags returns the flags for the configuration file and the server in it.
func (r *resolver) configFlags() []string {
	var flags []string
	if r.ConfigFile != "" {
		flags = append(flags, "--config", r.ConfigFile)
	}
	if r.ServerName != "" {
		flags = append(flags, "--server", r.ServerName)
	}
	return flags
}

// servers returns the servers that the file configures, in any client's format. A file without a
// list of servers is an error, but the list may be empty.
func (d *document) servers() ([]entry, error) {
	if !d.root.isObject() {
		return nil, newUsageError(d.at(d.root.offset), "a configuration file holds an object, and this is "+d.root.kind(),
			`it should look like {"mcpServers": {"name": {"command": "…", "args": ["…"]}}}`)
	}
	root := d.root
	places := []struct {
		key    string
		node   *node
		inputs *node
		editor bool
	}{
		{"mcpServers", root.get("mcpServers"), root.get("inputs"), false},
		{"servers", root.get("servers"), root.get("inputs"), true},
		{"mcp.servers", root.get("mcp.servers"), root.get("mcp.inputs"), true},
	}
	if mcp := root.get("mcp"); mcp.isObject() {
		places = append(places, places[1])
		last := &places[len(places)-1]
		last.key, last.node, last.inputs = "mcp.servers", mcp.get("servers"), mcp.get("inputs")
	}
	var entries []entry
	found := false
	for _, place := range places {
		if place.node == nil {
			continue
		}
		found = true
		if !place.node.isObject() {
			return nil, newUsageError(d.at(place.node.offset), quote(place.key)+" must be an object of servers by name, and is "+place.node.kind(),
				`write "`+place.key+`": {"name": {"command": "…", "args": ["…"]}}`)
		}
		inputs := readInputs(place.inputs)
		for _, name := range place.node.names {
			entries = append(entries, entry{name: name, doc: d, node: place.node.members[name], inputs: inputs, editor: place.editor})
		}
	}
	if !found {
		return nil, d.noServersError()
	}
	return entries, nil
}

func (d *document) noServersError() error {
	advice := []string{`servers belong under "mcpServers" (.mcp.json, Claude, Cursor), "servers" (.vscode/mcp.json) or "mcp": {"servers": …} (VS Code's settings.json)`}
	if d.root.get("command") != nil || d.root.get("url") != nil {
		advice = []string{"this is one server without a name around it; write:", `  {"mcpServers": {"name": … what the file has now … }}`}
	} else if len(d.root.names) > 0 && d.root.members[d.root.names[0]].has("command") {
		advice = []string{`put "mcpServers" around the servers:`, `  {"mcpServers": … what the file has now … }`}
	}
	return newUsageError(d.at(d.root.offset), "the file configures no servers", advice...)
}

// has reports whether n is an object in which the named member exists and is not null.
func (n *node) has(name string) bool { return n.isObject() && n.get(name) != nil }

// selectEntry returns the server with that name, or the only server if name is "". If two servers
// have the same name, it returns the first. The argument files names the files that were searched,
// for errors.
func selectEntry(entries []entry, name, files string) (entry, error) {
	if len(entries) == 0 {
		return entry{}, newUsageError(files, "the file configures no servers: the list is empty",
			`add one: {"mcpServers": {"name": {"command": "…", "args": ["…"]}}}`)
	}
	var names []string
	for _, e := range entries {
		if e.name == name {
			return e, nil
		}
		if !slices.Contains(names, e.name) {
			names = append(names, e.name)
		}
	}
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = quote(n)
	}
	switch {
	case name == "" && len(names) == 1:
		return entries[0], nil
	case name == "":
		return entry{}, newUsageError(files, "the file configures several servers, but --server is not given",
			"add --server with one of "+strings.Join(list, ", "))
	}
	advice := "it has " + strings.Join(list, ", ")
	if n := spelling.Nearest(name, names); n != "" {
		advice = "did you mean " + quote(n) + "? " + advice
	}
	return entry{}, newUsageError(files, "there is no server "+quote(name), advice)
}
