package shapes

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const supports202012 = "base.json-schema-2020-12"

func supportedDialect() rules.Rule {
	return rules.Rule{
		ID:           "rule.json-schema-2020-12",
		Title:        "arguments are judged by JSON Schema 2020-12 where the schema names no dialect",
		Requirements: []string{supports202012},
		Start: func() rules.Fold {
			l := &toolSchemas{member: "inputSchema"}
			return rules.Fold{OnMessage: rules.Handlers{
				rules.ResultOf(spec.MethodToolsList):        l.noteList,
				rules.Notification(spec.MethodToolsChanged): l.noteChange,
				rules.ResultOf(spec.MethodToolsCall):        l.judgeCall,
				rules.ErrorTo(spec.MethodToolsCall):         l.judgeCall,
			}}
		},
	}
}

// dialectKeywords are parts of the names of keywords that draft-07 lacks or interprets differently
// than 2020-12.
var dialectKeywords = []string{"prefixItems", "unevaluated", "dependen", "Contains", "$ref", "$dynamicRef", "additionalItems"}

func hasDifferingKeyword(input jsontext.Value) bool {
	return slices.ContainsFunc(dialectKeywords, func(word string) bool { return bytes.Contains(input, []byte(word)) })
}

// judgeCall judges calls whose arguments are valid in only one of draft-07 and 2020-12; only these
// show which one the server uses. One call is not proof: accepted arguments may have been
// converted, and refused ones may be wrong in another way.
func (l *toolSchemas) judgeCall(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	params := obs.Request.Message.Params()
	if !isGovernedByRevision(s, obs) || !obs.Request.WellFormed || len(l.schemas) == 0 {
		return
	}
	input, arguments := l.schemas[stringAt(params, "/name")], obs.Request.Message.ParamAt("/arguments")
	if input == nil || !hasDifferingKeyword(input) || arguments.Kind() != '{' || hasMember(params, "task") {
		return
	}
	v := schema.For(s.Revision())
	failed := obs.Message.IsError() || isTrue(obs.Message.Result(), "/isError")
	d := verdict.Deviation{Requirement: supports202012, At: rules.PositionsOf(obs.Request.Event, obs.Event)}
	switch broken := v.CheckStructuredContent(input, arguments); {
	case len(broken) > 0 && !v.BreaksModernKeywords(input, arguments):
	case len(broken) > 0 && !failed:
		d.Summary, d.Weight = "The server accepts arguments that its schema, read as JSON Schema 2020-12, forbids.", verdict.AtMostWarning
		d.Permitted, d.Seen = "an error, or a result with isError true", describeArguments(arguments, broken[0].Seen)
		out.Report(d)
	case len(broken) > 0:
		out.MarkObserved(supports202012)
	default:
		older, ok := v.CheckInDraft07(input, arguments)
		if !ok || len(older) == 0 {
			return
		}
		if !failed {
			out.MarkObserved(supports202012)
			return
		}
		d.Summary, d.Weight = "The server refuses arguments that JSON Schema 2020-12 permits.", verdict.OnlyNote
		d.Permitted, d.Seen = "the tool's result for arguments that match its schema", describeArguments(arguments, rules.Excerpt(obs.Message.Raw))
		out.Report(d)
	}
}

func describeArguments(arguments jsontext.Value, what string) string {
	return "arguments " + rules.Excerpt(arguments) + ": " + what
}
