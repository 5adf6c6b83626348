package refserver

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// askSamplingMedia asks for a message after a conversation that holds
// everything which the revision and the client let it hold.
func askSamplingMedia(c *Call, _ values) object {
	if !c.Session.Declared("sampling") {
		return failed("This client has not declared sampling.")
	}
	params := object{
		"messages": c.conversation(),
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
	if c.usesTools() {
		params["tools"] = []object{{
			"name": "look", "description": "Looks closer.", "inputSchema": object{"type": "object", "properties": object{"at": object{"type": "string"}}},
		}}
		params["toolChoice"] = object{"mode": "auto"}
	}
	return asked(c, spec.MethodSampling, params, reply)
}

// usesTools reports whether the client's model may use tools.
func (c *Call) usesTools() bool {
	return c.Revision.AtLeast(spec.V20251125) && c.Session.Declared("sampling", "tools")
}

func (c *Call) conversation() []object {
	messages := []object{
		said("user", textBlock("What is this?")),
		said("user", imageBlock()),
		said("assistant", textBlock("A picture of one pixel.")),
	}
	if c.Revision.AtLeast(spec.V20250326) {
		messages = append(messages, said("user", audioBlock()))
	}
	if c.usesTools() {
		messages = append(messages,
			object{"role": "assistant", "content": []object{
				{"type": "tool_use", "id": "look-1", "name": "look", "input": object{"at": "the left"}},
				{"type": "tool_use", "id": "look-2", "name": "look", "input": object{}},
			}},
			object{"role": "user", "content": []object{
				{"type": "tool_result", "toolUseId": "look-1", "content": everyBlock(c.Revision)},
				{"type": "tool_result", "toolUseId": "look-2", "content": []object{textBlock("There is nothing.")}, "isError": true},
			}},
		)
	}
	if c.Revision.AtLeast(spec.V20251125) {
		messages = append(messages, object{"role": "user", "content": []object{textBlock("And these?"), imageBlock(), audioBlock()}})
	}
	return messages
}
