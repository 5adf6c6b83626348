package baseline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// maxSize is the maximum size of a baseline file, in bytes.
const maxSize = 1 << 20

// A FileError describes what is wrong with a file, and where.
type FileError struct {
	Path   string
	Line   int // from 1; 0 for the file as a whole
	What   string
	Advice string
}

func (e *FileError) Error() string {
	where := e.Path
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", e.Path, e.Line)
	}
	return where + ": " + e.What
}

// Read reads a baseline from a file. Its errors are of type *FileError.
func Read(path string) (*Baseline, error) {
	f, err := os.Open(path)
	if err != nil {
		var bare *os.PathError
		if errors.As(err, &bare) {
			err = bare.Err
		}
		return nil, &FileError{Path: path, What: "it can't be read: " + err.Error(), Advice: "mcp-conform baseline write makes one of a report"}
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, &FileError{Path: path, What: "it can't be read: " + err.Error()}
	}
	return Parse(path, text)
}

// Parse parses the text of a baseline file. path is its name in errors, which are of type
// *FileError.
func Parse(path string, text []byte) (*Baseline, error) {
	p := parser{path: path}
	if len(text) > maxSize {
		return nil, p.errorf(0, "list requirements, not single findings", "it has more than %d bytes", maxSize)
	}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return &Baseline{Path: path}, nil // there are no known findings
	} else if err != nil {
		return nil, p.errorf(0, "", "it is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	root := document.Content[0]
	members, err := p.members(root, "known")
	if err != nil {
		return nil, err
	}
	b := &Baseline{Path: path}
	list := members["known"]
	if list == nil || list.Tag == "!!null" {
		return b, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, p.errorf(list.Line, "write - requirement: … below it", "known is not a list")
	}
	for _, n := range list.Content {
		e, err := p.entry(n)
		if err != nil {
			return nil, err
		}
		for _, other := range b.Entries {
			if other.Requirement == e.Requirement && other.Revision == e.Revision && other.Transport == e.Transport {
				return nil, p.errorf(e.Line, "remove one of them", "%s is given twice: first in line %d", e.Requirement, other.Line)
			}
		}
		b.Entries = append(b.Entries, e)
	}
	return b, nil
}

type parser struct{ path string }

func (p parser) errorf(line int, advice, format string, args ...any) *FileError {
	return &FileError{Path: p.path, Line: line, What: fmt.Sprintf(format, args...), Advice: advice}
}

// members returns the members of a mapping, which may only have the given keys.
func (p parser) members(n *yaml.Node, keys ...string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, p.errorf(n.Line, "write "+keys[0]+": …", "a mapping is expected here")
	}
	out := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		known := false
		for _, k := range keys {
			known = known || k == key.Value
		}
		switch {
		case !known:
			return nil, p.errorf(key.Line, "known keys: "+strings.Join(keys, ", "), "there is no key %q", key.Value)
		case out[key.Value] != nil:
			return nil, p.errorf(key.Line, "remove one of them", "the key %q is given twice", key.Value)
		case value.Kind == yaml.AliasNode:
			return nil, p.errorf(value.Line, "write the value itself", "the value of %q is an alias", key.Value)
		}
		out[key.Value] = value
	}
	return out, nil
}

func (p parser) entry(n *yaml.Node) (Entry, error) {
	e := Entry{Line: n.Line}
	members, err := p.members(n, "requirement", "revision", "transport", "reason", "expires")
	if err != nil {
		return e, err
	}
	texts := map[string]string{}
	for key, value := range members {
		if value.Kind != yaml.ScalarNode {
			return e, p.errorf(value.Line, "write a text", "%s is not a string", key)
		}
		texts[key] = strings.TrimSpace(value.Value)
	}
	e.Requirement, e.Reason = texts["requirement"], texts["reason"]
	switch {
	case e.Requirement == "":
		return e, p.errorf(n.Line, "write requirement: ID, as reports show it", "the entry names no requirement")
	case spec.Requirements().Lookup(e.Requirement) == nil:
		return e, p.errorf(members["requirement"].Line, "mcp-conform list requirements shows all", "there is no requirement %q", e.Requirement)
	case e.Reason == "":
		return e, p.errorf(n.Line, "write reason: and why the finding is accepted", "%s has no reason", e.Requirement)
	}
	if text := texts["revision"]; text != "" {
		if e.Revision, err = spec.ParseRevision(text); err != nil {
			return e, p.errorf(members["revision"].Line, "", "revision: %v", err)
		}
	}
	if text := texts["transport"]; text != "" {
		e.Transport = spec.Transport(text)
		if e.Transport != spec.Stdio && e.Transport != spec.StreamableHTTP && e.Transport != spec.SSE {
			return e, p.errorf(members["transport"].Line, fmt.Sprintf("known transports: %s, %s, %s", spec.Stdio, spec.StreamableHTTP, spec.SSE), "there is no transport %q", text)
		}
	}
	if text := texts["expires"]; text != "" {
		if e.Expires, err = time.Parse(time.DateOnly, text); err != nil {
			return e, p.errorf(members["expires"].Line, "write a date such as 2027-03-31", "expires: %q is not a date", text)
		}
	}
	return e, nil
}
