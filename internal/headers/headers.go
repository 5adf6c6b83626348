// Package headers knows the headers of a POST that mirror members of its message
// (2026-07-28, basic/transports/streamable-http#request-metadata). A client writes
// them, and rules compare them with the message.
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

// NeedsName reports whether requests of the method require an Mcp-Name header.
func NeedsName(method string) bool { return nameMembers[method] != "" }

// RawName returns the member that Mcp-Name mirrors, whatever its type; nil if the request
// has none.
func RawName(m *wire.Message) jsontext.Value {
	if !NeedsName(m.Method) {
		return nil
	}
	return m.ParamAt("/" + nameMembers[m.Method])
}

// NameOf returns the text that Mcp-Name mirrors. It returns false if the method requires
// no name, or the request has none, so that no client could send the header.
func NameOf(m *wire.Message) (string, bool) { return wire.Text(RawName(m)) }

// The marks of a value in the Base64 form.
const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// Encode returns a value as a header carries it: unchanged if it is plain ASCII without
// spaces at its ends, otherwise in the Base64 form.
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

// Decode returns a header value, decoded if it is in the Base64 form. It returns false if
// the value has characters that a header may not have, or a broken Base64 form.
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

// isPlain reports whether a value has only characters that a header may have.
func isPlain(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return (r < ' ' || r > '~') && r != '\t' })
}

// An Argument is a tool argument that a header mirrors.
type Argument struct {
	Name string   // after Mcp-Param-
	Path []string // of the properties that lead to the argument
	Type string   // of the argument, if its schema names one
}

// Of returns the value of the argument; nil if it is missing, null, or of a type that no
// header mirrors.
func (a Argument) Of(arguments jsontext.Value) jsontext.Value {
	v := arguments
	for _, name := range a.Path {
		if v.Kind() != '{' {
			return nil
		}
		_, members := wire.Members(v)
		v = members[name]
	}
	switch v.Kind() {
	case '"', '0', 't', 'f':
		return v
	default:
		return nil
	}
}

// Text returns the value of the argument as a header has it before it is encoded; false
// if no header mirrors it.
func (a Argument) Text(arguments jsontext.Value) (string, bool) {
	switch v := a.Of(arguments); {
	case v == nil:
		return "", false
	case v.Kind() == '"':
		return wire.Text(v)
	default:
		return string(v), true
	}
}

// Tools are the arguments that headers mirror, by tool. A tool that no list contained
// has no entry.
type Tools map[string][]Argument

// Note records the tools in a result of tools/list.
func (t Tools) Note(result jsontext.Value) {
	for _, tool := range wire.Elements(wire.At(result, "/tools")) {
		if name, ok := wire.Text(wire.At(tool, "/name")); ok {
			t[name] = annotated(wire.At(tool, "/inputSchema"), nil)
		}
	}
}

const (
	annotation = "x-mcp-header"
	// maxDepth bounds how deep properties are searched for annotations.
	maxDepth = 16
)

// annotated returns the annotated properties of a schema, also those nested in objects.
func annotated(schema jsontext.Value, path []string) []Argument {
	if len(path) > maxDepth || !wire.MayHaveMember(schema, annotation) {
		return nil
	}
	var out []Argument
	names, properties := wire.Members(wire.At(schema, "/properties"))
	for _, name := range names {
		here := slices.Concat(path, []string{name})
		if header, ok := wire.Text(wire.At(properties[name], "/"+annotation)); ok && header != "" {
			kind, _ := wire.Text(wire.At(properties[name], "/type"))
			out = append(out, Argument{header, here, kind})
		}
		out = append(out, annotated(properties[name], here)...)
	}
	return out
}
