package serverfeatures

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	completionDeclared    = "completion.capability.declared"
	completionUnsupported = "completion.unsupported-method-not-found"
	completionAnswered    = "completion.answered"
	completionUnknown     = "completion.unknown-prompt"
	completionMissing     = "completion.missing-arguments"
	completionValidates   = "completion.validates-inputs"
	completionPrompt      = "completion.ref.prompt"
	completionTemplate    = "completion.ref.template"
	completionEmpty       = "completion.empty-value"
	completionContext     = "completion.context.accepted"
)

// completionRules returns the rules on completion.
func completionRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.completion-declared",
			Title:        "a server serves completion if and only if it declares completions",
			Requirements: []string{completionDeclared, completionUnsupported, completionAnswered},
			Start:        rules.WithoutState(rules.Fold{OnMessage: onCompletionResponses(judgeCompletionCapability)}),
		},
		{
			ID:           "rule.completion-refused",
			Title:        "completion without a reference, or for an unknown prompt, is refused",
			Requirements: []string{completionUnknown, completionMissing, completionValidates},
			Start:        completionRefused,
		},
		{
			ID:           "rule.completion-references",
			Title:        "arguments of listed prompts and variables of listed templates can be completed",
			Requirements: []string{completionPrompt, completionTemplate, completionEmpty, completionContext},
			Start:        completionReferences,
		},
	}
}

// completionRequest has the params of completion/complete, as far as they could be read.
type completionRequest struct {
	kind, target string // ref.type, and its name or uri
	argument     string
	value        string
	context      jsontext.Value
	missing      bool   // a required part is missing
	mistyped     bool   // a part has the wrong type
	unknownType  bool   // the reference has an unknown type
	flaw         string // the first thing that is wrong, such as "params.argument is missing"
}

func readCompletionRequest(params jsontext.Value) completionRequest {
	var q completionRequest
	_, p := wire.Members(params)
	_, ref := wire.Members(p["ref"])
	_, argument := wire.Members(p["argument"])
	q.context = p["context"]
	note := func(name string, v jsontext.Value) {
		q.missing, q.mistyped, q.flaw = q.missing || v == nil, q.mistyped || v != nil, cmp.Or(q.flaw, describeFlaw(name, v))
	}
	text := func(name string, v jsontext.Value) string {
		s, ok := wire.Text(v)
		if !ok {
			note(name, v)
		}
		return s
	}
	if ref == nil {
		note("params.ref", p["ref"])
	}
	if argument == nil {
		note("params.argument", p["argument"])
	}
	if q.context != nil && q.context.Kind() != '{' {
		note("params.context", q.context)
	}
	if ref != nil {
		q.kind = text("params.ref.type", ref["type"])
		switch q.kind {
		case "ref/prompt":
			q.target = text("params.ref.name", ref["name"])
		case "ref/resource":
			q.target = text("params.ref.uri", ref["uri"])
		default:
			q.unknownType = ref["type"] != nil
			q.flaw = cmp.Or(q.flaw, "params.ref.type is "+rules.Excerpt(ref["type"]))
		}
	}
	if argument != nil {
		q.argument, q.value = text("params.argument.name", argument["name"]), text("params.argument.value", argument["value"])
	}
	return q
}

// isValid reports whether the params match the schema.
func (q *completionRequest) isValid() bool { return !q.missing && !q.mistyped && !q.unknownType }

// onCompletionResponses returns handlers for regular responses to completion/complete.
func onCompletionResponses(judge func(s *rules.Session, q completionRequest, obs *rules.Observation, out *rules.Reporter)) rules.Handlers {
	handler := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		if isRegular(s, obs) {
			judge(s, readCompletionRequest(obs.Request.Message.Params()), obs, out)
		}
	}
	return rules.Handlers{rules.ResultOf(spec.MethodComplete): handler, rules.ErrorTo(spec.MethodComplete): handler}
}

// mayComplete reports whether completion requests are permitted. In a revision without a
// completions capability they always are.
func mayComplete(s *rules.Session) bool {
	return s.ServerDeclared("completions") || !s.Revision().HasCompletionsCapability()
}

func isUnknownMethod(m *wire.Message) bool {
	code, ok := m.ErrorCode()
	return ok && spec.Code(code) == spec.CodeMethodNotFound
}

