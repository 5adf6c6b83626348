package generate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/uri"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// members are the members of an object, in the order in which they are written.
type members []member

type member struct {
	name  string
	value jsontext.Value
}

func (m *members) add(name string, value jsontext.Value) { *m = append(*m, member{name, value}) }

func (m *members) addText(name, value string) { m.add(name, wire.Quote(value)) }

func (m members) has(name string) bool {
	return slices.ContainsFunc(m, func(one member) bool { return one.name == name })
}

// bytes returns the object as JSON, or nil if it has no members.
func (m members) bytes() jsontext.Value {
	if len(m) == 0 {
		return nil
	}
	out := []byte{'{'}
	for i, one := range m {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, wire.Quote(one.name)...), ':'), one.value...)
	}
	return append(out, '}')
}

// drawParams draws valid params for a request. The names and URIs in them usually exist.
func (o *Offer) drawParams(t *rapid.T, method string) members {
	var m members
	switch method {
	case spec.MethodToolsCall:
		o.drawCall(t, &m)
	case spec.MethodResourcesRead:
		m.addText("uri", o.drawURI(t))
	case spec.MethodResourcesSubscribe, spec.MethodResourcesUnsubscribe:
		if len(o.Resources) > 0 && !drawChance(t, 10) {
			m.addText("uri", rapid.SampledFrom(o.Resources).Draw(t, "resource"))
		} else {
			m.addText("uri", o.drawURI(t))
		}
	case spec.MethodPromptsGet:
		o.drawPrompt(t, &m)
	case spec.MethodComplete:
		o.drawCompletion(t, &m)
	case spec.MethodSetLevel:
		level, _ := rapid.SampledFrom(levels).Draw(t, "level").(string)
		m.addText("level", level)
	case spec.MethodTasksGet, spec.MethodTasksResult, spec.MethodTasksCancel:
		m.addText("taskId", anyText.Draw(t, "task"))
	}
	return m
}

// drawCall draws the params of tools/call.
func (o *Offer) drawCall(t *rapid.T, m *members) {
	if len(o.Tools) == 0 || drawChance(t, 5) {
		m.addText("name", drawUnknownName(t))
		return
	}
	tool := rapid.SampledFrom(o.Tools).Draw(t, "tool")
	m.addText("name", tool.Name)
	s := o.schemas["tool "+tool.Name]
	instances := s.Valid()
	if drawChance(t, 8) {
		instances = s.Invalid()
	}
	if i := instances.Draw(t, "arguments"); i.OK && string(i.Value) != "{}" {
		m.add("arguments", i.Value)
	} else if drawChance(t, 50) {
		m.add("arguments", jsontext.Value("{}"))
	}
	if tool.Tasks && drawChance(t, 35) {
		m.add("task", rapid.SampledFrom(tasks).Draw(t, "task"))
	}
}

var tasks = []jsontext.Value{
	jsontext.Value(`{}`), jsontext.Value(`{"ttl":60000}`), jsontext.Value(`{"ttl":1}`), jsontext.Value(`{"ttl":9007199254740991}`),
}

// drawUnknownName draws a name that does not exist on any server.
func drawUnknownName(t *rapid.T) string { return "no-such-" + anyText.Draw(t, "name") }

// drawURI draws a URI that is listed, that a template may match, or that does not
// exist.
func (o *Offer) drawURI(t *rapid.T) string {
	n := percent.Draw(t, "kind of URI")
	switch {
	case n < 55 && len(o.Resources) > 0:
		return rapid.SampledFrom(o.Resources).Draw(t, "resource")
	case n < 85 && len(o.Templates) > 0:
		return ExpandedURI(rapid.SampledFrom(o.Templates).Draw(t, "template")).Draw(t, "URI")
	default:
		return URI().Draw(t, "URI")
	}
}

// ExpandedURI draws a URI that matches a template.
func ExpandedURI(template string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		drawUnused(t)
		parsed := uri.Parse(template)
		values := map[string]string{}
		for _, name := range parsed.Variables {
			values[name] = rapid.OneOf(rapid.SampledFrom([]string{"1", "a", "0", "42", "-1", "abc"}), anyText).Draw(t, name)
		}
		if out, ok := parsed.Expand(values); ok {
			return out
		}
		return template
	})
}

