package clientfeatures

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	samplingDeclared24    = "sampling.requires-client-capability-2024-11-05"
	samplingDeclared25    = "sampling.requires-client-capability-2025-06-18"
	elicitationDeclared   = "elicitation.requires-client-capability-2025-06-18"
	rootsDeclared24       = "roots.requires-client-capability-2024-11-05"
	rootsDeclared25       = "roots.requires-client-capability-2025-06-18"
	modeDeclared          = "elicitation.mode.supported-only"
	toolsDeclared         = "sampling.tools.requires-capability"
	toolChoiceDeclared    = "sampling.tool-choice.requires-capability"
	includeContextAvoided = "sampling.include-context.avoid"
	contextDeclared       = "sampling.include-context.requires-capability"
)

func declaredRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.sampling-declared",
			Title:        "sampling requests go only to a client that declared sampling",
			Requirements: []string{samplingDeclared24, samplingDeclared25},
			Start:        judgeUndeclaredRequests(spec.MethodSampling, "sampling", "The server sends a sampling request to a client that declared none.", samplingDeclared24, samplingDeclared25),
		},
		{
			ID:           "rule.elicitation-declared",
			Title:        "elicitation requests go only to a client that declared elicitation",
			Requirements: []string{elicitationDeclared},
			Start:        judgeUndeclaredRequests(spec.MethodElicit, "elicitation", "The server sends an elicitation to a client that declared none.", elicitationDeclared),
		},
		{
			ID:           "rule.roots-declared",
			Title:        "roots/list goes only to a client that declared roots",
			Requirements: []string{rootsDeclared24, rootsDeclared25},
			Start:        judgeUndeclaredRequests(spec.MethodRootsList, "roots", "The server sends roots/list to a client that declared no roots.", rootsDeclared24, rootsDeclared25),
		},
		{
			ID:           "rule.elicitation-modes",
			Title:        "elicitation requests use only modes that the client declared",
			Requirements: []string{modeDeclared},
			Start: rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{
				rules.ServerRequest(spec.MethodElicit): judgeMode,
				rules.ErrorTo(""):                      judgeErrorMode,
			}}),
		},
		{
			ID:           "rule.sampling-tools-declared",
			Title:        "sampling requests have tools only if the client declared sampling.tools",
			Requirements: []string{toolsDeclared, toolChoiceDeclared},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ServerRequest(spec.MethodSampling): judgeSamplingTools}}),
		},
		{
			ID:           "rule.sampling-context",
			Title:        "includeContext is avoided, and not used where the client has not declared sampling.context",
			Requirements: []string{includeContextAvoided, contextDeclared},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ServerRequest(spec.MethodSampling): judgeIncludeContext}}),
		},
	}
}

// isHandshakeKnown reports whether the handshake was seen, so that the client's declaration is
// known. The handshake rules judge what a server requests before it.
func isHandshakeKnown(s *rules.Session) bool { return s.Began() && s.Era() == spec.Handshake }

// isDeclarationKnown reports whether the client's declaration for a server request is known: from
// the handshake, or from the request whose result requires the input.
func isDeclarationKnown(s *rules.Session, obs *rules.Observation) bool {
	if s.Era() == spec.Stateless {
		return obs.InputKey != nil && s.AppliesTo(obs.Request) && obs.Request.Metadata.IsComplete()
	}
	return isHandshakeKnown(s)
}

// declarationOf returns the event in which the client declared its capabilities.
func declarationOf(s *rules.Session, obs *rules.Observation) *transcript.Event {
	if s.Era() == spec.Stateless {
		return obs.Request.Event
	}
	return s.Initialize.Event
}

// pointerToDeclared returns the pointer to the client's capabilities in the event that declarationOf
// returns.
func pointerToDeclared(s *rules.Session) string {
	if s.Era() == spec.Stateless {
		return "/params" + spec.MetaPointer(spec.MetaClientCapabilities)
	}
	return "/params/capabilities"
}

