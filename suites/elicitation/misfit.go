package elicitation

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const validated = "elicitation.response.validated"

// misfit stands in the place of a word from a list, a number or a truth value.
const misfit = "mcp-conform-does-not-fit"

// spoil fills in a form but for one field, which gets a value that its schema
// forbids; nil where there is no such field.
func spoil(schema jsontext.Value) object {
	content, ok := client.FillIn(schema)
	if !ok {
		return nil
	}
	names, fields := wire.Members(wire.At(schema, "/properties"))
	for _, name := range names {
		kind, _ := wire.Text(wire.At(fields[name], "/type"))
		listed := wire.At(fields[name], "/enum/0") != nil || wire.At(fields[name], "/oneOf/0/const") != nil
		if listed || kind == "integer" || kind == "number" || kind == "boolean" {
			content[name] = misfit
			return content
		}
	}
	return nil
}

// unfitting has the user hand in what does not fit. A tool that uses it, and
// says so, is remarkable; that words which say that it was refused look the
// same is why it is no more.
func unfitting(ctx context.Context, t *suite.T, c *client.Conversation, script *client.Answers, tool inventory.Tool, limit time.Duration) {
	handedIn := false
	script.Set(spec.MethodElicit, func(m *wire.Message) []byte {
		if content := spoil(wire.At(m.Params(), "/requestedSchema")); content != nil && !byURL(m) && !handedIn {
			handedIn = true
			return wire.NewResult(m.ID, object{"action": "accept", "content": content})
		}
		return wire.NewResult(m.ID, object{"action": "decline"})
	})
	n := suite.Call(ctx, c, tool, limit)
	m := n.Request(spec.MethodElicit)
	if m == nil || byURL(m) || spoil(wire.At(m.Params(), "/requestedSchema")) == nil || !n.Answered() {
		return
	}
	switch {
	case n.Failed():
		t.Kept(validated)
	case strings.Contains(string(n.Message.Result()), misfit):
		t.Deviates(c, verdict.Deviation{
			Requirement: validated,
			Summary:     "The server's tool accepts content that breaks its form.",
			Permitted:   "an error, a result with isError true, or another elicitation",
			Seen:        suite.Describe(n.Reply),
			At:          n.Positions(spec.MethodElicit),
			Weight:      verdict.OnlyNote,
		})
	}
}
