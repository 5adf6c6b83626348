package rules

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
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

// IsComplete reports whether the request has what every request must have.
func (m *Metadata) IsComplete() bool {
	return len(m.Missing) == 0 && len(m.Malformed) == 0 && !m.NoObject
}

// HasKnownLevel reports whether the log level is missing or one that exists.
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
// the stateless era, as Session.ClientDeclared does for a session.
func (req *Request) Declares(capability string) bool {
	return req.Metadata != nil && hasCapability(req.Metadata.Capabilities, capability)
}

// DeclaresOther reports whether a request of the stateless era declares other capabilities than
// the first one with complete metadata. It may be from another client, to which the server may
// offer something else.
func (s *Session) DeclaresOther(req *Request) bool {
	return req.Metadata != nil && req.Metadata.Capabilities != nil && !bytes.Equal(req.Metadata.Capabilities, s.usualCapabilities)
}

// isRetry reports whether a request carries input that an earlier result required, so that its
// outcome depends on that input.
func isRetry(m *wire.Message) bool {
	return m.ParamAt("/inputResponses") != nil || m.ParamAt("/requestState") != nil
}

// Governs reports whether the session's revision applies to a client request: in the stateless
// era each request names its own version. It applies neither to initialize nor, over stdio, to
// what follows a request that the server served as one of an older revision: that may select
// the older one for the process (2026-07-28, basic/versioning, compatibility matrix).
func (s *Session) Governs(req *Request) bool {
	if s.Era() == spec.Handshake {
		return true
	}
	return req.Metadata != nil && req.Metadata.Version == string(s.Revision()) && req.Message.Method != spec.MethodInitialize &&
		!(s.Transport == spec.Stdio && s.servedOlder != nil && req.Event.Seq > s.servedOlder.Event.Seq)
}

// IsGoverned reports whether the session's revision applies to a message of the server: the
// message belongs to a request with that revision, or to no request and not possibly to an older
// revision.
func (s *Session) IsGoverned(obs *Observation) bool {
	switch {
	case s.Era() == spec.Handshake:
		return true
	case obs.Request != nil:
		return s.Governs(obs.Request)
	default:
		return !s.IsOlder(obs.Event)
	}
}

// ClientDeclares reports whether the client declares the capability: in a request of
// the stateless era, or in initialize.
func (s *Session) ClientDeclares(req *Request, capability string) bool {
	if s.Era() == spec.Stateless {
		return req != nil && req.Declares(capability)
	}
	return s.ClientDeclared(capability)
}

// SupportedVersions returns the versions in the latest result of server/discover.
func (s *Session) SupportedVersions() []string { return s.supported }

// ListsNoHandshake reports whether server/discover lists only versions without a handshake.
// Such a server may still serve one: some list only what can be used after server/discover.
func (s *Session) ListsNoHandshake() bool {
	return len(s.supported) > 0 && !slices.ContainsFunc(s.supported, func(v string) bool {
		return spec.Revision(v).Era() == spec.Handshake
	})
}

// IsStatelessOnly reports whether the server is known to support no handshake revision:
// server/discover lists none, and in this conversation it refused initialize.
func (s *Session) IsStatelessOnly() bool { return s.ListsNoHandshake() && s.refusedInitialize }

// noteStatelessError records whether an error in the stateless era refuses the initialize of
// a client of a handshake revision.
func (s *Session) noteStatelessError(req *Request, m *wire.Message) {
	if req.Message.Method == spec.MethodInitialize && req.Metadata.Version == "" && !m.IsOverloadError() {
		s.refusedInitialize = s.servedOlder == nil
	}
}

// noteStatelessResult records what a result in the stateless era shows about the server.
func (s *Session) noteStatelessResult(req *Request, m *wire.Message) {
	if s.servedOlder == nil && !s.refusedInitialize && (req.Message.Method == spec.MethodInitialize || req.Metadata.Version == "") {
		s.servedOlder = req
	}
	switch req.Message.Method {
	case spec.MethodDiscover:
		if s.Governs(req) {
			s.noteDiscovered(req, m)
		}
	case spec.MethodInitialize:
		s.refusedInitialize = s.refusedInitialize && req.Metadata.Version != ""
	case spec.MethodToolsList:
		if s.Transport == spec.StreamableHTTP && s.Governs(req) {
			if s.paramHeaders == nil {
				s.paramHeaders = headers.Tools{}
			}
			s.paramHeaders.Note(m.Result())
		}
	}
}

// noteDiscovered records a result of server/discover.
func (s *Session) noteDiscovered(req *Request, m *wire.Message) {
	s.Declaration = req
	s.noteServerCapabilities(m)
	s.supported = nil
	for _, v := range wire.Elements(m.ResultAt("/supportedVersions")) {
		if text, ok := wire.Text(v); ok {
			s.supported = append(s.supported, text)
		}
	}
}

// noteStateless records what response a request of the stateless era expects.
func (s *Session) noteStateless(req *Request) {
	m := req.Message
	req.HeaderFlaws = s.headerFlaws(req)
	if name, _ := wire.Text(m.ParamAt("/name")); m.Method == spec.MethodToolsCall {
		_, listed := s.ParamHeaders(name)
		req.UnlistedTool = !listed
	}
	complete := req.Metadata.IsComplete()
	if complete && s.usualCapabilities == nil {
		s.usualCapabilities = req.Metadata.Capabilities
	}
	req.whileOpen = complete && s.Governs(req) && req.Metadata.HasKnownLevel() && len(req.HeaderFlaws) == 0 && !isRetry(m)
	switch {
	case m.Method == spec.MethodListen && complete:
		req.due = false // its response ends the subscription
	case slices.Contains(req.Metadata.Missing, spec.MetaVersion) && m.Method != spec.MethodInitialize:
		req.due = s.IsStatelessOnly() // an older revision may take it for a request before the handshake
	default:
		req.due = true
	}
}

// IsOlder reports whether a message of the server may belong to a handshake revision that the
// server also supports: over stdio, after one of its requests was served; over HTTP, outside the
// response to a request that names the session's revision.
func (s *Session) IsOlder(e *transcript.Event) bool {
	if s.Transport == spec.Stdio {
		return s.servedOlder != nil && e.Seq > s.servedOlder.Responses[0].Event.Seq
	}
	req := s.StreamOf(e)
	return req == nil || !s.Governs(req)
}

// IsAboutMetadata reports whether an error is about the headers, the version or the capabilities
// of a request, so that it says nothing about the rest of it.
func IsAboutMetadata(m *wire.Message) bool {
	if !m.IsError() {
		return false
	}
	code, _ := m.ErrorCode()
	return code == int64(spec.CodeHeaderMismatch) || code == int64(spec.CodeMissingClientCap) || code == int64(spec.CodeUnsupported)
}
