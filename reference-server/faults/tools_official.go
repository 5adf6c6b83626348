package faults

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// doneResult is a tool result with one text block.
const doneResult = `{"content":[{"type":"text","text":"Done."}]}`

// officialResults returns the results of tools that the official conformance suite calls, by tool
// name. The entries of change replace or extend them. The harness assumes that a server with
// three of these tools was made for that suite, and so knows how the tools must behave.
func officialResults(change map[string]string) map[string]string {
	out := map[string]string{
		"test_simple_text":    doneResult,
		"test_image_content":  `{"content":[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]}`,
		"test_error_handling": `{"isError":true,"content":[{"type":"text","text":"This tool fails, as it should."}]}`,
	}
	for name, result := range change {
		out[name] = result
	}
	return out
}

// officialToolFaults returns the faults of tools that have a name of the official conformance
// suite, but behave differently.
func officialToolFaults() []*Fault {
	var out []*Fault
	for _, f := range []struct{ name, title, tool string }{
		{"succeeds", "the tool that should fail succeeds", "test_error_handling"},
		{"no-image", "the tool that should return an image returns text", "test_image_content"},
		{"one-of-several", "the tool that should return several kinds of content returns text alone", "test_multiple_content_types"},
		{"no-audio", "the tool that should return audio returns text", "test_audio_content"},
		{"no-progress", "the tool that should send progress sends none", "test_tool_with_progress"},
		{"no-logs", "the tool that should log sends no log message", "test_tool_with_logging"},
		{"not-asked", "the tool that should send sampling/createMessage sends none", "test_sampling"},
	} {
		out = append(out, newFault("tools.call.known-effect/"+f.name, f.title, addFixedTools(officialResults(map[string]string{f.tool: doneResult}))))
	}
	return append(out, newFaultWithState("tools.call.known-effect/stuck", "the tool that sends sampling/createMessage waits for ever", func() *refserver.Seams {
		return combineSeams(addFixedTools(officialResults(nil)), renameListedTool("ask-sampling", "test_sampling"), onClientResponse(spec.MethodSampling, func(*wire.Message) bool { return true }, dropFrame)())
	}))
}

// addFixedTools adds tools with fixed results.
func addFixedTools(results map[string]string) *refserver.Seams {
	var tools []addedTool
	for _, name := range slices.Sorted(maps.Keys(results)) {
		schema := `{"type":"object"}`
		if name == "test_sampling" {
			schema = `{"type":"object","properties":{"prompt":{"type":"string"}}}`
		}
		tools = append(tools, addedTool{
			entry: `{"name":"` + name + `","inputSchema":` + schema + `}`,
			call: func(*refserver.Call, jsontext.Value) (any, *refserver.Error) {
				return jsontext.Value(results[name]), nil
			},
		})
	}
	return addTools(tools...)
}
