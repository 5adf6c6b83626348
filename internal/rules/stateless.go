package rules

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Versions are what the conversation shows about the protocol versions that the server supports. In
// the stateless era each request names its own version, so the revision by which the conversation
// is judged need not apply to every message. In the handshake era that revision applies to all
// messages.
type Versions struct {
	// supported are the versions that server/discover lists.
	supported []string
	// servedOlder is the first request that the server served as one of an older revision.
	servedOlder *Request
	// refusedInitialize is set if the server refused an initialize without a version in _meta, as
	// clients of a handshake revision send it.
	refusedInitialize bool

	transport   spec.Transport
	requests    *Requests
	negotiation *Negotiation
}

// AppliesTo reports whether the revision by which the conversation is judged applies to a client
// request. In the handshake era it applies to all requests. In the stateless era it applies to
// requests that name it, except initialize. Over stdio, it does not apply to requests after one
// that the server served as a request of an older revision, because that request may select the
// older revision for the whole process (2026-07-28, basic/versioning, compatibility matrix).
func (v *Versions) AppliesTo(req *Request) bool {
	if v.negotiation.Era() == spec.Handshake {
		return true
	}
	return req.Metadata != nil && req.Metadata.Version == string(v.negotiation.Revision()) && req.Message.Method != spec.MethodInitialize &&
		!(v.transport == spec.Stdio && v.servedOlder != nil && req.Event.Seq > v.servedOlder.Event.Seq)
}

// IsGovernedByRevision reports whether the revision by which the conversation is judged applies to
// a message of the server. In the handshake era it applies to all messages. In the stateless era it
// applies to messages that belong to a request to which it applies, and to messages that belong to
// no request and cannot belong to an older revision.
func (v *Versions) IsGovernedByRevision(obs *Observation) bool {
	switch {
	case v.negotiation.Era() == spec.Handshake:
		return true
	case obs.Request != nil:
		return v.AppliesTo(obs.Request)
	default:
		return !v.MayBeHandshakeMessage(obs.Event)
	}
}

// SupportedVersions returns the versions in the latest result of server/discover.
func (v *Versions) SupportedVersions() []string { return v.supported }

// ListsNoHandshake reports whether server/discover lists only versions without a handshake.
// Such a server may still serve a handshake revision: some servers list only the versions that can
// be used after server/discover.
func (v *Versions) ListsNoHandshake() bool {
	return len(v.supported) > 0 && !slices.ContainsFunc(v.supported, func(version string) bool {
		return spec.Revision(version).Era() == spec.Handshake
	})
}

// IsStatelessOnly reports whether the server is known to support no handshake revision:
// server/discover lists none, and in this conversation it refused initialize.
func (v *Versions) IsStatelessOnly() bool { return v.ListsNoHandshake() && v.refusedInitialize }

// MayBeHandshakeMessage reports whether a message of the server may belong to a handshake revision
// that the server also supports: over stdio, any message after the server served a request of that
// revision; over HTTP, any message outside the responses to the requests to which the revision by
// which the conversation is judged applies (see AppliesTo).
func (v *Versions) MayBeHandshakeMessage(e *transcript.Event) bool {
	if v.transport == spec.Stdio {
		return v.servedOlder != nil && e.Seq > v.servedOlder.Responses[0].Event.Seq
	}
	req := v.requests.RequestOfExchange(e)
	return req == nil || !v.AppliesTo(req)
}

// notePhase records whether the server has to respond to a request of the stateless era, and
// whether the response depends only on the method and its params (see Request.IsRegular).
func (v *Versions) notePhase(req *Request) {
	m, complete := req.Message, req.Metadata.IsComplete()
	req.whileOpen = complete && v.AppliesTo(req) && req.Metadata.HasKnownLevel() && len(req.HeaderFlaws) == 0 && !IsRetry(m)
	switch {
	case m.Method == spec.MethodListen && complete:
		req.due = false // its response ends the subscription
	case slices.Contains(req.Metadata.Missing, spec.MetaVersion) && m.Method != spec.MethodInitialize:
		req.due = v.IsStatelessOnly() // a server of an older revision may take it for a request before the handshake
	default:
		req.due = true
	}
}

// noteError records whether an error in the stateless era refuses the initialize of a client of a
// handshake revision.
func (v *Versions) noteError(req *Request, m *wire.Message) {
	if req.Message.Method == spec.MethodInitialize && req.Metadata.Version == "" && !m.IsOverloadError() {
		v.refusedInitialize = v.servedOlder == nil
	}
}

// noteResult records whether a result in the stateless era shows that the server serves an older
// revision.
func (v *Versions) noteResult(req *Request) {
	isInitialize := req.Message.Method == spec.MethodInitialize
	if v.servedOlder == nil && !v.refusedInitialize && (isInitialize || req.Metadata.Version == "") {
		v.servedOlder = req
	}
	if isInitialize {
		v.refusedInitialize = v.refusedInitialize && req.Metadata.Version != ""
	}
}

// noteSupported records the versions in a result of server/discover.
func (v *Versions) noteSupported(m *wire.Message) {
	v.supported = nil
	for _, element := range wire.Elements(m.ResultAt("/supportedVersions")) {
		if text, ok := wire.Text(element); ok {
			v.supported = append(v.supported, text)
		}
	}
}
