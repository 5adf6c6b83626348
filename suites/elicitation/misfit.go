package elicitation

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const validated = "elicitation.response.validated"

// invalidValue replaces an enum value, a number or a boolean in a form.
const invalidValue = "mcp-conform-does-not-fit"

// invalidFormFor returns a form with one invalid value in response to an elicitation. It returns
// nil if m is not a form elicitation, or if no field of its form can be made invalid.
func invalidFormFor(m *wire.Message) *invalidForm {
	if m == nil || isURLMode(m) {
		return nil
	}
	return newInvalidForm(wire.At(m.Params(), "/requestedSchema"))
}

// invalidForm is a filled-in form with one field whose value its schema forbids.
type invalidForm struct {
	content object
	fitting string // a valid value of the field, as text
}

// newInvalidForm fills in a form, with one field that violates its schema. It returns nil if no
// field can be made invalid.
func newInvalidForm(schema jsontext.Value) *invalidForm {
	content, err := generate.Form(schema)
	if err != nil {
		return nil
	}
	names, fields := wire.Members(wire.At(schema, "/properties"))
	for _, name := range names {
		kind, _ := wire.Text(wire.At(fields[name], "/type"))
		listed := wire.At(fields[name], "/enum/0") != nil || wire.At(fields[name], "/oneOf/0/const") != nil
		if listed || kind == "integer" || kind == "number" || kind == "boolean" {
			text, err := json.Marshal(content[name])
			if err != nil {
				return nil
			}
			content[name] = invalidValue
			return &invalidForm{content, unquoted.Replace(string(text))}
		}
	}
	return nil
}

var unquoted = strings.NewReplacer(`\`, "", `"`, "")

// maskValues returns the result with the invalid value and the valid one replaced with the same
// character, so that two results can be compared.
func (f *invalidForm) maskValues(r *client.Reply) string {
	text := unquoted.Replace(string(r.Message.Result()))
	text = strings.ReplaceAll(text, invalidValue, "\x00")
	if f.fitting == "" {
		return text
	}
	return strings.ReplaceAll(text, f.fitting, "\x00")
}

// submitInvalidForm submits a form with an invalid field. If the tool fails, or succeeds with a
// result that shows the invalid value, it also submits a valid form. A tool with equal results for
// both has not validated the form. A tool that fails with the valid form, and accepts the invalid
// one again, has confused the two forms. In other cases the result may say that the value was
// refused, so success is only noted.
func submitInvalidForm(ctx context.Context, t *suite.T, c *client.Conversation, script *client.Answers, tool inventory.Tool, limit time.Duration) {
	submit := func(spoils bool) *suite.ToolCall {
		submitted := false
		script.Set(spec.MethodElicit, func(m *wire.Message) []byte {
			form := invalidFormFor(m)
			if form == nil || submitted {
				return wire.NewResult(m.ID, object{"action": "decline"})
			}
			submitted = true
			content := form.content
			if !spoils {
				content, _ = generate.Form(wire.At(m.Params(), "/requestedSchema"))
			}
			return wire.NewResult(m.ID, object{"action": "accept", "content": content})
		})
		return suite.Call(ctx, c, tool, limit)
	}
	n := submit(true)
	form := invalidFormFor(n.Request(spec.MethodElicit))
	if form == nil || !n.Answered() {
		return
	}
	if n.Failed() {
		judgeInvalidForm(t, c, tool, n, submit(false))
		return
	}
	if !isAccepted(n) {
		return
	}
	d := verdict.Deviation{
		Requirement: validated,
		Summary:     "The server's tool accepts content that breaks its form.",
		Permitted:   "an error, a result with isError true, or another elicitation",
		Seen:        suite.Describe(n.Reply),
		At:          n.Positions(spec.MethodElicit),
		Weight:      verdict.OnlyNote,
	}
	switch control := submit(false); {
	case !control.Answered() || control.Request(spec.MethodElicit) == nil:
	case control.Failed() && isAccepted(submit(true)):
		d.Summary, d.Weight = "The server's tool accepts a broken form and refuses one that fits.", verdict.Full
		d.At = append(d.At, control.Positions(spec.MethodElicit)...)
	case !control.Failed() && form.maskValues(control.Reply) == form.maskValues(n.Reply):
		d.Summary, d.Weight = "The server's tool treats a broken form like one that fits.", verdict.Full
		d.At = append(d.At, control.Positions(spec.MethodElicit)...)
	}
	t.Report(c, d)
}

// isAccepted reports whether a tool succeeded with the invalid form, and its result shows the
// invalid value.
func isAccepted(n *suite.ToolCall) bool {
	return n.Answered() && !n.Failed() && strings.Contains(string(n.Message.Result()), invalidValue)
}

// judgeInvalidForm judges a tool that fails with the invalid form, by its result for a valid one.
// If the tool fails with the valid form as well, it may have another reason to fail, unless the
// configuration says that it sends elicitation requests.
func judgeInvalidForm(t *suite.T, c *client.Conversation, tool inventory.Tool, n, control *suite.ToolCall) {
	promised := slices.ContainsFunc(t.Inventory.KnownCalls(inventory.AsksElicitation), func(k inventory.KnownCall) bool {
		return k.IsPromised && k.Tool == tool.Name
	})
	switch {
	case !control.Answered() || control.Request(spec.MethodElicit) == nil:
	case !control.Failed():
		t.MarkKept(validated)
	case promised:
		t.Report(c, verdict.Deviation{
			Requirement: validated,
			Summary:     "The server's tool refuses a form that fits its schema.",
			Permitted:   "a result that uses what the user filled in",
			Seen:        suite.Describe(control.Reply),
			At:          append(n.Positions(spec.MethodElicit), control.Positions(spec.MethodElicit)...),
		})
	}
}
