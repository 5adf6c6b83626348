package target

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/spelling"
)

// An input is a value that VS Code would prompt its user for.
type input struct {
	id, description string
	fallback        string
	hasFallback     bool
	options         []string // the permitted values; empty if any value is permitted
	password        bool
}

// readInputs reads the list of inputs, and ignores elements that are not inputs.
func readInputs(list *node) []input {
	if list == nil {
		return nil
	}
	var inputs []input
	for _, item := range list.items {
		if !item.isObject() {
			continue
		}
		in := input{id: item.stringMember("id"), description: item.stringMember("description")}
		in.password = item.isTrue("password")
		if d := item.get("default"); d != nil {
			in.fallback, in.hasFallback = d.value.(string)
		}
		if options := item.get("options"); options != nil {
			for _, o := range options.items {
				if s, ok := o.value.(string); ok {
					in.options = append(in.options, s)
				} else if o.isObject() {
					in.options = append(in.options, o.stringMember("value"))
				}
			}
		}
		if in.id != "" {
			inputs = append(inputs, in)
		}
	}
	return inputs
}

// stringMember returns the value of a member, or "" if it is missing or not a string.
func (n *node) stringMember(name string) string {
	if m := n.get(name); m != nil {
		s, _ := m.value.(string)
		return s
	}
	return ""
}

// inputVariable returns the environment variable that sets an input.
func inputVariable(id string) string {
	return "MCP_CONFORM_INPUT_" + strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z':
			return c - 'a' + 'A'
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			return c
		}
		return '_'
	}, id)
}

// inputFlags are the values of --input, by id.
type inputFlags struct {
	ids    []string
	values map[string]string
}

func (r *resolver) parseInputs() (inputFlags, error) {
	given := inputFlags{values: map[string]string{}}
	for _, flag := range r.Inputs {
		id, value, hasValue := strings.Cut(flag, "=")
		if isBlank(id) {
			return given, newUsageError("", "--input begins with =, so it names no input", "write --input ID=value, with an id from the file's inputs")
		}
		if !hasValue {
			v, ok := r.outer.get(inputVariable(id))
			if !ok {
				return given, newUsageError("", "--input "+redact.Arg(id)+" takes the value from the variable "+inputVariable(id)+", which is not set",
					"set it before, or write --input "+redact.Arg(id)+"=value")
			}
			value = v
		}
		if !slices.Contains(given.ids, id) {
			given.ids = append(given.ids, id)
		}
		given.values[id] = value
	}
	return given, nil
}

// checkIDs returns an error if --input sets an id that the server does not refer to and the file
// does not list. Such an id is probably misspelt, and the intended input would be missing.
func (x *expander) checkIDs() error {
	known := slices.Clone(x.asked)
	for _, in := range x.entry.inputs {
		if !slices.Contains(known, in.id) {
			known = append(known, in.id)
		}
	}
	for _, id := range x.given.ids {
		if slices.Contains(known, id) {
			continue
		}
		if len(known) == 0 {
			return newUsageError(x.entry.doc.path, "--input gives "+quote(redact.Arg(id))+", but the file has no inputs", "leave it out")
		}
		advice := "it has " + strings.Join(known, ", ")
		if n := spelling.Nearest(id, known); n != "" {
			advice = "did you mean " + n + "? " + advice
		}
		return newUsageError(x.entry.doc.path, "--input gives "+quote(redact.Arg(id))+", but the file has no such input", advice)
	}
	return nil
}
