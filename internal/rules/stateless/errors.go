package stateless

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	codeReserved    = "base.error-code-reserved-range"
	codeMeaning     = "base.error-code-defined-meaning"
	codeRetired     = "base.error-code-retired"
	codeLegacy      = "base.error-code-legacy-range"
	codeApplication = "base.error-code-application"
	traceContext    = "base.meta-trace-context"
)

func errorRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.error-codes",
			Title:        "errors use only codes that this revision permits",
			Requirements: []string{codeReserved, codeRetired, codeLegacy, codeApplication},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ErrorTo(""): judgeCode}}),
		},
		{
			ID:           "rule.error-meanings",
			Title:        "the codes of MCP are used for what they mean",
			Requirements: []string{codeMeaning},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ErrorTo(""): judgeCodeMeaning}}),
		},
		{
			ID:           "rule.trace-context",
			Title:        "trace context in _meta follows the W3C formats",
			Requirements: []string{traceContext},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.MergeHandlers(rules.OnResult("", judgeResultTrace), rules.Handlers{rules.Notification(""): judgeNotificationTrace})}),
		},
	}
}

// isStatelessRequest reports whether a request belongs to the stateless era, valid or not.
func isStatelessRequest(s *rules.Session, req *rules.Request) bool {
	return req.Metadata.Version != "" || s.IsStatelessOnly() && req.Message.Method != spec.MethodInitialize
}

// The codes that JSON-RPC 2.0 defines, and those that 2026-07-28 defines.
var (
	standardCodes = []spec.Code{spec.CodeParse, spec.CodeInvalidRequest, spec.CodeMethodNotFound, spec.CodeInvalidParams, spec.CodeInternal}
	definedCodes  = []spec.Code{spec.CodeHeaderMismatch, spec.CodeMissingClientCap, spec.CodeUnsupported}
)

func judgeCode(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if _, ok := obs.Message.ErrorCode(); !ok || !isFirstResponse(s, obs) || !isStatelessRequest(s, obs.Request) {
		return
	}
	d := deviationOf(codeReserved, obs)
	d.Pointer = "/error/code"
	switch code := codeOf(obs); {
	case code == spec.CodeResourceNotFound || code == spec.CodeURLElicitation:
		d.Requirement, d.Summary = codeRetired, "The server sends an error code that this revision has retired."
		d.Permitted = "another code; -32602 for a resource that does not exist"
		out.Report(d)
		return
	case code >= -32099 && code <= -32020 && !slices.Contains(definedCodes, code):
		d.Summary, d.Permitted = "The server sends an error code that is reserved for MCP and not defined.", "of the codes from -32099 to -32020, only -32020, -32021 and -32022"
		out.Report(d)
		return
	case code >= -32019 && code <= -32000:
		d.Requirement, d.Weight = codeLegacy, verdict.OnlyNote // only new implementations should avoid them
		d.Summary, d.Permitted = "The server uses an error code from -32019 to -32000.", "a code outside that range, unless the implementation is older than this revision"
		out.Report(d)
	case code >= -32768 && code < -32099 && !slices.Contains(standardCodes, code):
		d.Requirement, d.Weight = codeApplication, verdict.OnlyNote
		d.Summary, d.Permitted = "The server's own error code is one that JSON-RPC reserves.", "a code outside the range from -32768 to -32000"
		out.Report(d)
	case code > -32000 || code < -32768:
		out.MarkObserved(codeApplication)
		out.MarkObserved(codeLegacy)
	default:
		out.MarkObserved(codeLegacy)
	}
	out.MarkObserved(codeReserved)
	out.MarkObserved(codeRetired)
}

