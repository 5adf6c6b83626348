package target

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// maxConfig is the maximum size of a configuration file, in bytes.
const maxConfig = 16 << 20

// A document is a configuration file, with the positions of its values.
type document struct {
	path string // as the user gave it
	text []byte
	root *node
}

// A node is one JSON value.
type node struct {
	offset  int      // the offset of its first byte
	value   any      // string, json.Number, bool or nil; '{' or '[' for objects and arrays
	names   []string // of an object: unique, in the order of the file
	members map[string]*node
	items   []*node
}

// readDocument reads a file; shown is its path as shown to the user.
func readDocument(path, shown string) (*document, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, newUsageError("", "the configuration file "+quote(shown)+" can't be read ("+messageWithoutPath(err)+")",
			"name a file like .mcp.json, .cursor/mcp.json, .vscode/mcp.json or claude_desktop_config.json")
	}
	defer func() { _ = f.Close() }() // opened for reading only
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, newUsageError("", "the configuration file "+quote(shown)+" is a folder",
			"name the file in it, like "+strings.TrimRight(shown, `/\`)+"/.mcp.json")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, newUsageError("", "the configuration file "+quote(shown)+" can't be read ("+messageWithoutPath(err)+")", "check its permissions")
	}
	if len(text) > maxConfig {
		return nil, newUsageError("", fmt.Sprintf("the configuration file %s is larger than %d MiB", quote(shown), maxConfig>>20),
			"name the file in which the server is configured")
	}
	return parseDocument(text, shown)
}

func parseDocument(text []byte, shown string) (*document, error) {
	d := &document{path: shown, text: text}
	if bytes.HasPrefix(text, []byte{0xFF, 0xFE}) || bytes.HasPrefix(text, []byte{0xFE, 0xFF}) {
		return nil, newUsageError(shown, "the file is in UTF-16, but JSON must be UTF-8", "save it as UTF-8")
	}
	plain := standardizeJSON(text)
	if isBlank(string(plain)) {
		return nil, newUsageError(shown, "the file is empty", `it should look like {"mcpServers": {"name": {"command": "…", "args": ["…"]}}}`)
	}
	var all json.RawMessage
	if err := json.Unmarshal(plain, &all); err != nil {
		offset := len(text)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && !strings.HasPrefix(err.Error(), "unexpected end") {
			offset = int(syntax.Offset) - 1
		}
		if bytes.HasPrefix(plain[offset:], []byte("/*")) {
			return nil, newUsageError(d.at(offset), "this is not JSON: a comment begins here and never ends", "close it with */")
		}
		return nil, newUsageError(d.at(offset), "this is not JSON: "+err.Error(),
			"correct the file there (comments and trailing commas are fine)")
	}
	reader := json.NewDecoder(bytes.NewReader(plain))
	reader.UseNumber()
	root, err := readNode(reader, plain)
	if err != nil {
		return nil, newUsageError(shown, "this is not JSON: "+err.Error(), "correct the file")
	}
	d.root = root
	return d, nil
}

// readNode reads the next value of well-formed JSON.
func readNode(reader *json.Decoder, text []byte) (*node, error) {
	n := &node{offset: int(reader.InputOffset())}
	for n.offset < len(text) && strings.IndexByte(" \t\r\n,:", text[n.offset]) >= 0 {
		n.offset++
	}
	token, err := reader.Token()
	if err != nil {
		return nil, err
	}
	n.value = token
	delim, _ := token.(json.Delim)
	switch delim {
	case '[':
		for reader.More() {
			item, err := readNode(reader, text)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
	case '{':
		n.members = map[string]*node{}
		for reader.More() {
			key, err := reader.Token()
			if err != nil {
				return nil, err
			}
			member, err := readNode(reader, text)
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			if n.members[name] == nil {
				n.names = append(n.names, name)
			}
			n.members[name] = member // the last of duplicate names counts, as in clients
		}
	default:
		return n, nil
	}
	_, err = reader.Token()
	return n, err
}

// at returns a position as file:line:column. Line and column count from 1, and the
// column counts characters, as in editors.
func (d *document) at(offset int) string {
	before := d.text[:min(max(offset, 0), len(d.text))]
	line := bytes.Count(before, []byte("\n")) + 1
	start := bytes.LastIndexByte(before, '\n') + 1
	return fmt.Sprintf("%s:%d:%d", d.path, line, utf8.RuneCount(before[start:])+1)
}

// kind returns the type of the value for messages, such as "a string".
func (n *node) kind() string {
	switch v := n.value.(type) {
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "an array"
	}
	return "null"
}

func (n *node) isObject() bool { return n != nil && n.members != nil }

// get returns a member of an object, or nil if it does not exist or is null.
func (n *node) get(name string) *node {
	if m := n.members[name]; m != nil && m.value != nil {
		return m
	}
	return nil
}
