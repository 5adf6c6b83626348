package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A File is the content of a configuration file.
type File struct {
	Shown  string // its path as shown to the user
	Folder string // the folder that contains it
	// Command and URL say how to reach the server. At most one of them is set.
	Command []string
	URL     string
	// Calls says which tools may be called, and how.
	Calls inventory.Config
	// Implementation is what conformance reports say about the server.
	Implementation verdict.Implementation
	// Identities are the users of a protected server, by name.
	Identities map[string]Identity
	// Settings are the values for flags, in the order of Keys.
	Settings []Setting
}

// An Identity is a user of a protected server. Its credentials are either the token in the
// environment variable BearerEnv, or the id of an OAuth client with the secret in the
// environment variable ClientSecretEnv.
type Identity struct {
	BearerEnv                 string
	ClientID, ClientSecretEnv string
}

// A Setting is a flag that the file sets.
type Setting struct {
	Flag     string
	Values   []string // one for each occurrence of a repeatable flag
	Variable string   // the environment variable that overrides it; may be ""
	Target   bool     // it only applies to the server that the file names
	Path     bool     // it is a path, relative to the folder of the file
	Where    string   // file:line:column of the value
}

// NamesServer reports whether the file names a server.
func (f *File) NamesServer() bool { return len(f.Command) > 0 || f.URL != "" }

// Absolute resolves a path of the file against the file's folder.
func (f *File) Absolute(path string) string {
	if filepath.IsAbs(path) || f.Folder == "" {
		return path
	}
	return filepath.Join(f.Folder, path)
}

