package serverfeatures

import (
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
			Start:        rules.Stateless(rules.Fold{Hear: onComplete(completionCapability)}),
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

// question is what values are asked for, as far as it could be read.
type question struct {
	kind, of string // ref.type, and its name or uri
	argument string
	value    string
	context  jsontext.Value
	missing  bool // a part that is required is not there
	mistyped bool // a part has the wrong type
	strange  bool // the reference is of no known type
}

func readQuestion(params jsontext.Value) question {
	var q question
	_, p := wire.Members(params)
	_, ref := wire.Members(p["ref"])
	_, argument := wire.Members(p["argument"])
	q.context = p["context"]
	text := func(v jsontext.Value) string {
		s, ok := wire.Text(v)
		q.missing = q.missing || v == nil
		q.mistyped = q.mistyped || v != nil && !ok
		return s
	}
	q.missing = p["ref"] == nil || p["argument"] == nil
	q.mistyped = p["ref"] != nil && ref == nil || p["argument"] != nil && argument == nil || q.context != nil && q.context.Kind() != '{'
	if ref != nil {
		q.kind = text(ref["type"])
		switch q.kind {
		case "ref/prompt":
			q.of = text(ref["name"])
		case "ref/resource":
			q.of = text(ref["uri"])
		default:
			q.strange = ref["type"] != nil
		}
	}
	if argument != nil {
		q.argument, q.value = text(argument["name"]), text(argument["value"])
	}
	return q
}

// sound reports whether the request is as the schema has it.
func (q *question) sound() bool { return !q.missing && !q.mistyped && !q.strange }

// onComplete hears the answers to completion/complete that show how the server
// means it.
func onComplete(hear func(s *rules.Session, q question, h *rules.Heard, out *rules.Out)) rules.Hears {
	heard := func(s *rules.Session, h *rules.Heard, out *rules.Out) {
		if regular(s, h) {
			hear(s, readQuestion(h.Asked.Message.Params()), h, out)
		}
	}
	return rules.Hears{rules.ResultOf(spec.MethodComplete): heard, rules.ErrorTo(spec.MethodComplete): heard}
}

// completes reports whether the server may be asked for values: 2024-11-05 has
// no word for that, so there nothing can be missed.
func completes(s *rules.Session) bool {
	return s.ServerDeclared("completions") || s.Revision() == spec.V20241105
}

func unknownMethod(m *wire.Message) bool {
	code, ok := m.ErrorCode()
	return ok && spec.Code(code) == spec.CodeMethodNotFound
}

func completionCapability(s *rules.Session, q question, h *rules.Heard, out *rules.Out) {
	yes, spoiled := declares(s, "completions")
	switch {
	case !q.sound() || spoiled:
	case yes && unknownMethod(h.Message):
		d := about(completionAnswered, h)
		d.Summary, d.Permitted = "The server declares completions, but does not know the method.", "a result, or an error about the reference"
		out.Found(d)
	case yes:
		out.Subject(completionAnswered)
		out.Subject(completionDeclared)
	case !out.Telling(h, rules.AnyPing(), completionUnsupported, completionDeclared):
	case unknownMethod(h.Message):
		out.Subject(completionUnsupported)
		out.Subject(completionDeclared)
	case !h.Message.IsError() && len(wire.Elements(wire.At(h.Message.Result(), "/completion/values"))) > 0:
		d := about(completionDeclared, h)
		d.Summary, d.Permitted = "The server completes arguments without declaring completions.", "the capability completions, or error -32601"
		out.Found(d)
		out.Elsewhere(completionUnsupported)
	default:
		d := about(completionUnsupported, h)
		d.Summary, d.Permitted = "The server refuses an undeclared completion, but not with -32601.", "error -32601"
		out.Found(d)
	}
}

func completionRefused() rules.Fold {
	return rules.Fold{Reads: readsCatalog, Hear: onComplete(func(s *rules.Session, q question, h *rules.Heard, out *rules.Out) {
		b := catalogs.Of(s)
		switch {
		case !completes(s) || unknownMethod(h.Message): // said of the capability
		case q.mistyped:
			if out.Telling(h, b.anyQuestion(), completionValidates) {
				mistypedQuestion(h, out)
			}
		case q.missing:
			invalid{
				completionMissing, "The server serves a completion request with a missing member.",
				"The server refuses an incomplete completion, but not with -32602.", verdict.Full,
			}.judge(h, b.anyQuestion(), out)
		case q.strange:
			strangeReference(h, out)
		case q.kind == "ref/prompt" && s.ServerDeclared("prompts") && b.prompts.lacks(s, q.of, h.Asked, !h.Message.IsError()):
			invalid{
				completionUnknown, "The server completes arguments of a prompt that is not listed.",
				"The server refuses to complete an unknown prompt, but not with -32602.", verdict.Full,
			}.judge(h, b.anyQuestion(), out)
		}
	})}
}

// anyQuestion is a sound request for values of something that is listed, or
// where there is nothing of the kind, a list.
func (b *catalog) anyQuestion() rules.Ordinary {
	return rules.Ordinary{
		What: "a sound request for values", ByName: true,
		Is: func(a *rules.Asked) bool {
			q := readQuestion(a.Message.Params())
			return a.Message.Method == spec.MethodComplete && q.sound() && b.offers(q)
		},
		Else: func(a *rules.Asked) bool {
			return a.Message.Method == spec.MethodPromptsList || a.Message.Method == spec.MethodResourcesTemplates || a.Message.Method == spec.MethodPing
		},
	}
}

// mistypedQuestion permits any answer that makes sense, so a result is only
// remarkable.
func mistypedQuestion(h *rules.Heard, out *rules.Out) {
	if h.Message.IsError() {
		out.Subject(completionValidates)
		return
	}
	d := about(completionValidates, h)
	d.Summary, d.Permitted = "The server serves a completion request with a wrong type.", "an error, usually with code -32602"
	d.Weight = verdict.OnlyNote
	out.Found(d)
}

func strangeReference(h *rules.Heard, out *rules.Out) {
	if h.Message.IsError() {
		return // any code will do
	}
	d := about(completionMissing, h)
	d.Summary, d.Permitted = "The server completes a reference of an unknown type.", "error -32602"
	d.Weight = verdict.OnlyNote
	out.Found(d)
}
