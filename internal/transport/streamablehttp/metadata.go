package streamablehttp

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// isStateless reports whether a message carries its own protocol version, as every
// request of the stateless era does.
func isStateless(m *wire.Message) bool {
	return wire.At(m.Params(), spec.MetaPointer(spec.MetaVersion)) != nil
}

// metadataFields returns the headers that mirror members of a message. version is the protocol
// version of the link, for a message that carries no version itself. The caller holds mu.
func (l *Link) metadataFields(m *wire.Message, version string) []transcript.Field {
	if own, ok := wire.Text(wire.At(m.Params(), spec.MetaPointer(spec.MetaVersion))); ok && own != "" {
		version = own
	}
	var fields []transcript.Field
	add := func(name, value string) { fields = append(fields, transcript.Field{Name: name, Value: value}) }
	add(headers.Version, withoutControls(version))
	if m.Method == "" {
		return fields
	}
	add(headers.Method, withoutControls(m.Method))
	name, ok := headers.NameOf(m)
	if !ok {
		return fields
	}
	add(headers.Name, headers.Encode(name))
	if m.Method != spec.MethodToolsCall {
		return fields
	}
	for _, a := range l.mirroredArguments(name) {
		if value, ok := a.HeaderText(wire.At(m.Params(), "/arguments")); ok {
			add(headers.Param+a.Name, headers.Encode(value))
		}
	}
	return fields
}

// withoutControls removes control characters, which would end the header, from a value that
// is not encoded in base64.
func withoutControls(value string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, value)
}

// mirroredArguments returns the arguments of a tool that headers mirror, as the latest
// tools/list results on the link describe the tool. The caller holds mu.
func (l *Link) mirroredArguments(tool string) []headers.Argument {
	for _, e := range l.client.Record.From(l.listedUpTo) {
		l.listedUpTo = e.Seq + 1
		if e.Kind != transcript.Received {
			continue
		}
		for i := range e.Messages() {
			l.tools.AddList(e.Frame.Messages[i].Result())
		}
	}
	return l.tools[tool]
}
