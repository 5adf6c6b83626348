package stateless

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	versionRequired      = "stateless.meta-protocol-version-required"
	capabilitiesRequired = "stateless.meta-client-capabilities-required"
	metaMissing          = "stateless.meta-missing"
	metaMalformed        = "stateless.meta-malformed"
	metaStatus           = "stateless.meta-missing-http-400"
	discoverMeta         = "discover.requires-meta"
	infoOptional         = "stateless.client-info-optional"
	noInitialize         = "stateless.no-initialize-needed"
)

func metadataRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.metadata-required",
			Title:        "requests without complete metadata are refused with -32602",
			Requirements: []string{versionRequired, capabilitiesRequired, metaMissing, metaMalformed, metaStatus, discoverMeta},
			Start: func() rules.Fold {
				served := servedIncomplete{}
				return rules.Fold{OnMessage: rules.OnResponse("", served.judge), AtEnd: served.report}
			},
		},
		{
			ID:           "rule.client-info-optional",
			Title:        "requests without clientInfo are served",
			Requirements: []string{infoOptional},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.OnResponse("", judgeAnonymous)}),
		},
		{
			ID:           "rule.no-initialize-needed",
			Title:        "requests are served without initialize",
			Requirements: []string{noInitialize},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.OnResponse("", judgeUninitialized)}),
		},
	}
}

// methods are the revision's methods that a server may support.
var methods = []string{
	spec.MethodDiscover, spec.MethodToolsList, spec.MethodToolsCall, spec.MethodResourcesList, spec.MethodResourcesTemplates,
	spec.MethodResourcesRead, spec.MethodPromptsList, spec.MethodPromptsGet, spec.MethodComplete, spec.MethodListen,
}

// requirementForIncomplete returns the requirement on a request with incomplete metadata, and a
// description of what is missing; "" if several requirements apply, or none.
func requirementForIncomplete(req *rules.Request) (requirement, what string) {
	meta := req.Metadata
	switch missing := meta.Missing; {
	case meta.NoObject:
		return metaMalformed, "with a _meta that is not an object"
	case len(missing) > 0 && len(meta.Malformed) > 0:
		return "", ""
	case len(missing) == 2 && req.Message.Method == spec.MethodDiscover:
		return discoverMeta, "without the required _meta"
	case len(missing) == 2:
		return metaMissing, "without the required _meta"
	case slices.Contains(missing, spec.MetaVersion):
		return versionRequired, "without protocolVersion in _meta"
	case len(missing) == 1:
		return capabilitiesRequired, "without clientCapabilities in _meta"
	case len(meta.Malformed) > 0:
		return metaMalformed, "whose _meta is malformed"
	default:
		return "", ""
	}
}

// describeMalformed returns a clause about the first required key of _meta that the request lacks,
// or whose value has the wrong type. It returns "" if there is none.
func describeMalformed(req *rules.Request) string {
	meta := req.Message.ParamAt("/_meta")
	switch {
	case meta == nil:
		return "the request has no _meta"
	case req.Metadata.NoObject:
		return "the request's _meta is " + rules.Excerpt(meta)
	case len(req.Metadata.Missing) > 0:
		return "the request's _meta has no " + strings.Join(req.Metadata.Missing, " and no ")
	case len(req.Metadata.Malformed) == 0:
		return ""
	}
	key := req.Metadata.Malformed[0]
	return key + " in the request's _meta is " + rules.Excerpt(req.Message.ParamAt(spec.MetaPointer(key)))
}

// pointerToMalformed returns the pointer to the value that describeMalformed quotes; if a member of
// _meta is missing, the pointer to _meta.
func pointerToMalformed(req *rules.Request) string {
	switch {
	case req.Metadata.NoObject || len(req.Metadata.Missing) > 0:
		return "/params/_meta"
	case len(req.Metadata.Malformed) == 0:
		return ""
	}
	return "/params" + spec.MetaPointer(req.Metadata.Malformed[0])
}

// mayMeanOlderRevision reports whether a server may take the request for one of a handshake
// revision that the server also supports: the body names no version, and the headers do not name
// the revision by which the conversation is judged.
func mayMeanOlderRevision(s *rules.Session, req *rules.Request) bool {
	return req.Metadata.Version == "" && !s.IsStatelessOnly() &&
		(req.Exchange == nil || spec.Revision(req.Exchange.RequestHead().Get(headers.Version)) != s.Revision())
}

// servedIncomplete has, by requirement, the deviation for the first result of a request without
// complete metadata.
type servedIncomplete map[string]verdict.Deviation

// report reports only one finding for a server that ignores missing metadata: if it serves requests
// without any metadata, the other findings of the same weight follow from that. A finding about
// malformed metadata is always reported.
func (served servedIncomplete) report(_ *rules.Session, out *rules.Reporter) {
	d, servesAll := served[metaMissing]
	if servesAll {
		out.Report(d)
	}
	for _, requirement := range []string{versionRequired, capabilitiesRequired, discoverMeta, metaMalformed} {
		d, ok := served[requirement]
		switch {
		case !ok:
		case servesAll && requirement != metaMalformed && d.Weight == served[metaMissing].Weight:
			out.MarkReportedElsewhere(requirement)
		default:
			out.Report(d)
		}
	}
}

