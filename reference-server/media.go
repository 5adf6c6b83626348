package refserver

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// askSamplingMedia sends a sampling request that uses every kind of content and
// every option that the revision and the client's capabilities permit.
func askSamplingMedia(c *Call, _ values) object {
	if !c.ClientDeclared("sampling") {
		return c.failUndeclared("This client has not declared sampling.", "sampling")
	}
	params := object{
		"messages": c.samplingMessages(),
		"modelPreferences": object{
			"hints":        []object{{"name": "small"}, {}},
			"costPriority": 1, "speedPriority": 0.5, "intelligencePriority": 0,
		},
		"systemPrompt":   "Describe what you are shown.",
		"includeContext": "none",
		"temperature":    0.5,
		"maxTokens":      100,
		"stopSequences":  []string{"\n\n"},
		"metadata":       object{"com.example/reason": "demonstration"},
	}
	if c.canOfferTools() {
		params["tools"] = []object{{
			"name": "look", "description": "Looks closer.", "inputSchema": object{"type": "object", "properties": object{"at": object{"type": "string"}}},
		}}
		params["toolChoice"] = object{"mode": "auto"}
	}
	return askClient(c, spec.MethodSampling, params, describeReply)
}

// canOfferTools reports whether a sampling request may offer tools to the client's model.
func (c *Call) canOfferTools() bool {
	return c.Revision.AtLeast(spec.V20251125) && c.ClientDeclared("sampling", "tools")
}

func (c *Call) samplingMessages() []object {
	messages := []object{
		promptMessage("user", textBlock("What is this?")),
		promptMessage("user", imageBlock()),
		promptMessage("assistant", textBlock("A picture of one pixel.")),
	}
	if c.Revision.AtLeast(spec.V20250326) {
		messages = append(messages, promptMessage("user", audioBlock()))
	}
	if c.canOfferTools() {
		messages = append(messages,
			object{"role": "assistant", "content": []object{
				{"type": "tool_use", "id": "look-1", "name": "look", "input": object{"at": "the left"}},
				{"type": "tool_use", "id": "look-2", "name": "look", "input": object{}},
			}},
			object{"role": "user", "content": []object{
				{"type": "tool_result", "toolUseId": "look-1", "content": allContentBlocks(c.Revision)},
				{"type": "tool_result", "toolUseId": "look-2", "content": []object{textBlock("There is nothing.")}, "isError": true},
			}},
		)
	}
	if c.Revision.AtLeast(spec.V20251125) {
		messages = append(messages, object{"role": "user", "content": []object{textBlock("And these?"), imageBlock(), audioBlock()}})
	}
	return messages
}
