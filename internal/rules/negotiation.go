package rules

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Negotiation is what client and server have agreed on: the revision, and the capabilities of
// both. In the handshake era initialize negotiates them. In the stateless era server/discover has
// the server's capabilities, and each request the client's.
type Negotiation struct {
	requested  spec.Revision
	negotiated spec.Revision

	// Initialize is the client's initialize request; if there are several, the first that was not
	// refused. It is nil before that request, and always nil in the stateless era.
	Initialize *Request
	// initialized is set if the client sent notifications/initialized, and reinitialized if the
	// client sent another initialize after the server had accepted one.
	initialized, reinitialized bool
	// brokeOrder is set if the client broke the order of the handshake, after which a server need
	// not respond.
	brokeOrder bool
	// clientCapabilities is from the initialize request. In the stateless era, usualCapabilities is
	// from the first request with complete metadata.
	clientCapabilities, usualCapabilities jsontext.Value

	// Declaration is the request whose result has the server's declaration: initialize, or the
	// latest server/discover; nil before the result.
	Declaration *Request
	// ServerCapabilities are the capabilities in the result of the Declaration.
	ServerCapabilities jsontext.Value
	// declared caches the results of ServerDeclared.
	declared map[string]bool
}

// Revision returns the negotiated revision, or the requested one if none was negotiated or the
// negotiated one is not published. Judge determines it in advance, so that all of a conversation
// is judged by one revision.
func (n *Negotiation) Revision() spec.Revision {
	if n.negotiated != "" {
		return n.negotiated
	}
	return n.requested
}

// Era returns the era of the revision by which the conversation is judged.
func (n *Negotiation) Era() spec.Era { return n.Revision().Era() }

// Began reports whether the result of initialize has come, or in the stateless era a result of
// server/discover. Before that, the server's capabilities are unknown.
func (n *Negotiation) Began() bool { return n.Declaration != nil }

// ServerDeclared reports whether the server declared the capability: it is present, and neither
// false nor null. A dot separates members, as in resources.subscribe. Before the result of
// initialize or server/discover no capability is declared.
func (n *Negotiation) ServerDeclared(capability string) bool {
	if n.declared == nil {
		return false
	}
	yes, known := n.declared[capability]
	if !known {
		yes = hasCapability(n.ServerCapabilities, capability)
		n.declared[capability] = yes
	}
	return yes
}

// ShowDeclared adds the response with the server's capabilities to the evidence of a deviation that
// is about them. Reports mark the capabilities. It does nothing if there is no such response yet.
func (n *Negotiation) ShowDeclared(d *verdict.Deviation) {
	if n.Began() {
		d.At, d.Earlier = append(positionsOf(n.Declaration.Responses[0].Event), d.At...), "/result/capabilities"
	}
}

// ClientDeclared is like ServerDeclared, for the capabilities that the client declared in
// initialize.
func (n *Negotiation) ClientDeclared(capability string) bool {
	return hasCapability(n.clientCapabilities, capability)
}

// ClientDeclares reports whether the client declares the capability: in a request of
// the stateless era, or in initialize.
func (n *Negotiation) ClientDeclares(req *Request, capability string) bool {
	if n.Era() == spec.Stateless {
		return req != nil && req.Declares(capability)
	}
	return n.ClientDeclared(capability)
}

// ClientCapabilities returns the capabilities that ClientDeclares reads; nil if there are none.
func (n *Negotiation) ClientCapabilities(req *Request) jsontext.Value {
	switch {
	case n.Era() != spec.Stateless:
		return n.clientCapabilities
	case req != nil && req.Metadata != nil:
		return req.Metadata.Capabilities
	}
	return nil
}

// DeclaresOtherCapabilities reports whether the client capabilities that a request of the stateless
// era declares differ from those of the first request with complete metadata. Such a request may be
// from another client, to which the server may offer something else.
func (n *Negotiation) DeclaresOtherCapabilities(req *Request) bool {
	return req.Metadata != nil && req.Metadata.Capabilities != nil && !bytes.Equal(req.Metadata.Capabilities, n.usualCapabilities)
}

// isAccepted reports whether initialize has succeeded.
func (n *Negotiation) isAccepted() bool { return n.Initialize != nil && n.Initialize.Succeeded() }

// notePhase records the phase of the handshake in which a request was sent.
func (n *Negotiation) notePhase(req *Request) {
	accepted := n.isAccepted()
	req.whileOpen = accepted && n.initialized
	switch {
	case req.Message.Method == spec.MethodInitialize && req.isStrictJSON && !accepted:
		if n.Initialize != nil && len(n.Initialize.Responses) == 0 && !n.Initialize.refused {
			n.brokeOrder = true
			return
		}
		n.Initialize, req.due = req, true
		n.clientCapabilities = req.Message.ParamAt("/capabilities")
		n.brokeOrder = n.brokeOrder || req.batched
	case req.Message.Method == spec.MethodInitialize:
		n.brokeOrder, n.reinitialized = true, true // what follows a second initialize is not regulated
	case accepted && req.Message.Method == spec.MethodPing:
		req.due, req.beforeInitialized = true, !n.initialized
	case accepted:
		req.due = n.initialized
	}
}

// noteCapabilities records the capabilities that a request of the stateless era declares.
func (n *Negotiation) noteCapabilities(req *Request) {
	if n.usualCapabilities == nil && req.Metadata.IsComplete() {
		n.usualCapabilities = req.Metadata.Capabilities
	}
}

// noteInitialized records notifications/initialized.
func (n *Negotiation) noteInitialized() {
	n.brokeOrder = n.brokeOrder || n.ServerCapabilities == nil && n.Era() == spec.Handshake
	n.initialized = true
}

// noteInitializeResult records the result of Initialize.
func (n *Negotiation) noteInitializeResult(m *wire.Message) {
	n.noteDeclaration(n.Initialize, m)
	version, _ := wire.Text(m.ResultAt("/protocolVersion"))
	if r := spec.Revision(version); r.IsPublished() && r.Era() == spec.Handshake {
		n.negotiated = r
	}
}

// noteDeclaration records the capabilities in the result of initialize or server/discover.
func (n *Negotiation) noteDeclaration(req *Request, m *wire.Message) {
	n.Declaration, n.ServerCapabilities, n.declared = req, m.ResultAt("/capabilities"), map[string]bool{}
	if n.ServerCapabilities == nil {
		n.ServerCapabilities = jsontext.Value("{}")
	}
}

// hasCapability reports whether capabilities include the capability, which may be a path such as
// resources.subscribe.
func hasCapability(capabilities jsontext.Value, capability string) bool {
	v := wire.At(capabilities, "/"+strings.ReplaceAll(capability, ".", "/"))
	return v != nil && v.Kind() != 'f' && v.Kind() != 'n'
}
