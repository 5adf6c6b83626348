package resources

import (
	"context"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/uri"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// anyValue is the value of a variable for which no valid value is known. It is not a failure if the
// server has no resource for this value.
const anyValue = "1"

// readExpansions reads expansions of templates with one variable. First it reads malformed escapes.
// Then it uses values that the server offers as completions, because the server has to know that
// they are valid. Without completions it uses anyValue. Expansions with values that the author
// promises are read by readPromised.
func readExpansions(ctx context.Context, t *suite.T) {
	completes := t.Inventory.Declares("completions") || !t.Revision.HasCompletionsCapability()
	c := conversationAfterListing(ctx, t)
	if !readMalformedEscapes(ctx, t, c) {
		return
	}
	tried := 0
	for _, text := range t.Inventory.Templates {
		template := uri.Parse(text)
		if _, promised := t.Inventory.PromisedExpansion(text); promised || !template.Simple || len(template.Variables) != 1 {
			continue
		}
		if tried == maxTemplates || ctx.Err() != nil || !c.Alive() {
			return
		}
		tried++
		var values []string
		if completes {
			values, completes = completeVariable(ctx, c, template) // if one variable has no completions, the others are not tried
		}
		if len(values) == 0 {
			values = []string{anyValue}
		}
		for _, value := range firstN(maxExpansions, values) {
			expanded, ok := template.Expand(map[string]string{template.Variables[0]: value})
			if ok && !readResource(ctx, c, expanded).Answered() {
				return
			}
		}
	}
}

// readMalformedEscapes reads expansions of a template with values that are malformed
// percent-escapes. A server may refuse or repair them, but it must respond even if its decoder
// fails. readMalformedEscapes returns false if one of the reads got no response.
func readMalformedEscapes(ctx context.Context, t *suite.T, c *client.Conversation) bool {
	for _, text := range t.Inventory.Templates {
		template, values := uri.Parse(text), map[string]string{}
		for _, name := range template.Variables {
			values[name] = uri.Nowhere
		}
		expanded, ok := template.Expand(values)
		if !ok || len(values) == 0 {
			continue
		}
		for _, escape := range []string{"%", "%zz", "%E0%A4%A", "%C3"} {
			if !readResource(ctx, c, strings.ReplaceAll(expanded, uri.Nowhere, uri.Nowhere+escape)).Answered() {
				return false
			}
		}
		return true
	}
	return true
}

// beginnings are the prefixes for which completions are requested, one after the other until the
// server returns values.
var beginnings = []string{"", "1"}

// completeVariable requests the values of the template's only variable, and returns those that need
// no escaping in a URI. ok is false if a completion request does not succeed.
func completeVariable(ctx context.Context, c *client.Conversation, template *uri.Template) (values []string, ok bool) {
	for _, beginning := range beginnings {
		r := c.Do(ctx, spec.MethodComplete, map[string]any{
			"ref":      map[string]any{"type": "ref/resource", "uri": template.Text},
			"argument": map[string]any{"name": template.Variables[0], "value": beginning},
		}, client.Within(0))
		if !r.Succeeded() {
			return nil, false
		}
		for _, v := range wire.Elements(wire.At(r.Message.Result(), "/completion/values")) {
			if text, isText := wire.Text(v); isText && text != "" && uri.Escape(text) == text {
				values = append(values, text)
			}
		}
		if len(values) > 0 {
			break
		}
	}
	return values, true
}