func (served servedIncomplete) judge(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	req := obs.Request
	if !isFirstResponse(s, obs) || !req.WellFormed && !req.Metadata.NoObject || !req.HasLegalID() || len(req.HeaderFlaws) > 0 || !slices.Contains(methods, req.Message.Method) {
		return
	}
	requirement, what := requirementForIncomplete(req)
	older := mayMeanOlderRevision(s, req)
	if requirement == "" || s.Transport == spec.Stdio && s.MayBeHandshakeMessage(obs.Event) {
		return
	}
	d := deviationOf(requirement, obs)
	d.Permitted, d.Earlier = "error -32602", pointerToMalformed(req)
	code := codeOf(obs)
	switch {
	case !obs.Message.IsError():
		d.Summary = "The server serves a request " + what + "."
		if text := describeMalformed(req); text != "" {
			d.Seen = "a result, although " + text
		}
		if older {
			d.Weight = verdict.AtMostWarning
		}
		if _, ok := served[requirement]; !ok {
			served[requirement] = d
		}
	case code == spec.CodeInvalidParams:
		out.MarkObserved(requirement)
		judgeRefusalStatus(obs, out)
	case older, code == spec.CodeMethodNotFound && req.Message.Method != spec.MethodDiscover:
	case code == spec.CodeHeaderMismatch && req.Metadata.Version == "" && req.Exchange != nil:
		out.MarkObserved(requirement) // the header has no counterpart in the body
	case code == spec.CodeHeaderMismatch && req.Message.Method == spec.MethodToolsCall && req.Exchange != nil: // the tool may need a header that was not sent
	case requirement == metaMalformed && code == spec.CodeInvalidRequest: // a wrong type may count as an invalid message
	case requirement == metaMalformed && code == spec.CodeUnsupported && slices.Contains(req.Metadata.Malformed, spec.MetaVersion):
	case code == spec.CodeUnsupported && req.Metadata.Version != "" && spec.Revision(req.Metadata.Version) != s.Revision(): // the version is wrong, too
	default:
		d.Summary = "The server refuses a request " + what + ", but not with -32602."
		if text := describeMalformed(req); text != "" {
			d.Seen += "; " + text
		}
		out.Report(d)
	}
}

// judgeRefusalStatus judges the HTTP status of an error about missing metadata.
func judgeRefusalStatus(obs *rules.Observation, out *rules.Reporter) {
	if obs.Request.Exchange == nil || len(obs.Request.Metadata.Missing) == 0 {
		return
	}
	if statusOf(obs) == 400 {
		out.MarkObserved(metaStatus)
		return
	}
	d := deviationOf(metaStatus, obs)
	d.Summary, d.Permitted = "The server refuses a request without the required _meta, but not with 400.", "status 400 with error -32602"
	d.Seen = obs.Request.Exchange.ResponseHead().Line + ": " + d.Seen
	out.Report(d)
}

// hasOnlyMeta reports whether the params have the member _meta and no other.
func hasOnlyMeta(req *rules.Request) bool {
	names, _ := wire.Members(req.Message.Params())
	return len(names) == 1 && names[0] == "_meta"
}

// judgeAnonymous judges requests without clientInfo and without other params than _meta.
func judgeAnonymous(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	req := obs.Request
	if !isRegular(s, obs) || req.Metadata.Info != nil || !hasOnlyMeta(req) {
		return
	}
	if !obs.Message.IsError() {
		out.MarkObserved(infoOptional)
		return
	}
	named := rules.Control{What: req.Message.Method + " with clientInfo", Matches: func(other *rules.Request) bool {
		return other.Message.Method == req.Message.Method && other.Metadata.Info != nil && hasOnlyMeta(other)
	}}
	if codeOf(obs) == spec.CodeMethodNotFound || !out.RequireInterpretable(obs, named, infoOptional) {
		return
	}
	d := deviationOf(infoOptional, obs)
	d.Summary, d.Permitted = "The server refuses a request without clientInfo.", "the result that a request with "+spec.MetaClientInfo+" in _meta gets"
	out.Report(d)
}

// demandsInitialize matches error messages that demand a handshake.
var demandsInitialize = lazyregexp.New(`(?i)not (yet )?(been )?initiali[sz]ed|before initiali[sz]|initiali[sz]e (must|first|has to)|initiali[sz]ation (is )?(required|incomplete|not complete)`)

func judgeUninitialized(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isRegular(s, obs) {
		return
	}
	text, _ := wire.Text(wire.At(obs.Message.Member("error"), "/message"))
	switch {
	case !obs.Message.IsError():
		out.MarkObserved(noInitialize)
	case demandsInitialize.MatchString(text):
		d := deviationOf(noInitialize, obs)
		d.Summary, d.Permitted = "The server demands initialize before a request with complete metadata.", "a response without any handshake"
		out.Report(d)
	}
}