// judgeUndeclaredRequests returns the Start function of a rule that reports requests of a method to
// a client without the capability. ids are the requirements that forbid such requests; at most one
// of them exists in each revision.
func judgeUndeclaredRequests(method, capability, summary string, ids ...string) func() rules.Fold {
	return rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{
		rules.ServerRequest(method): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			if !isHandshakeKnown(s) {
				return
			}
			for _, id := range ids {
				if s.ClientDeclared(capability) {
					out.MarkObserved(id)
					continue
				}
				out.Report(verdict.Deviation{
					Requirement: id,
					Summary:     summary,
					Permitted:   method + " only where the client declared " + capability,
					Seen:        method + describeDeclared(s, obs),
					At:          rules.PositionsOf(s.Initialize.Event, obs.Event),
					Earlier:     pointerToDeclared(s),
				})
			}
		},
	}})
}

// describeDeclared returns a clause with the capabilities that the client declared.
func describeDeclared(s *rules.Session, obs *rules.Observation) string {
	declared := s.ClientCapabilities(obs.Request)
	if len(declared) == 0 || string(declared) == "{}" {
		return ", although the client declared no capabilities"
	}
	return ", although the client declared only " + rules.Excerpt(declared)
}

// elicitationMode returns the mode of an elicitation; form is the default.
func elicitationMode(params []byte) string {
	m := wire.At(params, "/mode")
	if m == nil {
		return "form"
	}
	text, _ := wire.Text(m)
	return text
}

// acceptsMode reports whether the client supports an elicitation mode. A client that names no
// mode supports form mode, the only one in the first revision with elicitation.
func acceptsMode(s *rules.Session, obs *rules.Observation, mode string) bool {
	if !s.ClientDeclares(obs.Request, "elicitation") {
		return false
	}
	url := s.ClientDeclares(obs.Request, "elicitation.url")
	if mode == "url" {
		return url
	}
	return !url || s.ClientDeclares(obs.Request, "elicitation.form")
}

func judgeMode(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	wanted := elicitationMode(obs.Message.Params())
	if !isDeclarationKnown(s, obs) || !s.ClientDeclares(obs.Request, "elicitation") || wanted != "form" && wanted != "url" {
		return
	}
	if acceptsMode(s, obs, wanted) {
		out.MarkObserved(modeDeclared)
		return
	}
	if s.Rounds.RequiredUndeclared(obs.Request, spec.MethodElicit, "elicitation") {
		out.MarkReportedElsewhere(modeDeclared) // the server elicits whatever the client declares
		return
	}
	out.Report(verdict.Deviation{
		Requirement: modeDeclared,
		Summary:     "The server elicits in a mode that the client did not declare.",
		Permitted:   permittedMode(wanted),
		Seen:        "an elicitation in mode " + wanted,
		At:          rules.PositionsOf(declarationOf(s, obs), obs.Event),
		Pointer:     obs.PointerToParam("mode"),
		Earlier:     pointerToDeclared(s),
	})
}

// permittedMode describes the only mode that a client declared. wanted is the other mode, which the
// server used.
func permittedMode(wanted string) string {
	if wanted == "url" {
		return "form, the only mode that the client declared; a client that names no mode supports form"
	}
	return "url, the only mode that the client declared"
}

// judgeErrorMode judges an error that requires a URL elicitation. The error is not literally an
// elicitation request, so a deviation is at most a warning.
func judgeErrorMode(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	listed := requiredElicitations(obs)
	if !isHandshakeKnown(s) || len(listed) == 0 {
		return
	}
	if acceptsMode(s, obs, "url") {
		out.MarkObserved(modeDeclared)
		return
	}
	out.Report(verdict.Deviation{
		Requirement: modeDeclared,
		Summary:     "The server requires a URL elicitation that the client did not declare.",
		Permitted:   "error -32042 only where the client declared elicitation.url",
		Seen:        rules.Excerpt(obs.Message.Raw),
		At:          rules.PositionsOf(s.Initialize.Event, obs.Request.Event, obs.Event),
		Earlier:     pointerToDeclared(s),
		Weight:      verdict.AtMostWarning,
	})
}

