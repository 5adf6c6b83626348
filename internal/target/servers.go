package target

import "encoding/json"

// A ConfiguredServer is a server in a configuration file.
type ConfiguredServer struct {
	Name string
	URL  string // as written in the file, with its variables; "" for a command
	Text []byte // the whole entry as JSON
}

// ReadServers returns the servers that a client's configuration file names, in the order of the
// file. Its errors are of type *UsageError.
func ReadServers(path string) ([]ConfiguredServer, error) {
	doc, err := readDocument(path, path)
	if err != nil {
		return nil, err
	}
	entries, err := doc.servers()
	if err != nil {
		return nil, err
	}
	out := make([]ConfiguredServer, len(entries))
	for i, e := range entries {
		out[i].Name = e.name
		if url := e.node.get("url"); url != nil {
			out[i].URL, _ = url.value.(string)
		}
		if out[i].Text, err = json.Marshal(e.node.plain()); err != nil {
			return nil, newUsageError(e.doc.at(e.node.offset), "server "+quote(e.name)+" can't be read: "+err.Error(), "correct the file there")
		}
	}
	return out, nil
}

// plain returns the value as encoding/json decodes it, with numbers of type json.Number.
func (n *node) plain() any {
	switch {
	case n.members != nil:
		out := make(map[string]any, len(n.members))
		for name, member := range n.members {
			out[name] = member.plain()
		}
		return out
	case n.items != nil:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.plain()
		}
		return out
	}
	if _, empty := n.value.(json.Delim); empty {
		return []any{}
	}
	return n.value
}
