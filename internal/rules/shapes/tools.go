package shapes

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	nameLength         = "tools.name.length"
	nameCharset        = "tools.name.charset"
	noParametersForm   = "tools.input-schema.no-parameters-form"
	dependentHints     = "tools.annotations.dependent-hints"
	recommendedDialect = "base.json-schema-recommended-dialect"
	errorExplains      = "tools.call.execution-error-explains"
)

func toolDefinitions() rules.Rule {
	return rules.Rule{
		ID:           "rule.tool-definitions",
		Title:        "the names of tools, what their hints say together, and the dialect of their schemas",
		Requirements: []string{nameLength, nameCharset, noParametersForm, dependentHints, recommendedDialect},
		Start: rules.Stateless(rules.Fold{Hear: rules.Hears{
			rules.ResultOf(spec.MethodToolsList): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
				if !since(s, spec.V20250326) || !h.Asked.WellFormed {
					return
				}
				for i, tool := range wire.Elements(wire.At(h.Message.Result(), "/tools")) {
					definition(s, tool, verdict.Deviation{At: rules.At(h.Asked.Event, h.Event)}, "/result/tools/"+strconv.Itoa(i), out)
				}
			},
		}}),
	}
}

func definition(s *rules.Session, tool jsontext.Value, d verdict.Deviation, where string, out *rules.Out) {
	hints(tool, d, where, out)
	if !s.Revision().AtLeast(spec.V20251125) {
		return
	}
	if name, ok := wire.Text(wire.At(tool, "/name")); ok {
		toolName(name, d, out)
	}
	for _, name := range []string{"inputSchema", "outputSchema"} {
		if v := wire.At(tool, "/"+name); v.Kind() == '{' {
			dialect(v, d, where+"/"+name, out)
		}
	}
	parameters(wire.At(tool, "/inputSchema"), d, where, out)
}

var nameCharacters = regexp.MustCompile(`^[A-Za-z0-9_.-]*$`)

const longestName = 128

// toolName judges length and characters each by itself.
func toolName(name string, d verdict.Deviation, out *rules.Out) {
	d.Seen = "the name " + rules.Excerpt(wire.Quote(name))
	if n := utf8.RuneCountInString(name); n < 1 || n > longestName {
		d.Requirement, d.Summary = nameLength, "The name of a tool is empty, or has more than 128 characters."
		d.Permitted, d.Seen = "1 to 128 characters", strconv.Itoa(n)+" characters: "+rules.Excerpt(wire.Quote(name))
		out.Found(d)
	} else {
		out.Subject(nameLength)
	}
	if !nameCharacters.MatchString(name) {
		d.Requirement, d.Summary = nameCharset, "The name of a tool has characters that names should not have."
		d.Permitted, d.Seen = "ASCII letters, digits, underscores, hyphens and dots", "the name "+rules.Excerpt(wire.Quote(name))
		out.Found(d)
		return
	}
	out.Subject(nameCharset)
}

// hints notes what contradicts itself.
func hints(tool jsontext.Value, d verdict.Deviation, where string, out *rules.Out) {
	if !isTrue(tool, "/annotations/readOnlyHint") {
		return
	}
	if !isTrue(tool, "/annotations/destructiveHint") {
		out.Subject(dependentHints)
		return
	}
	d.Requirement, d.Summary = dependentHints, "A tool says to be read-only and destructive."
	d.Permitted, d.Seen = "destructiveHint where readOnlyHint is not true", rules.Excerpt(wire.At(tool, "/annotations"))+" at "+where
	out.Found(d)
}

// dialect gives advice only: another dialect may be declared.
func dialect(v jsontext.Value, d verdict.Deviation, where string, out *rules.Out) {
	named, ok := wire.Text(wire.At(v, "/$schema"))
	if !ok || strings.Contains(named, "json-schema.org/draft/2020-12/schema") {
		out.Subject(recommendedDialect)
		return
	}
	d.Requirement, d.Weight = recommendedDialect, verdict.OnlyNote
	d.Summary = "A schema is of another dialect than the recommended one."
	d.Permitted, d.Seen = "JSON Schema 2020-12", rules.Excerpt(wire.Quote(named))+" at "+where
	out.Found(d)
}

// parameters notes a schema that takes anything where there are no parameters.
func parameters(v jsontext.Value, d verdict.Deviation, where string, out *rules.Out) {
	names, _ := wire.Members(v)
	for _, name := range names {
		if !slices.Contains([]string{"$schema", "type", "properties", "required", "additionalProperties", "title", "description"}, name) {
			return // who knows what it comes to
		}
	}
	if properties, _ := wire.Members(wire.At(v, "/properties")); text(v, "/type") != "object" || len(properties) > 0 {
		return
	}
	if wire.At(v, "/additionalProperties").Kind() == 'f' {
		out.Subject(noParametersForm)
		return
	}
	d.Requirement, d.Weight = noParametersForm, verdict.OnlyNote
	d.Summary = "A tool without parameters takes any."
	d.Permitted, d.Seen = "additionalProperties that are false; any object schema is valid, too", rules.Excerpt(v)+" at "+where+"/inputSchema"
	out.Found(d)
}

func toolErrors() rules.Rule {
	return rules.Rule{
		ID:           "rule.tool-errors",
		Title:        "a tool that fails says why",
		Requirements: []string{errorExplains},
		Start: rules.Stateless(rules.Fold{Hear: rules.Hears{
			rules.ResultOf(spec.MethodToolsCall): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
				if result := h.Message.Result(); since(s, spec.V20251125) && member(result, "isError").Kind() == 't' {
					explained(result, verdict.Deviation{At: rules.At(h.Asked.Event, h.Event)}, out)
				}
			},
		}}),
	}
}

// explained takes any block for an explanation that is no blank text.
func explained(result jsontext.Value, d verdict.Deviation, out *rules.Out) {
	content := wire.At(result, "/content")
	if content.Kind() != '[' {
		return // told by the shape of the message
	}
	for _, block := range wire.Elements(content) {
		if kind := text(block, "/type"); kind != "text" || strings.TrimSpace(text(block, "/text")) != "" {
			out.Subject(errorExplains)
			return
		}
	}
	if has(result, "structuredContent") {
		return // which may well say it
	}
	d.Requirement, d.Summary = errorExplains, "A tool fails and does not say why."
	d.Permitted, d.Seen = "content that tells what went wrong", rules.Excerpt(result)
	out.Found(d)
}
