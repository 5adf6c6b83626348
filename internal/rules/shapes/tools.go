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
		Start: rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{
			rules.ResultOf(spec.MethodToolsList): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
				if !isGovernedByRevision(s, obs) || !obs.Request.WellFormed {
					return
				}
				found := rules.MemoResult(s, obs.Message, definitionsKey{}, func() *definitions { return judgeDefinitions(s, obs.Message) })
				for _, id := range found.observed {
					out.MarkObserved(id)
				}
				for _, d := range found.deviations {
					d.At = rules.PositionsOf(obs.Request.Event, obs.Event)
					out.Report(d)
				}
			},
		}}),
	}
}

// tool is an entry of tools/list.
type tool struct {
	name    string
	named   bool // the name is a string
	members map[string]jsontext.Value
}

type toolsKey struct{}

// toolsOf returns the tools in a result of tools/list.
func toolsOf(s *rules.Session, m *wire.Message) []tool {
	return rules.MemoResult(s, m, toolsKey{}, func() []tool {
		var out []tool
		for _, raw := range wire.Elements(m.ResultAt("/tools")) {
			var t tool
			_, t.members = wire.Members(raw)
			t.name, t.named = wire.Text(t.members["name"])
			out = append(out, t)
		}
		return out
	})
}

type definitionsKey struct{}

// definitions are the findings in one result of tools/list.
type definitions struct {
	observed   []string            // the observed requirements, once for each observation
	deviations []verdict.Deviation // without positions
}

func judgeDefinitions(s *rules.Session, m *wire.Message) *definitions {
	found := &definitions{}
	for i, t := range toolsOf(s, m) {
		where := "/result/tools/" + strconv.Itoa(i)
		found.judgeHints(t, where)
		for _, name := range []string{"inputSchema", "outputSchema"} {
			if v := t.members[name]; v.Kind() == '{' {
				found.judgeDialect(v, where+"/"+name)
			}
		}
		found.judgeParameters(t.members["inputSchema"], where)
	}
	return found
}

// judgeHints adds a deviation if a tool is both read-only and destructive.
func (f *definitions) judgeHints(t tool, where string) {
	hints := t.members["annotations"]
	switch {
	case !isTrue(hints, "/readOnlyHint"):
	case !isTrue(hints, "/destructiveHint"):
		f.observed = append(f.observed, dependentHints)
	default:
		f.deviations = append(f.deviations, verdict.Deviation{
			Requirement: dependentHints,
			Summary:     "The server's tool is declared both read-only and destructive.",
			Permitted:   "destructiveHint only where readOnlyHint is not true",
			Seen:        rules.Excerpt(hints) + " at " + where,
		})
	}
}

// judgeDialect adds a note if a schema declares another dialect than 2020-12. Other dialects are
// permitted, but 2020-12 is recommended.
func (f *definitions) judgeDialect(v jsontext.Value, where string) {
	named, ok := wire.Text(wire.At(v, "/$schema"))
	if !ok || strings.Contains(named, "json-schema.org/draft/2020-12/schema") {
		f.observed = append(f.observed, recommendedDialect)
		return
	}
	f.deviations = append(f.deviations, verdict.Deviation{
		Requirement: recommendedDialect,
		Summary:     "The server's schema uses another dialect than the recommended one.",
		Permitted:   "JSON Schema 2020-12",
		Seen:        rules.Excerpt(wire.Quote(named)) + " at " + where,
		Weight:      verdict.OnlyNote,
	})
}

// judgeParameters adds a note if a tool has no parameters, but its schema permits any member.
func (f *definitions) judgeParameters(v jsontext.Value, where string) {
	names, members := wire.Members(v)
	for _, name := range names {
		if !slices.Contains([]string{"$schema", "type", "properties", "required", "additionalProperties", "title", "description"}, name) {
			return // the effect of other keywords is unknown
		}
	}
	if properties, _ := wire.Members(members["properties"]); stringAt(v, "/type") != "object" || len(properties) > 0 {
		return
	}
	if members["additionalProperties"].Kind() == 'f' {
		f.observed = append(f.observed, noParametersForm)
		return
	}
	f.deviations = append(f.deviations, verdict.Deviation{
		Requirement: noParametersForm,
		Summary:     "The server's tool without parameters allows additional properties.",
		Permitted:   "additionalProperties: false, as recommended; any object schema is valid",
		Seen:        rules.Excerpt(v) + " at " + where + "/inputSchema",
		Weight:      verdict.OnlyNote,
	})
}
