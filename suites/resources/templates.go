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

// anyValue is what a template is given for which no good value is known: that
// there is no such resource is no failure.
const anyValue = "1"

// readExpansions reads what templates make of the values that the user told of, and
// those of one variable of the values that the server completes: of those it
// can be held to know that they are good.
func readExpansions(ctx context.Context, t *suite.T) {
	completes := t.Inventory.Declares("completions") || !t.Revision.AtLeast(spec.V20250326)
	c := listedConversation(ctx, t)
	if !readMalformedEscapes(ctx, t, c) {
		return
	}
	tried := 0
	for _, text := range t.Inventory.Templates {
		template := uri.Parse(text)
		if values, told := t.Inventory.Expansion(text); told {
			if expanded, ok := template.Expand(values); ok && !read(ctx, c, expanded).Answered() {
				return
			}
			continue
		}
		if !template.Simple || len(template.Variables) != 1 {
			continue
		}
		if tried == maxTemplates || ctx.Err() != nil || !c.Alive() {
			return
		}
		tried++
		var values []string
		if completes {
			values, completes = completeVariable(ctx, c, template) // what completes nothing once does so always
		}
		if len(values) == 0 {
			values = []string{anyValue}
		}
		for _, value := range firstN(maxExpansions, values) {
			expanded, ok := template.Expand(map[string]string{template.Variables[0]: value})
			if ok && !read(ctx, c, expanded).Answered() {
				return
			}
		}
	}
}

// readMalformedEscapes reads what the first template that can be expanded makes of
// values that are no right percent escapes. A server may refuse or repair them;
// decoders fail in ways of their own, of which the error must not tell by being
// none. It reports whether the server responded.
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
			if !read(ctx, c, strings.ReplaceAll(expanded, uri.Nowhere, uri.Nowhere+escape)).Answered() {
				return false
			}
		}
		return true
	}
	return true
}

// beginnings are what is completed, one after the other until there are values.
var beginnings = []string{"", "1"}

// completeVariable asks for the values of the template's one variable.
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
