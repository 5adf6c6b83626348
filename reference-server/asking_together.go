package refserver

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// askTogether requests elicitation, sampling and roots, all in one result. The tool exists
// only in stateless revisions.
func askTogether(c *Call, _ values) object {
	results, err := c.SendRequests(
		ClientRequest{Method: spec.MethodElicit, Params: object{
			"mode":    "form",
			"message": "The ask-together tool would like to know your favourite colour.",
			"requestedSchema": object{
				"type": "object", "properties": object{"colour": object{"type": "string", "enum": colours}}, "required": []string{"colour"},
			},
		}},
		ClientRequest{Method: spec.MethodSampling, Params: object{
			"messages": []object{promptMessage("user", textBlock("Name a colour."))}, "maxTokens": 10,
		}},
		ClientRequest{Method: spec.MethodRootsList},
	)
	if err != nil {
		return errorResult("Asking the client failed: " + err.Error() + ".")
	}
	action, _ := wire.Text(wire.At(results[0], "/action"))
	if action == "accept" && !oneOf(colours)(wire.At(results[0], "/content/colour")) {
		return c.failUnusableResponse("The user's answer does not fit the form.")
	}
	return textResult(fmt.Sprintf("The user chose to %s. %s. The client has %d roots.",
		action, describeReply(results[1]), len(wire.Elements(wire.At(results[2], "/roots")))))
}
