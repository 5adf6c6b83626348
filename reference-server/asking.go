package refserver

import (
	"crypto/rand"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// clientTools returns the tools that send requests to the client. A tool fails
// without sending its request if the client has not declared the capability for it.
func clientTools() []*tool {
	return []*tool{
		{
			name: "ask-ping", title: "Ping the client", description: "Pings the client and waits for its answer.", openWorld: true,
			until: spec.V20251125,
			run: func(c *Call, _ values) object {
				return askClient(c, spec.MethodPing, nil, func(jsontext.Value) string { return "The client is there." })
			},
		},
		{
			name: "ask-roots", title: "Ask for roots", description: "Asks the client for its roots.", openWorld: true,
			run: func(c *Call, _ values) object {
				if !c.ClientDeclared("roots") {
					return c.failUndeclared("This client has not declared roots.", "roots")
				}
				return askClient(c, spec.MethodRootsList, nil, func(result jsontext.Value) string {
					return fmt.Sprintf("The client has %d roots.", len(wire.Elements(wire.At(result, "/roots"))))
				})
			},
		},
		{
			name: "ask-sampling", title: "Ask a model", description: "Asks the client's model to answer a prompt.", openWorld: true,
			input: []argument{
				{name: "prompt", kind: "string", description: "The prompt", defaultValue: "Say a word."},
				{name: "context", kind: "string", description: "Which servers' context the model gets", defaultValue: "none", oneOf: []string{"none", "thisServer", "allServers"}},
			},
			run: askSampling,
		},
		{
			name: "ask-sampling-media", title: "Show a model everything", description: "Shows the client's model content of every type.", openWorld: true,
			run: askSamplingMedia,
		},
		{
			name: "ask-sampling-tools", title: "Let a model use tools", description: "Offers tools to the client's model, and runs those that it requests.", openWorld: true,
			since: spec.V20251125, run: askSamplingTools,
		},
		{
			name: "ask-elicitation", title: "Ask the user", description: "Asks the user for a name and a colour.", openWorld: true,
			since: spec.V20250618, tasks: taskOptional, run: askForm,
		},
		{
			name: "ask-elicitation-fields", title: "Ask the user for many details", description: "Asks the user to fill in a form with a field of every kind.", openWorld: true,
			since: spec.V20250618, run: askFields,
		},
		{
			name: "ask-elicitation-url", title: "Send the user to a page", description: "Asks the user to visit a page.", openWorld: true,
			since: spec.V20251125, run: askURL,
		},
		{
			name: "ask-elicitation-required", title: "Require a visit", description: "Requires the user to visit a page before the next call.", openWorld: true,
			since: spec.V20251125, run: requireURL,
		},
		{
			name: "ask-together", title: "Ask for everything at once", description: "Asks the user, a model and the client's roots, all at once.", openWorld: true,
			since: spec.V20260728, run: askTogether,
		},
	}
}

// askClient sends a request to the client and describes the result, or the error.
func askClient(c *Call, method string, params any, describe func(result jsontext.Value) string) object {
	result, err := c.SendRequest(method, params)
	if err != nil {
		return errorResult("Asking the client failed: " + err.Error() + ".")
	}
	return textResult(describe(result))
}

func askSampling(c *Call, a values) object {
	if !c.ClientDeclared("sampling") {
		return c.failUndeclared("This client has not declared sampling.", "sampling")
	}
	params := object{
		"messages":     []object{promptMessage("user", textBlock(a["prompt"].(string)))},
		"systemPrompt": "Be brief.",
		"maxTokens":    100,
	}
	// Servers SHOULD NOT request context without need, so the tool requests it only if an
	// argument says so. Since 2025-11-25 the client must also have declared the capability
	// sampling.context.
	if context := a["context"]; context != "none" {
		if c.Revision.AtLeast(spec.V20251125) && !c.ClientDeclared("sampling", "context") {
			return c.failUndeclared("This client has not declared context in sampling.", "sampling", "context")
		}
		params["includeContext"] = context
	}
	return askClient(c, spec.MethodSampling, params, describeReply)
}

// describeReply describes the result of sampling/createMessage.
func describeReply(result jsontext.Value) string {
	model, _ := wire.Text(wire.At(result, "/model"))
	blocks := wire.Elements(wire.At(result, "/content")) // an array is possible since 2025-11-25
	if blocks == nil {
		blocks = []jsontext.Value{wire.At(result, "/content")}
	}
	said := ""
	for _, b := range blocks {
		text, _ := wire.Text(wire.At(b, "/text"))
		said += text
	}
	return fmt.Sprintf("The model %q said: %s", model, said)
}

var colours = []string{"red", "green", "blue"}

// canElicitForms reports whether the client supports elicitation in form mode. An elicitation
// capability that names no mode means form mode, the only one in the first revision with
// elicitation.
func (c *Call) canElicitForms() bool {
	return c.ClientDeclared("elicitation") && (!c.ClientDeclared("elicitation", "url") || c.ClientDeclared("elicitation", "form"))
}

func askForm(c *Call, _ values) object {
	if !c.canElicitForms() {
		return c.failUndeclared("This client has not declared elicitation by form.", "elicitation", "form")
	}
	params := object{
		"message": "The ask-elicitation tool would like to know how to address you.",
		"requestedSchema": object{
			"type": "object",
			"properties": object{
				"name":   object{"type": "string", "title": "Name", "minLength": 1},
				"colour": object{"type": "string", "title": "Favourite colour", "enum": colours},
			},
			"required": []string{"name"},
		},
	}
	return askClient(c, spec.MethodElicit, params, func(result jsontext.Value) string {
		action, _ := wire.Text(wire.At(result, "/action"))
		name, ok := wire.Text(wire.At(result, "/content/name"))
		colour := wire.At(result, "/content/colour")
		switch {
		case action != "accept":
			return "The user chose to " + action + "."
		case !ok || name == "" || colour != nil && !oneOf(colours)(colour):
			const unfit = "The user's answer does not fit the form."
			c.failUnusableResponse(unfit)
			return unfit
		default:
			return "The user is called " + name + "."
		}
	})
}

func askURL(c *Call, _ values) object {
	if !c.ClientDeclared("elicitation", "url") {
		return c.failUndeclared("This client has not declared elicitation by URL.", "elicitation", "url")
	}
	id := rand.Text()
	params := c.pageToVisit(id, "The ask-elicitation-url tool would like you to visit a page.")
	return askClient(c, spec.MethodElicit, params, func(result jsontext.Value) string {
		action, _ := wire.Text(wire.At(result, "/action"))
		if action == "accept" && !c.isStateless() {
			// The page does nothing, so the elicitation is complete at once.
			c.Notify(spec.MethodElicitDone, object{"elicitationId": id})
		}
		return "The user chose to " + action + "."
	})
}

// pageToVisit returns the params of an elicitation in URL mode. Stateless revisions have
// no elicitationId, because the repeated request carries the client's response.
func (c *Call) pageToVisit(id, message string) object {
	params := object{"mode": "url", "message": message, "url": "https://example.com/visit/" + id}
	if !c.isStateless() {
		params["elicitationId"] = id
	}
	return params
}

// A visit is a page that the user must visit before a tool succeeds. The error of a call of that
// tool names the page.
type visit struct {
	id       string        // the elicitationId
	call     *Call         // the call that gets the error
	answered chan struct{} // closed when the error has been sent, or dropped after a cancellation
}

// requireURL fails a call with an error that names a page to visit. The session's next call of the
// tool succeeds, because it counts as proof of the visit, which the server can't observe. The call
// after that fails again. If the client cancelled the call that failed, the next call fails, too.
// In a stateless revision requireURL requests an elicitation instead of failing the call, and takes
// the user's consent as proof.
func requireURL(c *Call, _ values) object {
	if !c.ClientDeclared("elicitation", "url") {
		return c.failUndeclared("This client has not declared elicitation by URL.", "elicitation", "url")
	}
	if c.isStateless() {
		params := c.pageToVisit(rand.Text(), "The ask-elicitation-required tool wants you to visit a page first.")
		return askClient(c, spec.MethodElicit, params, func(result jsontext.Value) string {
			if action, _ := wire.Text(wire.At(result, "/action")); action != "accept" {
				return "The page was not visited: the user chose to " + action + "."
			}
			return "The page was visited."
		})
	}
	s := c.Session
	s.mu.Lock()
	last := s.requiredVisit
	s.requiredVisit = nil
	s.mu.Unlock()
	if last != nil {
		select {
		case <-last.answered:
		case <-c.ctx.Done():
			return nil
		}
		if !last.call.cancelled.Load() {
			c.Notify(spec.MethodElicitDone, object{"elicitationId": last.id})
			return textResult("The page was visited.")
		}
	}
	id, answered := rand.Text(), make(chan struct{})
	c.afterResponse = func() { close(answered) }
	s.mu.Lock()
	s.requiredVisit = &visit{id, c, answered}
	s.mu.Unlock()
	c.failWith(&Error{Code: spec.CodeURLElicitation, Message: "A page has to be visited first", Data: object{"elicitations": []object{
		c.pageToVisit(id, "The ask-elicitation-required tool wants you to visit a page first."),
	}}})
	return nil
}
