package refserver

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// fixtureInputTools returns the tools that the official suite calls only in 2026-07-28. Most of
// these tools ask the client for input. If the client has not declared the capability for such
// input, the call gets an error that names the capability.
func fixtureInputTools() []*tool {
	fixture := func(name, title string, run func(*Call, values) object) *tool {
		return &tool{
			name: name, title: title, description: "For the official conformance suite: " + title + ".",
			openWorld: true, since: spec.V20260728, run: run,
		}
	}
	change := func(list string) func(*Call, values) object {
		return func(c *Call, _ values) object { return runChangeList(c, values{"list": list}) }
	}
	capital := func(c *Call, _ values) object {
		return askModel(c, values{"prompt": "What is the capital of France?"})
	}
	changing := fixture("test_trigger_tool_change", "Change the list of tools", change("tools"))
	changing.writes = true
	changingPrompts := fixture("test_trigger_prompt_change", "Change the list of prompts", change("prompts"))
	changingPrompts.writes = true
	return []*tool{
		fixture("test_input_required_result_elicitation", "Ask for a name", askUserName),
		fixture("test_input_required_result_sampling", "Ask for a capital", capital),
		fixture("test_input_required_result_list_roots", "Ask for the roots", askFixtureRoots),
		fixture("test_input_required_result_request_state", "Ask for a confirmation", func(c *Call, _ values) object {
			return askConfirmation(c, "The state came back: state-ok.")
		}),
		fixture("test_input_required_result_tampered_state", "Ask for a confirmation with a protected state", func(c *Call, _ values) object {
			return askConfirmation(c, "The state is intact.")
		}),
		fixture("test_input_required_result_multiple_inputs", "Ask three things at once", askAtOnce),
		fixture("test_input_required_result_multi_round", "Ask two things in turn", askInTurn),
		fixture("test_input_required_result_capabilities", "Ask as the capabilities permit", func(c *Call, v values) object {
			if c.ClientDeclared("sampling") {
				return capital(c, v)
			}
			return askUserName(c, v)
		}),
		fixture("test_streaming_elicitation", "Ask for a name after some progress", func(c *Call, v values) object {
			c.sendProgress(50, 100, "50 percent")
			return askUserName(c, v)
		}),
		fixture("test_missing_capability", "Ask a model, whatever the client declares", capital),
		fixture("test_logging_tool", "Log one message", func(c *Call, _ values) object {
			c.log("info", "A message from the test_logging_tool.")
			return textResult("One message was logged.")
		}),
		changing,
		changingPrompts,
	}
}

var (
	nameField    = []formField{{name: "name", required: true, schema: object{"type": "string"}, isValid: isString}}
	colourField  = []formField{{name: "color", required: true, schema: object{"type": "string"}, isValid: isString}}
	contextField = []formField{{name: "context", required: true, schema: object{"type": "string"}, isValid: isString}}
	okField      = []formField{{name: "ok", required: true, schema: object{"type": "boolean"}, isValid: isBoolean}}
)

// askUserName asks the user for a name, with the key in inputRequests that the suite
// prescribes.
func askUserName(c *Call, _ values) object {
	results, err := c.SendRequests(ClientRequest{Method: spec.MethodElicit, Params: elicitationOf(c, "What is your name?", nameField), Key: "user_name"})
	if err != nil {
		return errorResult("Asking the client failed: " + err.Error() + ".")
	}
	if name, ok := wire.Text(wire.At(results[0], "/content/name")); ok {
		return textResult("Hello, " + name + "!")
	}
	return textResult("Hello!")
}

func askFixtureRoots(c *Call, _ values) object {
	return askClient(c, spec.MethodRootsList, nil, func(result jsontext.Value) string {
		return fmt.Sprintf("The client has these roots: %s", wire.At(result, "/roots"))
	})
}

func askConfirmation(c *Call, done string) object {
	return askClient(c, spec.MethodElicit, elicitationOf(c, "Please confirm", okField), func(jsontext.Value) string { return done })
}

// askAtOnce requests elicitation, sampling and roots in one result.
func askAtOnce(c *Call, _ values) object {
	results, err := c.SendRequests(
		ClientRequest{Method: spec.MethodElicit, Params: elicitationOf(c, "What is your name?", nameField)},
		ClientRequest{Method: spec.MethodSampling, Params: object{"messages": []object{promptMessage("user", textBlock("Generate a greeting"))}, "maxTokens": 50}},
		ClientRequest{Method: spec.MethodRootsList},
	)
	if err != nil {
		return errorResult("Asking the client failed: " + err.Error() + ".")
	}
	return textResult(fmt.Sprintf("The client answered %d requests.", len(results)))
}

// askInTurn asks the user a second question after the first is answered.
func askInTurn(c *Call, _ values) object {
	var answers []string
	for _, step := range []struct {
		message string
		fields  []formField
	}{
		{"Step 1: What is your name?", nameField},
		{"Step 2: What is your favorite color?", colourField},
	} {
		result, err := c.SendRequest(spec.MethodElicit, elicitationOf(c, step.message, step.fields))
		if err != nil {
			return errorResult("Asking the client failed: " + err.Error() + ".")
		}
		answers = append(answers, string(wire.At(result, "/content")))
	}
	return textResult(fmt.Sprintf("The user answered %s.", answers))
}