// judgeSamplingTools judges whether the client declared support for the tools and the toolChoice of
// a sampling request. It skips clients that declared no sampling at all: another rule judges
// requests to them.
func judgeSamplingTools(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isDeclarationKnown(s, obs) || !s.ClientDeclares(obs.Request, "sampling") {
		return
	}
	offered := len(wire.Elements(obs.Message.ParamAt("/tools"))) > 0
	choice := obs.Message.ParamAt("/toolChoice") != nil
	d := verdict.Deviation{At: rules.PositionsOf(declarationOf(s, obs), obs.Event), Earlier: pointerToDeclared(s)}
	switch declared := s.ClientDeclares(obs.Request, "sampling.tools"); {
	case !offered && !choice && !declared:
		out.MarkObserved(toolsDeclared)
		out.MarkObserved(toolChoiceDeclared)
	case !offered && !choice:
	case declared:
		if offered {
			out.MarkObserved(toolsDeclared)
		}
		if choice {
			out.MarkObserved(toolChoiceDeclared)
		}
	case s.Rounds.RequiredUndeclared(obs.Request, spec.MethodSampling, "sampling"):
		out.MarkReportedElsewhere(toolsDeclared) // the server uses sampling whatever the client declares
		out.MarkReportedElsewhere(toolChoiceDeclared)
	case offered:
		d.Requirement, d.Summary = toolsDeclared, "The server sends tools to a client that did not declare sampling.tools."
		d.Seen, d.Pointer = "tools in sampling/createMessage"+describeDeclared(s, obs), obs.PointerToParam("tools")
		d.Permitted = "tools only where the client declared sampling.tools"
		out.Report(d)
		if choice {
			out.MarkReportedElsewhere(toolChoiceDeclared)
		}
	default:
		d.Requirement, d.Summary = toolChoiceDeclared, "The server sends a toolChoice to a client that lacks sampling.tools."
		d.Seen, d.Pointer = "toolChoice in sampling/createMessage"+describeDeclared(s, obs), obs.PointerToParam("toolChoice")
		d.Permitted = "toolChoice only where the client declared sampling.tools"
		out.Report(d)
	}
}

// judgeIncludeContext judges the includeContext of a sampling request. It reports at most one
// deviation. A missing declaration is reported rather than the use of a discouraged value, because
// it is more severe.
func judgeIncludeContext(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isDeclarationKnown(s, obs) || !s.ClientDeclares(obs.Request, "sampling") {
		return
	}
	value, _ := wire.Text(obs.Message.ParamAt("/includeContext"))
	declared := s.ClientDeclares(obs.Request, "sampling.context")
	d := verdict.Deviation{
		Seen: "includeContext " + rules.Excerpt(wire.Quote(value)), At: rules.PositionsOf(declarationOf(s, obs), obs.Event),
		Pointer: obs.PointerToParam("includeContext"), Earlier: pointerToDeclared(s),
	}
	switch {
	case value != "thisServer" && value != "allServers":
		out.MarkObserved(includeContextAvoided)
		if !declared {
			out.MarkObserved(contextDeclared)
		}
	case declared:
		d.Requirement, d.Summary = includeContextAvoided, "The server's sampling request uses includeContext."
		d.Permitted = "no includeContext, or the value none"
		out.Report(d)
		out.MarkObserved(contextDeclared)
	default:
		d.Requirement, d.Summary = contextDeclared, "The server uses includeContext, but the client lacks sampling.context."
		d.Permitted = "thisServer and allServers only where the client declared sampling.context"
		out.Report(d)
		out.MarkReportedElsewhere(includeContextAvoided)
	}
}
