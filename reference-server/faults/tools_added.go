package faults

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// An addedTool is a tool that a fault adds to the server.
type addedTool struct {
	entry string // its item in tools/list: a JSON object with a name
	call  func(c *refserver.Call, arguments jsontext.Value) (any, *refserver.Error)
}

// addTools adds tools at the end of the first page of tools/list.
func addTools(tools ...addedTool) *refserver.Seams {
	return combineSeams(
		WrapHandler(spec.MethodToolsList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil || wire.At(c.Params, "/cursor") != nil {
				return result, err
			}
			page := decodeObject(result)
			list, _ := page["tools"].([]any)
			for _, t := range tools {
				list = append(list, jsontext.Value(t.entry))
			}
			page["tools"] = list
			return page, nil
		}),
		WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			name := string(wire.At(c.Params, "/name"))
			i := slices.IndexFunc(tools, func(t addedTool) bool { return string(wire.At(jsontext.Value(t.entry), "/name")) == name })
			if i < 0 {
				return next(c)
			}
			return tools[i].call(c, wire.At(c.Params, "/arguments"))
		}),
	)
}

// A surveyTool is a tool that shows most of its behaviour only with optional arguments. structured
// is its structured content for the unit fahrenheit. data is the data of its image. problem is its
// error message for an invalid options.limit; if it is "", the tool accepts the invalid value.
type surveyTool struct{ structured, data, problem string }

func (s surveyTool) tool() addedTool {
	return addedTool{
		entry: `{"name":"survey","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{` +
			`"place":{"type":"string"},"unit":{"type":"string","enum":["celsius","fahrenheit"]},"picture":{"type":"boolean"},` +
			`"options":{"type":"object","properties":{"limit":{"type":"integer"}}}},"required":["place"]},` +
			`"outputSchema":{"type":"object","properties":{"value":{"type":"number"}},"required":["value"]}}`,
		call: func(c *refserver.Call, arguments jsontext.Value) (any, *refserver.Error) {
			if problem := s.problemOf(arguments); problem != "" {
				if c.Revision.AtLeast(spec.V20251125) {
					return failedResult("The arguments are not right: " + problem), nil
				}
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: problem}
			}
			value := `{"value":4}`
			if unit, _ := wire.Text(wire.At(arguments, "/unit")); unit == "fahrenheit" {
				value = s.structured
			}
			content := []any{map[string]any{"type": "text", "text": value}}
			if string(wire.At(arguments, "/picture")) == "true" {
				content = append(content, map[string]any{"type": "image", "data": s.data, "mimeType": "image/png"})
			}
			return map[string]any{"content": content, "structuredContent": jsontext.Value(value)}, nil
		},
	}
}

// problemOf returns what is wrong with the arguments, or "".
func (s surveyTool) problemOf(arguments jsontext.Value) string {
	is := func(name, kinds string) bool {
		v := wire.At(arguments, name)
		return v == nil || slices.Contains([]byte(kinds), byte(v.Kind()))
	}
	unit, _ := wire.Text(wire.At(arguments, "/unit"))
	switch limit := wire.At(arguments, "/options/limit"); {
	case wire.At(arguments, "/place").Kind() != '"':
		return "place has to be a string"
	case !is("/unit", `"`) || !slices.Contains([]string{"", "celsius", "fahrenheit"}, unit):
		return "unit has to be celsius or fahrenheit"
	case !is("/picture", "tf"):
		return "picture has to be a boolean"
	case !is("/options", "{"):
		return "options has to be an object"
	case limit != nil:
		if _, ok := wire.Integer(limit); !ok {
			return s.problem
		}
	}
	return ""
}

// rightSurvey is a survey that conforms to its schemas.
var rightSurvey = surveyTool{structured: `{"value":39.2}`, data: "iVBORw0KGgo=", problem: "limit has to be an integer"}

// sumOf returns the sum in a result of the tool add, or 1 if the result has no sum.
func sumOf(r map[string]any) float64 {
	content, _ := r["structuredContent"].(map[string]any)
	sum, err := strconv.ParseFloat(fmt.Sprint(content["sum"]), 64)
	if err != nil {
		return 1
	}
	return sum
}

// optionalArgumentFaults returns the faults that show only with certain values of arguments or with
// optional arguments.
func optionalArgumentFaults() []*Fault {
	structured, data, nested := rightSurvey, rightSurvey, rightSurvey
	structured.structured, data.data, nested.problem = `{"value":"39.2"}`, "\u0089PNG\r\n", ""
	since := sinceRevision(spec.V20250618)
	return []*Fault{
		newFault("tools.structured.present/zero", "a sum of 0 comes without structured content", editResultOfAdd(func(r map[string]any) {
			if sumOf(r) == 0 {
				delete(r, "structuredContent")
			}
		})).inRevisions(spec.V20250618, spec.V20251125),
		newFault("tools.structured.conforms/not-positive", "the structured sum of 0 or less is a string", editResultOfAdd(func(r map[string]any) {
			if sum := sumOf(r); sum <= 0 {
				r["structuredContent"] = map[string]any{"sum": fmt.Sprint(sum)}
			}
		})).inRevisions(spec.V20250618, spec.V20251125),
		newFault("tools.structured.conforms/other-unit", "structured content breaks the output schema for another enum value", addTools(structured.tool())).inRevisions(since...),
		newFault("tools.call.validates-inputs/nested", "members of an object argument are not validated", addTools(nested.tool())).inRevisions(since...),
	}
}

// renameListedTool renames a tool in tools/list and tools/call.
func renameListedTool(tool, name string) *refserver.Seams {
	return combineSeams(editTool(tool, func(t map[string]any) { t["name"] = name }), WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		return next(renameCalledTool(c, func(called string) string {
			if called == name {
				return tool
			}
			return called
		}))
	}))
}
