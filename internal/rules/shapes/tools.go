package shapes

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	noParametersForm   = "tools.input-schema.no-parameters-form"
	dependentHints     = "tools.annotations.dependent-hints"
	recommendedDialect = "base.json-schema-recommended-dialect"
)

func toolDefinitions() rules.Rule {
	return rules.Rule{
		ID:           "rule.tool-definitions",
		Title:        "tool annotations are consistent; schemas have a valid dialect, and a valid form without parameters",
		Requirements: []string{noParametersForm, dependentHints, recommendedDialect},
		Start: rules.Stateless(rules.Fold{OnMessage: rules.Handlers{
			rules.ResultOf(spec.MethodToolsList): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
				if !since(s, obs, spec.V20250326) || !obs.Request.WellFormed {
					return
				}
				for i, tool := range wire.Elements(wire.At(obs.Message.Result(), "/tools")) {
					judgeDefinition(s, tool, verdict.Deviation{At: rules.At(obs.Request.Event, obs.Event)}, "/result/tools/"+strconv.Itoa(i), out)
				}
			},
		}}),
	}
}

func judgeDefinition(s *rules.Session, tool jsontext.Value, d verdict.Deviation, where string, out *rules.Reporter) {
	judgeHints(tool, d, where, out)
	if !s.Revision().AtLeast(spec.V20251125) {
		return
	}
	for _, name := range []string{"inputSchema", "outputSchema"} {
		if v := wire.At(tool, "/"+name); v.Kind() == '{' {
			judgeDialect(v, d, where+"/"+name, out)
		}
	}
	judgeParameters(wire.At(tool, "/inputSchema"), d, where, out)
}

// judgeHints notes hints that contradict each other.
func judgeHints(tool jsontext.Value, d verdict.Deviation, where string, out *rules.Reporter) {
	if !isTrue(tool, "/annotations/readOnlyHint") {
		return
	}
	if !isTrue(tool, "/annotations/destructiveHint") {
		out.CameUp(dependentHints)
		return
	}
	d.Requirement, d.Summary = dependentHints, "The server's tool is declared both read-only and destructive."
	d.Permitted, d.Seen = "destructiveHint where readOnlyHint is not true", rules.Excerpt(wire.At(tool, "/annotations"))+" at "+where
	out.Deviates(d)
}

// judgeDialect only notes, because another dialect may be declared.
func judgeDialect(v jsontext.Value, d verdict.Deviation, where string, out *rules.Reporter) {
	named, ok := wire.Text(wire.At(v, "/$schema"))
	if !ok || strings.Contains(named, "json-schema.org/draft/2020-12/schema") {
		out.CameUp(recommendedDialect)
		return
	}
	d.Requirement, d.Weight = recommendedDialect, verdict.OnlyNote
	d.Summary = "The server's schema uses another dialect than the recommended one."
	d.Permitted, d.Seen = "JSON Schema 2020-12", rules.Excerpt(wire.Quote(named))+" at "+where
	out.Deviates(d)
}

// judgeParameters notes the schema of a tool without parameters that permits any member.
func judgeParameters(v jsontext.Value, d verdict.Deviation, where string, out *rules.Reporter) {
	names, _ := wire.Members(v)
	for _, name := range names {
		if !slices.Contains([]string{"$schema", "type", "properties", "required", "additionalProperties", "title", "description"}, name) {
			return // the effect of other keywords is unknown
		}
	}
	if properties, _ := wire.Members(wire.At(v, "/properties")); text(v, "/type") != "object" || len(properties) > 0 {
		return
	}
	if wire.At(v, "/additionalProperties").Kind() == 'f' {
		out.CameUp(noParametersForm)
		return
	}
	d.Requirement, d.Weight = noParametersForm, verdict.OnlyNote
	d.Summary = "The server's tool without parameters allows additional properties."
	d.Permitted, d.Seen = "additionalProperties that are false; any object schema is valid, too", rules.Excerpt(v)+" at "+where+"/inputSchema"
	out.Deviates(d)
}
