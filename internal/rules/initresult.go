package rules

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// refusedOutright tells whether an initialize without anything odd was refused
// for another reason than its version, or that there is no initialize here.
func refusedOutright(a *Asked) bool {
	m, params := a.Replies[0], a.Message.Params()
	if !hasError(m) || m.Has("result") || !a.WellFormed || a.batched {
		return false
	}
	version, _ := wire.Text(wire.At(params, "/protocolVersion"))
	if r := spec.Revision(version); !r.Published() || r.Era() != spec.Handshake {
		return false
	}
	for _, name := range []string{"name", "version"} {
		if _, ok := wire.Text(wire.At(params, "/clientInfo/"+name)); !ok {
			return false
		}
	}
	names, _ := wire.Members(wire.At(params, "/capabilities"))
	if wire.At(params, "/capabilities").Kind() != '{' || slices.ContainsFunc(names, isUnknownCapability) {
		return false // what it is refused for is judged where it is sent
	}
	switch code, _ := m.ErrorCode(); spec.Code(code) {
	case spec.CodeInvalidParams, spec.CodeMethodNotFound, spec.CodeUnsupported:
		return false
	}
	return !bytes.Contains(bytes.ToLower(m.Member("error")), []byte("version"))
}

func isUnknownCapability(name string) bool {
	return !slices.Contains([]string{"roots", "sampling", "elicitation"}, name)
}

// missingMember returns the first member that the result of initialize should
// have and does not; a member of the wrong type is there.
func missingMember(result jsontext.Value) string {
	for _, pointer := range []string{"/protocolVersion", "/capabilities", "/serverInfo"} {
		if wire.At(result, pointer) == nil {
			return pointer[1:]
		}
	}
	if info := wire.At(result, "/serverInfo"); info.Kind() == '{' {
		for _, name := range []string{"name", "version"} {
			if wire.At(info, "/"+name) == nil {
				return "serverInfo." + name
			}
		}
	}
	return ""
}

// typed is a member of the result of initialize with the JSON type that its
// schema gives it.
type typed struct {
	pointer string
	kind    jsontext.Kind
	since   spec.Revision
}

// initializeTypes are the members that have a type of their own; all others,
// and capabilities that the revision does not know, are free. The capability
// of tasks is judged where tasks are.
var initializeTypes = []typed{
	{"/protocolVersion", '"', spec.V20241105},
	{"/instructions", '"', spec.V20241105},
	{"/_meta", '{', spec.V20241105},
	{"/serverInfo", '{', spec.V20241105},
	{"/serverInfo/name", '"', spec.V20241105},
	{"/serverInfo/version", '"', spec.V20241105},
	{"/serverInfo/title", '"', spec.V20250618},
	{"/serverInfo/websiteUrl", '"', spec.V20251125},
	{"/serverInfo/icons", '[', spec.V20251125},
	{"/capabilities", '{', spec.V20241105},
	{"/capabilities/experimental", '{', spec.V20241105},
	{"/capabilities/logging", '{', spec.V20241105},
	{"/capabilities/prompts", '{', spec.V20241105},
	{"/capabilities/prompts/listChanged", 't', spec.V20241105},
	{"/capabilities/resources", '{', spec.V20241105},
	{"/capabilities/resources/subscribe", 't', spec.V20241105},
	{"/capabilities/resources/listChanged", 't', spec.V20241105},
	{"/capabilities/tools", '{', spec.V20241105},
	{"/capabilities/tools/listChanged", 't', spec.V20241105},
	{"/capabilities/completions", '{', spec.V20250326},
}

var kindNames = map[jsontext.Kind]string{'"': "a string", '{': "an object", '[': "an array", 't': "true or false"}

// mistyped returns where the result first differs from its schema, and what
// should stand there; "" when it does not.
func mistyped(result jsontext.Value, r spec.Revision) (pointer, want string) {
	for _, t := range initializeTypes {
		v := wire.At(result, t.pointer)
		if v == nil || !r.AtLeast(t.since) {
			continue
		}
		kind := v.Kind()
		if kind == 'f' {
			kind = 't'
		}
		if kind != t.kind {
			return t.pointer, kindNames[t.kind]
		}
	}
	names, values := wire.Members(wire.At(result, "/capabilities/experimental"))
	for _, name := range names {
		if values[name].Kind() != '{' {
			return "/capabilities/experimental", "an object of objects"
		}
	}
	return "", ""
}