// URI draws a URI that does not exist on any server, well-formed or not.
func URI() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if drawChance(t, 50) {
			scheme := rapid.SampledFrom([]string{"file:///", "https://example.com/", "demo://", "x:", "urn:x:"}).Draw(t, "scheme")
			return scheme + uri.Nowhere + "/" + uri.Escape(anyText.Draw(t, "path"))
		}
		return rapid.SampledFrom([]string{
			"", "/", "..", "file:", "://", "x", "%", "file://%zz/", "http://[::1", "a b", uri.Nowhere, "data:,", "FILE:///" + uri.Nowhere,
			"file:///" + uri.Nowhere + "#\u0000", strings.Repeat("a", 3000) + ":", "ä://ö/" + uri.Nowhere,
		}).Draw(t, "odd URI")
	})
}

// drawPrompt draws the params of prompts/get.
func (o *Offer) drawPrompt(t *rapid.T, m *members) {
	if len(o.Prompts) == 0 || drawChance(t, 10) {
		m.addText("name", drawUnknownName(t))
		return
	}
	p := rapid.SampledFrom(o.Prompts).Draw(t, "prompt")
	m.addText("name", p.Name)
	var arguments members
	for _, name := range p.Arguments {
		if slices.Contains(p.Required, name) && !drawChance(t, 4) || drawChance(t, 50) {
			arguments.addText(name, anyText.Draw(t, name))
		}
	}
	if len(arguments) > 0 {
		m.add("arguments", arguments.bytes())
	}
}

// drawCompletion draws the params of completion/complete.
func (o *Offer) drawCompletion(t *rapid.T, m *members) {
	var ref, argument members
	name := "argument"
	if len(o.Prompts) > 0 && (len(o.Templates) == 0 || drawChance(t, 50)) {
		p := rapid.SampledFrom(o.Prompts).Draw(t, "prompt")
		ref.addText("type", "ref/prompt")
		ref.addText("name", p.Name)
		if len(p.Arguments) > 0 {
			name = rapid.SampledFrom(p.Arguments).Draw(t, "argument")
		}
	} else {
		template := "demo://{" + name + "}"
		if len(o.Templates) > 0 {
			template = rapid.SampledFrom(o.Templates).Draw(t, "template")
		}
		ref.addText("type", "ref/resource")
		ref.addText("uri", template)
		if names := uri.Parse(template).Variables; len(names) > 0 {
			name = rapid.SampledFrom(names).Draw(t, "variable")
		}
	}
	argument.addText("name", name)
	value := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "p", "1", "e"}), anyText).Draw(t, "value")
	argument.addText("value", value)
	m.add("ref", ref.bytes())
	m.add("argument", argument.bytes())
	if o.Revision.HasCompletionContext() && drawChance(t, 20) {
		var arguments, context members
		arguments.addText(name, "a")
		context.add("arguments", arguments.bytes())
		m.add("context", context.bytes())
	}
}

// drawMeta draws the _meta of a request: keys without a defined meaning, a progress token made from
// n, which no other request has, and in the stateless era what a client may declare anew in each
// request.
func (o *Offer) drawMeta(t *rapid.T, n int64) jsontext.Value {
	var m members
	if drawChance(t, 60) {
		token := jsontext.Value(strconv.FormatInt(n, 10))
		if drawChance(t, 50) {
			token = wire.Quote("token-" + strconv.FormatInt(n, 10))
		}
		m.add("progressToken", token)
	}
	if drawChance(t, 40) {
		m.add("example.com/"+someNames.Draw(t, "key")+"0", Values{Depth: 2}.Value().Draw(t, "value"))
	}
	if o.isStateless() {
		drawDeclarations(t, &m)
	}
	if len(m) == 0 {
		return jsontext.Value("{}")
	}
	return m.bytes()
}
