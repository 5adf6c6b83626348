package inventory

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Policy selects the tools that may be called.
type Policy string

// The policies.
const (
	// CallSafe calls only tools whose readOnlyHint is true and, if the server is made for the
	// official suite, the suite's tools.
	CallSafe Policy = "safe"
	// CallAll calls any tool. It is for servers that can do no harm.
	CallAll Policy = "all"
	// CallNone calls no tool.
	CallNone Policy = "none"
)

// Policies returns all policies.
func Policies() []Policy { return []Policy{CallSafe, CallAll, CallNone} }

// Config is the part of the configuration that is about what a server offers. The zero Config calls
// no tool.
type Config struct {
	Policy Policy
	// Call are the names of tools that may be called in addition to those that Policy selects.
	Call []string
	// Never are the names of tools that are never called, whatever the other fields say.
	Never []string
	// Arguments are good arguments of tools, by the tool's name, one entry for each call.
	Arguments map[string][]map[string]any
	// Prompts are good values for the arguments of prompts, by the prompt's name.
	Prompts map[string]map[string]any
	// Templates are good values for the variables of URI templates, by template.
	Templates map[string]map[string]string
	// Fixtures are calls that play a role. Their tools may be called.
	Fixtures []Fixture
	// Mentions are the names of tools, prompts and templates in the other fields, with their places
	// in the configuration.
	Mentions []Mention
}

// Callable returns the tools that may be called.
func (v *Inventory) Callable() []Tool {
	var out []Tool
	official := v.isForOfficialSuite()
	for _, t := range v.Tools {
		if v.mayCall(t, official) {
			out = append(out, t)
		}
	}
	return out
}

// Tool returns the tool with the given name, and whether the server offers it and it may be called.
func (v *Inventory) Tool(name string) (Tool, bool) {
	for _, t := range v.Tools {
		if t.Name == name {
			return t, v.mayCall(t, v.isForOfficialSuite())
		}
	}
	return Tool{}, false
}

// CallsAll reports whether the policy allows all tools that are not excluded by
// name.
func (v *Inventory) CallsAll() bool { return v.config.Policy == CallAll }

func (v *Inventory) mayCall(t Tool, official bool) bool {
	switch {
	case slices.Contains(v.config.Never, t.Name):
		return false
	case slices.Contains(v.config.Call, t.Name):
		return true
	case slices.ContainsFunc(v.config.Fixtures, func(f Fixture) bool { return f.Tool == t.Name }):
		return true
	case v.config.Policy == CallAll:
		return true
	case v.config.Policy == CallSafe:
		return t.ReadOnly || official && slices.Contains(officialTools, t.Name)
	default:
		return false
	}
}

// isForOfficialSuite reports whether the server is made for the official suite: it offers at least
// officialEnough of the suite's tools.
func (v *Inventory) isForOfficialSuite() bool { return v.countOffered(officialTools) >= officialEnough }

// countOffered returns how many of the server's tools have one of the names.
func (v *Inventory) countOffered(names []string) int {
	n := 0
	for _, t := range v.Tools {
		if slices.Contains(names, t.Name) {
			n++
		}
	}
	return n
}

// knownGoodArguments returns the known good arguments of a tool.
func (c Config) knownGoodArguments(name string, tool jsontext.Value) []map[string]any {
	if own, ok := c.Arguments[name]; ok {
		return own
	}
	known, ok := knownArguments[name]
	if !ok {
		return nil
	}
	_, properties := wire.Members(wire.At(tool, "/inputSchema/properties"))
	for argument := range known {
		if properties[argument] == nil {
			return nil // another tool of that name
		}
	}
	return []map[string]any{known}
}

// PromisedExpansion returns values for the variables of a URI template, if the author promises that
// the expansion can be read: in the configuration, or by making the server for the official suite.
func (v *Inventory) PromisedExpansion(template string) (map[string]string, bool) {
	values, ok := v.config.Templates[template]
	if !ok && v.isForOfficialSuite() {
		values, ok = officialExpansions[template]
	}
	return values, ok
}

// values returns the known good values for a prompt's arguments.
func (c Config) values(prompt string) map[string]any {
	if own, ok := c.Prompts[prompt]; ok {
		return own
	}
	return knownValues[prompt]
}

// A MentionKind is the kind of a name in the configuration.
type MentionKind string

// The kinds of names in the configuration.
const (
	MentionsTool     MentionKind = "tool"
	MentionsPrompt   MentionKind = "prompt"
	MentionsTemplate MentionKind = "template"
)

// A Mention is a name in the configuration, with its place.
type Mention struct {
	Kind  MentionKind
	Name  string
	Where string // file:line:column
}

// UnknownNames returns a notice for each name in the configuration that is in none of the
// inventories, if the list in which it should be is complete in all of them.
func (c Config) UnknownNames(all []*Inventory) []string {
	var out []string
	for _, m := range c.Mentions {
		if text := fmt.Sprintf("%s names the %s %q, which the server does not offer", m.Where, m.Kind, m.Name); !slices.Contains(out, text) && m.isUnknown(all) {
			out = append(out, text)
		}
	}
	return out
}

func (m Mention) isUnknown(all []*Inventory) bool {
	for _, v := range all {
		list, have := v.namesOfKind(m.Kind)
		if v.Incomplete[list] != "" || slices.Contains(have, m.Name) {
			return false
		}
	}
	return len(all) > 0
}

// namesOfKind returns the names of a kind, and the method that lists them.
func (v *Inventory) namesOfKind(kind MentionKind) (method string, names []string) {
	switch kind {
	case MentionsPrompt:
		return spec.MethodPromptsList, v.Prompts
	case MentionsTemplate:
		return spec.MethodResourcesTemplates, v.Templates
	default:
		for _, t := range v.Tools {
			names = append(names, t.Name)
		}
		return spec.MethodToolsList, names
	}
}
