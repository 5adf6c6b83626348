package serverfeatures

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	toolValidates       = "tools.call.validates-inputs"
	toolRejects         = "tools.call.invalid-arguments-rejected-2024-11-05"
	toolInvalidIsResult = "tools.call.invalid-arguments-is-execution-error-2025-11-25"
)

// toolArguments judges calls of listed tools with arguments that violate the schema.
func toolArguments() rules.Fold {
	handle := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		b := catalogs.Of(s)
		request := obs.Request.Message
		name, _ := wire.Text(request.ParamAt("/name"))
		input, arguments := wire.At(b.tools.seen[name], "/inputSchema"), request.ParamAt("/arguments")
		if !isRegular(s, obs) || !s.ServerDeclared("tools") || request.ParamAt("/task") != nil || input.Kind() != '{' || arguments.Kind() != '{' {
			return
		}
		if !acceptsArguments(s, input, arguments) && !isUnknownNameError("tool", name, obs.Message) &&
			out.RequireInterpretable(obs, b.validCallControl(s, name), toolValidates, toolRejects, toolInvalidIsResult) {
			judgeInvalidArguments(s, input, arguments, obs, out)
		}
	}
	return rules.Fold{Shared: readsCatalog, OnMessage: rules.Handlers{rules.ResultOf(spec.MethodToolsCall): handle, rules.ErrorTo(spec.MethodToolsCall): handle}}
}

// judgeInvalidArguments judges the response to a call whose arguments violate the schema. It
// distinguishes three kinds of success. Arguments that are plainly wrong were not validated.
// Arguments of a wrong type that can be converted to the right one may have been validated and
// converted; the server should have refused them. Surplus arguments do no harm.
func judgeInvalidArguments(s *rules.Session, input, arguments jsontext.Value, obs *rules.Observation, out *rules.Reporter) {
	d := deviationOf(toolInvalidIsResult, obs)
	d.Earlier = "/params/arguments"
	d.Permitted = "a result with isError true"
	if !out.Judges(toolInvalidIsResult) {
		d.Permitted += ", or an error"
	}
	code, _ := obs.Message.ErrorCode()
	switch {
	case obs.Message.IsError() && spec.Code(code) == spec.CodeMethodNotFound:
		// Another reason is likely, such as that the tool must run as a task.
	case obs.Message.IsError():
		out.MarkObserved(toolValidates)
		out.MarkObserved(toolRejects)
		d.Summary = "The server answers invalid arguments with an error, not with isError."
		if s.Revision().AtLeast(spec.V20260728) {
			d.Weight = verdict.OnlyNote // the schema of 2026-07-28 names invalid arguments as a reason for -32602
		}
		out.Report(d) // no effect in revisions without this requirement
	case isFailedResult(obs.Message):
		out.MarkObserved(toolValidates)
		out.MarkObserved(toolRejects)
		out.MarkObserved(toolInvalidIsResult)
	case isPlainlyWrong(input, arguments):
		d.Requirement, d.Summary = toolValidates, "The server's tool succeeds with arguments that break its schema."
		if wrong := schema.For(s.Revision()).CheckStructuredContent(input, arguments); len(wrong) > 0 {
			d.Seen = "success, although the arguments break the schema: " + rules.Excerpt(wrong[0].Seen)
		}
		out.Report(d)
		out.MarkReportedElsewhere(toolRejects)
	case schema.For(s.Revision()).BreaksModernKeywords(input, arguments): // reported as an unsupported dialect
		out.MarkReportedElsewhere(toolValidates)
	default:
		d.Requirement, d.Weight = toolValidates, verdict.AtMostWarning
		if out.Judges(toolRejects) {
			d.Requirement = toolRejects
		}
		d.Summary = "The server's tool may convert arguments that break its schema."
		if conforms(s, input, knownArguments(input, arguments)) {
			d.Summary, d.Weight = "The server's tool ignores an argument that its schema forbids.", verdict.OnlyNote
		}
		out.Report(d)
	}
}

// knownArguments returns the arguments that the schema has as properties.
func knownArguments(input, arguments jsontext.Value) jsontext.Value {
	_, properties := wire.Members(wire.At(input, "/properties"))
	_, given := wire.Members(arguments)
	for name := range given {
		if properties[name] == nil {
			delete(given, name)
		}
	}
	return wire.JSON(given)
}

// isPlainlyWrong reports whether arguments violate the schema in a way that no conversion
// repairs, down to plainDepth levels.
func isPlainlyWrong(input, arguments jsontext.Value) bool {
	return isPlainlyWrongWithin(input, arguments, 0)
}

// plainDepth bounds how deep values are examined.
const plainDepth = 8

// isPlainlyWrongWithin reports whether an object lacks a required member that has no default, or
// has a member whose value is plainly wrong.
func isPlainlyWrongWithin(input, object jsontext.Value, depth int) bool {
	_, given := wire.Members(object)
	_, properties := wire.Members(wire.At(input, "/properties"))
	for _, r := range wire.Elements(wire.At(input, "/required")) {
		name, ok := wire.Text(r)
		if ok && given[name] == nil && wire.At(properties[name], "/default") == nil {
			return true
		}
	}
	for name, v := range given {
		if isPlainlyWrongValue(properties[name], v, depth) {
			return true
		}
	}
	return false
}

// isPlainlyWrongValue reports whether it is certain that no conversion turns v into a value that
// the schema permits. It skips the elements of arrays with prefixItems, because the dialects
// disagree on what "items" means next to it.
func isPlainlyWrongValue(schema, v jsontext.Value, depth int) bool {
	kind, _ := wire.Text(wire.At(schema, "/type"))
	if hasOtherType(v, kind) || kind == "string" && isOutsideEnum(v, wire.At(schema, "/enum")) {
		return true
	}
	items := wire.At(schema, "/items")
	switch {
	case depth == plainDepth:
	case kind == "object" && v.Kind() == '{':
		return isPlainlyWrongWithin(schema, v, depth+1)
	case kind == "array" && v.Kind() == '[' && items.Kind() == '{' && wire.At(schema, "/prefixItems") == nil:
		return slices.ContainsFunc(wire.Elements(v), func(e jsontext.Value) bool { return isPlainlyWrongValue(items, e, depth+1) })
	}
	return false
}

// hasOtherType reports whether no reasonable conversion turns v into the type.
func hasOtherType(v jsontext.Value, kind string) bool {
	text, isText := wire.Text(v)
	composed := v.Kind() == '{' || v.Kind() == '['
	switch kind {
	case "string":
		return composed
	case "number", "integer":
		_, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		return composed || isText && err != nil && strings.TrimSpace(text) != ""
	case "boolean":
		return composed
	case "array":
		return v.Kind() == '0' || v.Kind() == 't' || v.Kind() == 'f'
	case "object":
		return v.Kind() == '0' || v.Kind() == 't' || v.Kind() == 'f'
	default:
		return false
	}
}

// isOutsideEnum reports whether a string that is not empty is outside an enum of strings, ignoring
// case and surrounding space.
func isOutsideEnum(v, enum jsontext.Value) bool {
	text, ok := wire.Text(v)
	values := wire.Elements(enum)
	return ok && text != "" && len(values) > 0 && !slices.ContainsFunc(values, func(e jsontext.Value) bool {
		word, isText := wire.Text(e)
		return !isText || strings.EqualFold(strings.TrimSpace(word), strings.TrimSpace(text))
	})
}