func judgeCompletionCapability(s *rules.Session, q completionRequest, obs *rules.Observation, out *rules.Reporter) {
	declared, malformed := declaresCapability(s, "completions")
	switch {
	case !q.isValid() || malformed:
	case declared && isUnknownMethod(obs.Message):
		d := deviationOf(completionAnswered, obs)
		d.Summary, d.Permitted = "The server declares completions, but does not know the method.", "a result, or an error about the reference"
		s.ShowDeclared(&d)
		out.Report(d)
	case declared:
		out.MarkObserved(completionAnswered)
		out.MarkObserved(completionDeclared)
	case !out.RequireInterpretable(obs, rules.PingControl(), completionUnsupported, completionDeclared):
	case isUnknownMethod(obs.Message):
		out.MarkObserved(completionUnsupported)
		out.MarkObserved(completionDeclared)
	case !obs.Message.IsError() && len(wire.Elements(obs.Message.ResultAt("/completion/values"))) > 0:
		d := deviationOf(completionDeclared, obs)
		d.Summary, d.Permitted = "The server completes arguments without declaring completions.", "the capability completions, or error -32601"
		d.Seen, d.Pointer = "the values "+rules.Excerpt(obs.Message.ResultAt("/completion/values")), "/result/completion"
		s.ShowDeclared(&d)
		out.Report(d)
		out.MarkReportedElsewhere(completionUnsupported)
	default:
		d := deviationOf(completionUnsupported, obs)
		d.Summary, d.Permitted = "The server refuses an undeclared completion, but not with -32601.", "error -32601"
		if !obs.Message.IsError() {
			d.Summary = "The server answers an undeclared completion with no values instead of -32601."
		}
		s.ShowDeclared(&d)
		out.Report(d)
	}
}

func completionRefused() rules.Fold {
	return rules.Fold{Shared: readsCatalog, OnMessage: onCompletionResponses(func(s *rules.Session, q completionRequest, obs *rules.Observation, out *rules.Reporter) {
		b := catalogs.Of(s)
		switch {
		case !mayComplete(s) || isUnknownMethod(obs.Message): // judged by the rule on the capability
		case q.mistyped:
			if out.RequireInterpretable(obs, b.validCompletionControl(), completionValidates) {
				judgeMistypedCompletion(q, obs, out)
			}
		case q.missing:
			invalidParamsCheck{
				completionMissing, "The server serves a completion request with a missing member.",
				"The server refuses an incomplete completion request, but not with -32602.", verdict.Full, q.flaw,
			}.judge(obs, b.validCompletionControl(), out)
		case q.unknownType:
			judgeUnknownReferenceType(q, obs, out)
		case q.kind == "ref/prompt" && s.ServerDeclared("prompts") && b.prompts.isKnownAbsent(s, q.target, obs.Request, !obs.Message.IsError()):
			invalidParamsCheck{
				completionUnknown, "The server completes an argument of a prompt that it does not list.",
				"The server refuses to complete an unknown prompt, but not with -32602.", verdict.Full, "",
			}.judge(obs, b.validCompletionControl(), out)
		}
	})}
}

// validCompletionControl returns the control for an odd completion request, which selects the
// request to compare it with: a valid completion request for a listed prompt or template or,
// failing that, a list request or a ping.
func (b *catalog) validCompletionControl() rules.Control {
	return rules.Control{
		What: "a valid completion request", ByName: true,
		Matches: func(req *rules.Request) bool {
			q := readCompletionRequest(req.Message.Params())
			return req.Message.Method == spec.MethodComplete && q.isValid() && b.offersReference(q)
		},
		Fallback: func(req *rules.Request) bool {
			return req.Message.Method == spec.MethodPromptsList || req.Message.Method == spec.MethodResourcesTemplates || req.Message.Method == spec.MethodPing
		},
	}
}

// judgeMistypedCompletion judges the response to a completion request with a value of the wrong
// type. A result is at most a note, because the specification permits any reasonable response.
func judgeMistypedCompletion(q completionRequest, obs *rules.Observation, out *rules.Reporter) {
	if obs.Message.IsError() {
		out.MarkObserved(completionValidates)
		return
	}
	d := deviationOf(completionValidates, obs)
	d.Summary, d.Permitted = "The server serves a completion request with a member of the wrong type.", "an error, usually with code -32602"
	d.Seen, d.Weight = describeDespite(obs, q.flaw), verdict.OnlyNote
	out.Report(d)
}

func judgeUnknownReferenceType(q completionRequest, obs *rules.Observation, out *rules.Reporter) {
	if obs.Message.IsError() {
		return // any code is permitted
	}
	d := deviationOf(completionMissing, obs)
	d.Summary, d.Permitted = "The server completes a reference of an unknown type.", "error -32602"
	d.Seen, d.Weight = describeDespite(obs, q.flaw), verdict.OnlyNote
	out.Report(d)
}
