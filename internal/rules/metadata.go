package rules

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Metadata is what a request of the stateless era states in _meta about itself and its client. It
// replaces what the handshake fixes for a whole session.
type Metadata struct {
	Version      string         // the protocol version; "" if it is missing or not a string
	Capabilities jsontext.Value // the client's; nil if they are missing or not an object
	Info         jsontext.Value // clientInfo, which may be missing
	LogLevel     jsontext.Value // nil if the client requests no log messages
	// Missing are the required keys that are missing, and Malformed those whose
	// value has the wrong type. If _meta itself is not an object, both are empty
	// and NoObject is set.
	Missing, Malformed []string
	NoObject           bool
}

// IsComplete reports whether _meta has all required keys, each with a value of the right type.
func (m *Metadata) IsComplete() bool {
	return len(m.Missing) == 0 && len(m.Malformed) == 0 && !m.NoObject
}

// HasKnownLevel reports whether the log level is missing or one of Severities.
func (m *Metadata) HasKnownLevel() bool {
	return m.LogLevel == nil || LogSeverity(m.LogLevel) >= 0
}

// Severities are the levels of log messages, from least to most severe.
var Severities = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// LogSeverity returns the index of a level in Severities, -1 for any other value.
func LogSeverity(level jsontext.Value) int {
	text, ok := wire.Text(level)
	if !ok {
		return -1
	}
	return slices.Index(Severities, text)
}

func metadataOf(m *wire.Message) *Metadata {
	meta := m.ParamAt("/_meta")
	if meta != nil && meta.Kind() != '{' {
		return &Metadata{NoObject: true}
	}
	_, values := wire.Members(meta)
	out := &Metadata{Info: values[spec.MetaClientInfo], LogLevel: values[spec.MetaLogLevel]}
	var isText bool
	if version := values[spec.MetaVersion]; version == nil {
		out.Missing = append(out.Missing, spec.MetaVersion)
	} else if out.Version, isText = wire.Text(version); !isText {
		out.Malformed = append(out.Malformed, spec.MetaVersion)
	}
	switch capabilities := values[spec.MetaClientCapabilities]; {
	case capabilities == nil:
		out.Missing = append(out.Missing, spec.MetaClientCapabilities)
	case capabilities.Kind() != '{':
		out.Malformed = append(out.Malformed, spec.MetaClientCapabilities)
	default:
		out.Capabilities = capabilities
	}
	if out.Info != nil && out.Info.Kind() != '{' {
		out.Malformed = append(out.Malformed, spec.MetaClientInfo)
	}
	return out
}

// Declares reports whether the client declares the capability in this request of
// the stateless era, as Negotiation.ClientDeclared does for a session.
func (req *Request) Declares(capability string) bool {
	return req.Metadata != nil && hasCapability(req.Metadata.Capabilities, capability)
}

// IsAboutMetadata reports whether an error is about the headers, the version or the capabilities of
// a request. Such an error says nothing about the rest of the request.
func IsAboutMetadata(m *wire.Message) bool {
	if !m.IsError() {
		return false
	}
	code, _ := m.ErrorCode()
	return code == int64(spec.CodeHeaderMismatch) || code == int64(spec.CodeMissingClientCap) || code == int64(spec.CodeUnsupported)
}
