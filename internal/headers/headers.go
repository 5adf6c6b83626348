// Package headers reads and writes the headers of a POST that mirror members of its message
// (2026-07-28, basic/transports/streamable-http#request-metadata). The client writes them, and
// rules compare them with the message.
package headers

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// The headers that mirror the message.
const (
	Version = "MCP-Protocol-Version"
	Method  = "Mcp-Method"
	Name    = "Mcp-Name"
	Param   = "Mcp-Param-" // followed by a name
)

// nameMembers are the members of params that Mcp-Name mirrors, by method.
var nameMembers = map[string]string{
	spec.MethodToolsCall: "name", spec.MethodPromptsGet: "name", spec.MethodResourcesRead: "uri",
}

// RequiresNameHeader reports whether requests of the method require an Mcp-Name header.
func RequiresNameHeader(method string) bool { return nameMembers[method] != "" }

// RawName returns the value that Mcp-Name mirrors, whatever its type. It returns nil if the request
// has no such value.
func RawName(m *wire.Message) jsontext.Value {
	if !RequiresNameHeader(m.Method) {
		return nil
	}
	return m.ParamAt("/" + nameMembers[m.Method])
}

// NameOf returns the text that Mcp-Name mirrors. It returns false if the method requires no name,
// or if the request has none to mirror.
func NameOf(m *wire.Message) (string, bool) { return wire.Text(RawName(m)) }

// The marks of a value in the Base64 form.
const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// Encode returns a value as a header carries it: in the Base64 form if the value has characters
// other than printable ASCII and tabs, begins or ends with white space, or looks like the Base64
// form itself; otherwise unchanged.
func Encode(value string) string {
	if strings.TrimSpace(value) != value || IsEncoded(value) || !isPlain(value) {
		return EncodeBase64(value)
	}
	return value
}

// EncodeBase64 returns a value in the Base64 form.
func EncodeBase64(value string) string {
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(value)) + encodedSuffix
}

// Decode returns a header value, decoded if it is in the Base64 form. It returns false if the value
// has characters other than printable ASCII and tabs, or if it is in the Base64 form but is not
// valid Base64 of UTF-8.
func Decode(value string) (string, bool) {
	if IsEncoded(value) && len(value) >= len(encodedPrefix)+len(encodedSuffix) {
		decoded, err := base64.StdEncoding.DecodeString(value[len(encodedPrefix) : len(value)-len(encodedSuffix)])
		return string(decoded), err == nil && utf8.Valid(decoded)
	}
	return value, isPlain(value)
}

// IsEncoded reports whether a header value has the marks of the Base64 form.
func IsEncoded(value string) bool {
	return strings.HasPrefix(value, encodedPrefix) && strings.HasSuffix(value, encodedSuffix)
}

// isPlain reports whether a value has only printable ASCII characters and tabs.
func isPlain(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return (r < ' ' || r > '~') && r != '\t' })
}

// An Argument is a tool argument that a header mirrors.
type Argument struct {
	Name string   // of the header, after Mcp-Param-
	Path []string // the names of the properties that lead to the argument
	Type string   // of the argument, if its schema names one
}

// ValueIn returns the value of the argument in the arguments of a call. It returns nil if the value
// is missing, null, or of a type that no header mirrors.
func (a Argument) ValueIn(arguments jsontext.Value) jsontext.Value {
	switch v := a.find(arguments); v.Kind() {
	case '"', '0', 't', 'f':
		return v
	default:
		return nil
	}
}

// IsMissingIn reports whether the arguments of a call lack this argument, or have null in its
// place. It returns false for an object or an array, although no header mirrors those either.
func (a Argument) IsMissingIn(arguments jsontext.Value) bool {
	v := a.find(arguments)
	return v == nil || v.Kind() == 'n'
}

// find returns the value of the argument, or nil.
func (a Argument) find(arguments jsontext.Value) jsontext.Value {
	v := arguments
	for _, name := range a.Path {
		if v.Kind() != '{' {
			return nil
		}
		_, members := wire.Members(v)
		v = members[name]
	}
	return v
}

// HeaderText returns the value of the argument as the text of a header, before encoding. It returns
// false if no header mirrors the value.
func (a Argument) HeaderText(arguments jsontext.Value) (string, bool) {
	switch v := a.ValueIn(arguments); {
	case v == nil:
		return "", false
	case v.Kind() == '"':
		return wire.Text(v)
	default:
		return string(v), true
	}
}

// Tools maps the name of each listed tool to the arguments that headers mirror.
type Tools map[string][]Argument

// AddList adds the tools in a result of tools/list.
func (t Tools) AddList(result jsontext.Value) {
	for _, tool := range wire.Elements(wire.At(result, "/tools")) {
		if name, ok := wire.Text(wire.At(tool, "/name")); ok {
			t[name] = MirroredArguments(wire.At(tool, "/inputSchema"))
		}
	}
}

const (
	annotation = "x-mcp-header"
	// maxDepth limits the depth of properties that are searched for annotations.
	maxDepth = 16
)

// MirroredArguments returns the arguments that headers mirror according to the schema of a tool's
// input.
func MirroredArguments(schema jsontext.Value) []Argument { return mirroredArguments(schema, nil) }

// mirroredArguments returns the annotated properties of a schema, including those nested in
// objects.
func mirroredArguments(schema jsontext.Value, path []string) []Argument {
	if len(path) > maxDepth || !wire.MayHaveMember(schema, annotation) {
		return nil
	}
	var out []Argument
	names, properties := wire.Members(wire.At(schema, "/properties"))
	for _, name := range names {
		childPath := slices.Concat(path, []string{name})
		if header, ok := wire.Text(wire.At(properties[name], "/"+annotation)); ok && header != "" {
			kind, _ := wire.Text(wire.At(properties[name], "/type"))
			out = append(out, Argument{header, childPath, kind})
		}
		out = append(out, mirroredArguments(properties[name], childPath)...)
	}
	return out
}
