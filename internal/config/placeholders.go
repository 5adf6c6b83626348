package config

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
)

// These placeholders represent the user's own values in suggested lines. A user who copies a line
// has to replace them.
const (
	anyName  = "NAME"
	anyValue = "VALUE"
	anyURI   = "URI"
	anything = "…"
)

// checkPlaceholders rejects placeholders that were copied from lines which the documentation, a
// report or mcp-conform init suggest.
func (r *reader) checkPlaceholders(root *yaml.Node) error {
	tools := valueOf(root, "tools")
	for _, name := range []string{"call", "never"} {
		for _, e := range elements(valueOf(tools, name)) {
			if e.Value == anyName {
				return r.placeholderError(e, "tools."+name, "the name of a tool of the server")
			}
		}
	}
	for _, at := range []struct {
		path   string
		values *yaml.Node
	}{
		{"tools.arguments", valueOf(tools, "arguments")},
		{"prompts.arguments", valueOf(valueOf(root, "prompts"), "arguments")},
		{"templates", valueOf(root, "templates")},
	} {
		if e := findPlaceholder(at.values); e != nil {
			return r.placeholderError(e, at.path, "what the server takes")
		}
	}
	for _, role := range inventory.Roles() {
		path := "fixtures." + string(role)
		for _, e := range elements(valueOf(valueOf(root, "fixtures"), string(role))) {
			if n := valueOf(e, "tool"); n.Value == anyName || strings.Contains(n.Value, anything) {
				return r.placeholderError(n, path+".tool", "the name of a tool of the server")
			}
			if n := valueOf(e, "resource"); n != nil && n.Value == anyURI {
				return r.placeholderError(n, path+".resource", "the URI of the resource that the call changes")
			}
			if n := findPlaceholder(valueOf(e, "arguments")); n != nil {
				return r.placeholderError(n, path+".arguments", "the arguments of the call, or {} for none")
			}
		}
	}
	return nil
}

// findPlaceholder returns the first key or value in n that is VALUE, … or {…}, or nil if there is
// none. It does not look for NAME and URI.
func findPlaceholder(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		if n.Value == anyValue || n.Value == anything || n.Value == "{"+anything+"}" {
			return n
		}
		return nil
	}
	for _, below := range n.Content {
		if left := findPlaceholder(below); left != nil {
			return left
		}
	}
	return nil
}

func (r *reader) placeholderError(n *yaml.Node, path, meant string) error {
	return usageError(r.location(n), quote(path)+" still contains the placeholder "+n.Value, "replace it with "+meant+", or remove the line")
}
