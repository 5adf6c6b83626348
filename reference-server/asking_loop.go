package refserver

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// maxRounds limits the sampling requests of one call; the last request forbids tool calls.
const maxRounds = 5

// samplingTools returns the tools that ask-sampling-tools offers to the client's
// model. They are not tools of the server.
func samplingTools() []object {
	city := object{
		"type": "object", "properties": object{"city": object{"type": "string"}}, "required": []string{"city"},
	}
	return []object{
		{"name": "weather", "description": "Returns the temperature in a city.", "inputSchema": city, "outputSchema": numberSchema("degrees")},
		{"name": "time", "description": "Returns the time in a city.", "inputSchema": city},
	}
}

// askSamplingTools sends sampling requests and runs the tools that the client's model uses. It
// stops when the model replies without a tool_use, or after maxRounds requests.
func askSamplingTools(c *Call, _ values) object {
	if !c.ClientDeclared("sampling", "tools") {
		return c.failUndeclared("This client has not declared tools in sampling.", "sampling", "tools")
	}
	messages := []object{promptMessage("user", textBlock("How warm is it in Paris, and what time is it there?"))}
	for n := 1; ; n++ {
		choice := "auto"
		if n == maxRounds {
			choice = "none"
		}
		result, err := c.SendRequest(spec.MethodSampling, object{
			"messages": messages, "maxTokens": 200, "tools": samplingTools(), "toolChoice": object{"mode": choice},
		})
		if err != nil {
			return errorResult("Asking the client failed: " + err.Error() + ".")
		}
		content := wire.At(result, "/content")
		results, ok := runToolUses(content)
		switch {
		case !ok:
			return c.failUnusableResponse("The model's answer can't be understood.")
		case len(results) == 0 || n == maxRounds:
			return textResult(describeReply(result))
		}
		messages = append(messages, object{"role": "assistant", "content": content}, object{"role": "user", "content": results})
	}
}

// runToolUses returns a tool_result for each tool_use in content. ok is false if a
// tool_use lacks its id or name.
func runToolUses(content jsontext.Value) (results []object, ok bool) {
	blocks := wire.Elements(content)
	if content.Kind() == '{' {
		blocks = []jsontext.Value{content}
	}
	for _, b := range blocks {
		if kind, _ := wire.Text(wire.At(b, "/type")); kind != "tool_use" {
			continue
		}
		id, hasID := wire.Text(wire.At(b, "/id"))
		name, hasName := wire.Text(wire.At(b, "/name"))
		if !hasID || !hasName {
			return nil, false
		}
		r := object{"type": "tool_result", "toolUseId": id}
		city, hasCity := wire.Text(wire.At(b, "/input/city"))
		switch {
		case name == "weather" && hasCity:
			r["content"] = []object{textBlock(fmt.Sprintf("It has 21 degrees in %s.", city))}
			r["structuredContent"] = object{"degrees": 21}
		case name == "time" && hasCity:
			r["content"] = []object{textBlock(fmt.Sprintf("It is noon in %s.", city))}
		default:
			r["content"], r["isError"] = []object{textBlock("There is no such tool, or the city is missing.")}, true
		}
		results = append(results, r)
	}
	return results, true
}