// buildFile builds a File from a document that has the right keys and kinds of values. It checks
// what the table of keys can't express.
func (r *reader) buildFile(root *yaml.Node) (*File, error) {
	f := &File{Shown: r.shown}
	top := Keys()
	f.collectSettings(r, root, &top, false)
	t := valueOf(root, "target")
	f.Command = scalarTexts(valueOf(t, "command"))
	if n := valueOf(t, "command"); n != nil && n.Kind == yaml.ScalarNode {
		if strings.ContainsAny(n.Value, `"'\`) {
			return nil, usageError(r.location(n), "a command that contains quotes or backslashes is not split", "write it as a list, as [node, \"my server.js\"]")
		}
		f.Command = strings.Fields(n.Value)
	}
	if n := valueOf(t, "command"); n != nil && len(f.Command) == 0 {
		return nil, usageError(r.location(n), "the command is empty", "write the program that starts the server, and its arguments")
	}
	if n := valueOf(t, "url"); n != nil {
		f.URL = n.Value
		if f.Command != nil {
			return nil, usageError(r.location(n), "the target has a command and a URL", "remove one of them; to start the server of a URL, use start")
		}
	}
	about := valueOf(root, "implementation")
	f.Implementation = verdict.Implementation{
		Organization: textOf(about, "organization"), Project: textOf(about, "project"), URL: textOf(about, "url"),
		Version: textOf(about, "version"), Contact: scalarTexts(valueOf(about, "contact")),
	}
	if err := r.readIdentities(valueOf(root, "identities"), f); err != nil {
		return nil, err
	}
	if err := r.checkRevisions(valueOf(root, "revisions")); err != nil {
		return nil, err
	}
	if err := r.checkProfiles(valueOf(root, "profiles")); err != nil {
		return nil, err
	}
	if err := r.checkPlaceholders(root); err != nil {
		return nil, err
	}
	return f, r.readCalls(root, &f.Calls)
}

// readIdentities reads the identities. An identity without credentials, or with both kinds of them,
// is an error.
func (r *reader) readIdentities(n *yaml.Node, f *File) (err error) {
	forEachKey(n, func(name, one *yaml.Node) {
		i := Identity{BearerEnv: textOf(one, "bearer-env"), ClientID: textOf(one, "client-id"), ClientSecretEnv: textOf(one, "client-secret-env")}
		if err == nil && ((i.BearerEnv == "") == (i.ClientID == "") || (i.ClientID == "") != (i.ClientSecretEnv == "")) {
			err = usageError(r.location(name), "the identity "+quote(name.Value)+" needs exactly one kind of credentials", "give it either bearer-env, or client-id with client-secret-env")
		}
		if f.Identities == nil {
			f.Identities = map[string]Identity{}
		}
		f.Identities[name.Value] = i
	})
	return err
}

func (r *reader) checkRevisions(n *yaml.Node) error {
	for _, e := range elements(n) {
		if _, err := spec.ParseRevision(e.Value); err != nil {
			return usageError(r.location(e), err.Error(), "")
		}
	}
	return nil
}

// collectSettings collects the values of keys that are also flags.
func (f *File) collectSettings(r *reader, n *yaml.Node, k *Key, ofTarget bool) {
	for i := range k.Keys {
		key := &k.Keys[i]
		value := valueOf(n, key.Name)
		switch {
		case value == nil:
		case key.Kind == Mapping:
			f.collectSettings(r, value, key, key.Name == "target")
		case key.Flag != "" && key.Flag != callFlag:
			f.Settings = append(f.Settings, Setting{
				Flag: key.Flag, Values: flagValues(value, key), Variable: key.Variable, Target: ofTarget, Path: key.Path, Where: r.location(value),
			})
		}
	}
}

// callFlag is the flag of tools.call. That key does not become a Setting, because readCalls reads
// it.
const callFlag = "call-tools"

// flagValues returns the value of the key k as the values of the flag that overrides the key.
func flagValues(n *yaml.Node, k *Key) []string {
	if k.Kind != Scalars {
		return scalarTexts(n)
	}
	var out []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		switch {
		case k.Flag == "header":
			out = append(out, name+": "+value.Value)
		case value.ShortTag() == "!!null":
			out = append(out, name)
		default:
			out = append(out, name+"="+value.Value)
		}
	}
	return out
}

// readCalls reads tools, prompts, templates and fixtures.
func (r *reader) readCalls(root *yaml.Node, c *inventory.Config) error {
	tools := valueOf(root, "tools")
	if err := r.readPolicy(valueOf(tools, "call"), c); err != nil {
		return err
	}
	for _, e := range elements(valueOf(tools, "never")) {
		c.Never = append(c.Never, e.Value)
		r.addMention(c, inventory.MentionsTool, e)
	}
	forEachKey(valueOf(tools, "arguments"), func(name, value *yaml.Node) {
		for _, e := range elements(value) {
			if c.Arguments == nil {
				c.Arguments = map[string][]map[string]any{}
			}
			c.Arguments[name.Value] = append(c.Arguments[name.Value], decodeMapping(e))
		}
		r.addMention(c, inventory.MentionsTool, name)
	})
	forEachKey(valueOf(valueOf(root, "prompts"), "arguments"), func(name, value *yaml.Node) {
		if c.Prompts == nil {
			c.Prompts = map[string]map[string]any{}
		}
		c.Prompts[name.Value] = map[string]any{}
		forEachKey(value, func(argument, v *yaml.Node) { c.Prompts[name.Value][argument.Value] = v.Value })
		r.addMention(c, inventory.MentionsPrompt, name)
	})
	forEachKey(valueOf(root, "templates"), func(name, value *yaml.Node) {
		if c.Templates == nil {
			c.Templates = map[string]map[string]string{}
		}
		c.Templates[name.Value] = map[string]string{}
		forEachKey(value, func(variable, v *yaml.Node) { c.Templates[name.Value][variable.Value] = v.Value })
		r.addMention(c, inventory.MentionsTemplate, name)
	})
	return r.readFixtures(valueOf(root, "fixtures"), c)
}

// readPolicy reads tools.call. If it names tools but no policy, only these tools may be called.
func (r *reader) readPolicy(n *yaml.Node, c *inventory.Config) error {
	for _, e := range elements(n) {
		switch p := inventory.Policy(e.Value); {
		case !slices.Contains(policies, e.Value):
			c.Call = append(c.Call, e.Value)
			r.addMention(c, inventory.MentionsTool, e)
		case c.Policy != "" && c.Policy != p:
			return usageError(r.location(e), "\"tools.call\" has both "+string(c.Policy)+" and "+string(p), "remove one of them")
		default:
			c.Policy = p
		}
	}
	if len(c.Call) > 0 {
		c.Policy = cmp.Or(c.Policy, inventory.CallNone)
	}
	return nil
}

// readFixtures reads the fixtures. The tool of a fixture may be called, so it must not be in
// tools.never. It also returns an error for a tool that is in both tools.call and tools.never.
func (r *reader) readFixtures(n *yaml.Node, c *inventory.Config) error {
	var err error
	forEachKey(n, func(role, value *yaml.Node) {
		for _, e := range elements(value) {
			tool := valueOf(e, "tool")
			f := inventory.Fixture{
				Role: inventory.Role(role.Value), Tool: tool.Value, Arguments: decodeMapping(valueOf(e, "arguments")), Levels: scalarTexts(valueOf(e, "levels")), Where: r.location(tool),
			}
			if uri := valueOf(e, "resource"); uri != nil {
				f.Resource = uri.Value
			}
			if slices.Contains(c.Never, f.Tool) && err == nil {
				err = usageError(r.location(tool), "the tool "+quote(f.Tool)+" is a fixture, but is also in tools.never", "remove it here, or from tools.never")
			}
			c.Fixtures = append(c.Fixtures, f)
			r.addMention(c, inventory.MentionsTool, tool)
		}
	})
	for _, name := range c.Never {
		if i := slices.Index(c.Call, name); i >= 0 && err == nil {
			err = usageError(r.shown, "the tool "+quote(name)+" is both in tools.call and in tools.never", "remove it from one of them")
		}
	}
	return err
}

// addMention records where the file names a tool, a prompt or a template.
func (r *reader) addMention(c *inventory.Config, kind inventory.MentionKind, n *yaml.Node) {
	c.Mentions = append(c.Mentions, inventory.Mention{Kind: kind, Name: n.Value, Where: r.location(n)})
}

// valueOf returns the value of a key, or nil if the key or the mapping is missing.
func valueOf(n *yaml.Node, name string) *yaml.Node {
	var out *yaml.Node
	forEachKey(n, func(key, value *yaml.Node) {
		if key.Value == name {
			out = value
		}
	})
	return out
}

// textOf returns the scalar value of a key, "" if the key or the mapping is missing.
func textOf(n *yaml.Node, name string) string {
	if v := valueOf(n, name); v != nil {
		return v.Value
	}
	return ""
}

func forEachKey(n *yaml.Node, f func(key, value *yaml.Node)) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f(n.Content[i], n.Content[i+1])
	}
}

// elements returns the elements of a list, or a single value as one element.
func elements(n *yaml.Node) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.SequenceNode:
		return n.Content
	default:
		return []*yaml.Node{n}
	}
}

func scalarTexts(n *yaml.Node) []string {
	var out []string
	for _, e := range elements(n) {
		out = append(out, e.Value)
	}
	return out
}

func decodeMapping(n *yaml.Node) map[string]any {
	out := map[string]any{}
	forEachKey(n, func(key, value *yaml.Node) { out[key.Value] = decodeValue(value) })
	return out
}

// decodeValue converts a value, which was checked before, to one that encoding/json can write.
func decodeValue(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		return decodeMapping(n)
	case yaml.SequenceNode:
		out := []any{}
		for _, e := range n.Content {
			out = append(out, decodeValue(e))
		}
		return out
	default:
		v, _ := scalarValue(n)
		return v
	}
}