// judgeCodeMeaning compares the error code with the request. Package streamablehttp judges whether
// headers match the body.
func judgeCodeMeaning(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	req := obs.Request
	if !isFirstResponse(s, obs) || !isStatelessRequest(s, req) || !req.HasLegalID() {
		return
	}
	d := deviationOf(codeMeaning, obs)
	d.Pointer = "/error/code"
	switch codeOf(obs) {
	case spec.CodeHeaderMismatch:
		if s.Transport != spec.Stdio {
			return
		}
		d.Summary, d.Permitted = "The server reports a header mismatch over stdio.", "-32020 only over HTTP: there are no headers here"
		d.Fix = "Use another code over stdio, such as -32602."
	case spec.CodeMissingClientCap:
		required := requiredCapabilities(obs)
		if !req.Metadata.IsComplete() || required.Kind() != '{' || isEmpty(required) {
			return
		}
		if !isDeclared(req.Metadata.Capabilities, required) {
			out.MarkObserved(codeMeaning)
			return
		}
		d.Summary, d.Permitted = "The server reports a capability as missing that the client declared.", "-32021 only for capabilities that the request does not declare"
		d.Fix = "Compare what you need with io.modelcontextprotocol/clientCapabilities of the request."
	case spec.CodeUnsupported:
		if !req.Metadata.IsComplete() || len(req.HeaderFlaws) > 0 || req.Message.Method == spec.MethodInitialize { // the params of initialize name another version
			return
		}
		if !slices.Contains(s.SupportedVersions(), req.Metadata.Version) {
			out.MarkObserved(codeMeaning)
			return
		}
		if spec.Revision(req.Metadata.Version).Era() == spec.Handshake {
			return // the version may be served only after initialize
		}
		d.Summary, d.Permitted = "The server reports a version as unsupported that server/discover lists.", "-32022 only for versions that server/discover does not list"
		d.Fix = "Serve each version that server/discover lists, or do not list it."
		d.At = rules.PositionsOf(s.Declaration.Responses[0].Event, req.Event, obs.Event)
	default:
		return
	}
	out.Report(d)
}

// The forms of W3C Trace Context and W3C Baggage. Doubtful details are not checked.
var (
	traceParent = lazyregexp.New(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)
	traceMember = lazyregexp.New(`^[ \t]*([a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]*)?[ \t]*$`)
	baggageItem = lazyregexp.New(`^[ \t]*[!#$%&'*+.^_` + "`" + `|~0-9A-Za-z-]+[ \t]*=[^,]*$`)
)

func isTraceParent(text string) bool {
	m := traceParent.FindStringSubmatch(text)
	return m != nil && m[1] != "ff" && strings.Trim(m[2], "0") != "" && strings.Trim(m[3], "0") != "" && (m[1] != "00" || m[4] == "")
}

// listMatcher returns a function that reports whether all members of a comma-separated list match
// the expression.
func listMatcher(member *lazyregexp.Regexp) func(text string) bool {
	return func(text string) bool {
		return !slices.ContainsFunc(strings.Split(text, ","), func(m string) bool { return !member.MatchString(m) })
	}
}

var traceKeys = map[string]func(text string) bool{"traceparent": isTraceParent, "tracestate": listMatcher(traceMember), "baggage": listMatcher(baggageItem)}

func judgeResultTrace(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if s.Era() == spec.Stateless {
		judgeTrace(obs, obs.Message.ResultAt("/_meta"), obs.Request.Message.ParamAt("/_meta"), out)
	}
}

func judgeNotificationTrace(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if s.Era() == spec.Stateless && !s.MayBeHandshakeMessage(obs.Event) {
		judgeTrace(obs, obs.Message.ParamAt("/_meta"), nil, out)
	}
}

// traceForms describes the permitted values of each key.
var traceForms = map[string]string{
	"traceparent": " as in W3C Trace Context: 00-<32 hex digits>-<16 hex digits>-<2 hex digits>",
	"tracestate":  " as in W3C Trace Context: key=value pairs, joined by commas",
	"baggage":     " as in W3C Baggage: key=value pairs, joined by commas",
}

// judgeTrace judges the trace context of a message from the server. The argument in is the _meta
// object of that message, or nil if there is none, and sent is the _meta object of the client's
// request. Values that equal those in sent are skipped.
func judgeTrace(obs *rules.Observation, in, sent jsontext.Value, out *rules.Reporter) {
	if in == nil {
		return
	}
	for _, key := range []string{"traceparent", "tracestate", "baggage"} {
		value := wire.At(in, "/"+key)
		if value == nil || string(value) == string(wire.At(sent, "/"+key)) {
			continue
		}
		if text, ok := wire.Text(value); ok && traceKeys[key](text) {
			out.MarkObserved(traceContext)
			continue
		}
		d := verdict.Deviation{
			Requirement: traceContext, Summary: "The server's trace context in _meta is not in the W3C format.",
			Permitted: key + traceForms[key], Seen: key + " " + rules.Excerpt(value), At: rules.PositionsOf(obs.Event),
		}
		if obs.Request != nil {
			d.At = rules.PositionsOf(obs.Request.Event, obs.Event)
		}
		out.Report(d)
	}
}
