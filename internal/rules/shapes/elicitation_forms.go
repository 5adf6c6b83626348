package shapes

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	requiredKnown     = "elicitation.form.required-known"
	satisfiable       = "elicitation.form.satisfiable"
	defaultsFit       = "elicitation.form.defaults-fit"
	defaultsEarly     = "elicitation.form.defaults-2025-06-18"
	noAdvanced        = "elicitation.form.no-advanced-keywords"
	enumForms06       = "elicitation.form.enum-forms-2025-06-18"
	enumForms11       = "elicitation.form.enum-forms-2025-11-25"
	legacyNames       = "elicitation.form.legacy-enum-names"
	definitionsValid  = "sampling.tools.definitions-valid"
	listsElicitations = "elicitation.required-error.lists-elicitations-2025-11-25"
)

func clientFeatureRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.requested-schema",
			Title:        "elicitation schemas are valid and can be fulfilled",
			Requirements: []string{requiredKnown, satisfiable, defaultsFit, defaultsEarly, noAdvanced, enumForms06, enumForms11, legacyNames},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ServerRequest(spec.MethodElicit): judgeRequestedSchema}}),
		},
		{
			ID:           "rule.required-elicitations",
			Title:        "URLElicitationRequired errors list elicitations",
			Requirements: []string{listsElicitations},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ErrorTo(""): judgeRequiredElicitations}}),
		},
		{
			ID:           "rule.sampling-tools",
			Title:        "tools in sampling requests have unique names",
			Requirements: []string{definitionsValid},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ServerRequest(spec.MethodSampling): judgeUniqueTools}}),
		},
	}
}

func judgeRequiredElicitations(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	code, ok := obs.Message.ErrorCode()
	if !ok || spec.Code(code) != spec.CodeURLElicitation || !isGovernedByRevision(s, obs) {
		return
	}
	list := wire.At(obs.Message.Member("error"), "/data/elicitations")
	if list.Kind() != '[' {
		return // reported by the message shape rule
	}
	if len(wire.Elements(list)) > 0 {
		out.MarkObserved(listsElicitations)
		return
	}
	out.Report(verdict.Deviation{
		Requirement: listsElicitations,
		Summary:     "The server's error -32042 lists no elicitation.",
		Permitted:   "the required elicitations, at least one",
		Seen:        rules.Excerpt(obs.Message.Member("error")),
		At:          rules.PositionsOf(obs.Request.Event, obs.Event),
	})
}

func judgeUniqueTools(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	tools := wire.Elements(obs.Message.ParamAt("/tools"))
	if !isGovernedByRevision(s, obs) || len(tools) == 0 {
		return
	}
	names := map[string]bool{}
	for i, tool := range tools {
		name, ok := wire.Text(wire.At(tool, "/name"))
		if ok && names[name] {
			out.Report(verdict.Deviation{
				Requirement: definitionsValid,
				Summary:     "The server's sampling request has two tools of the same name.",
				Permitted:   "a unique name for each tool",
				Seen:        "the name " + rules.Excerpt(wire.Quote(name)) + " twice",
				At:          rules.PositionsOf(obs.Event),
				Pointer:     obs.PointerToParam("tools/" + strconv.Itoa(i) + "/name"),
			})
			return
		}
		names[name] = true
	}
	out.MarkObserved(definitionsValid)
}

// form is the schema of a form elicitation.
type form struct {
	s      *rules.Session
	out    *rules.Reporter
	at     []int
	fields map[string]jsontext.Value
}

func judgeRequestedSchema(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	requested := obs.Message.ParamAt("/requestedSchema")
	if !isGovernedByRevision(s, obs) || stringAt(obs.Message.Params(), "/mode") == "url" || requested.Kind() != '{' {
		return
	}
	f := &form{s: s, out: out, at: rules.PositionsOf(obs.Event)}
	names, fields := wire.Members(wire.At(requested, "/properties"))
	f.fields = fields
	f.judgeRequired(requested)
	f.judgeRoot(requested)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		f.judgeField(name, fields[name])
	}
}

// report reports what is wrong with a field, or with the schema if name is empty.
func (f *form) report(requirement, summary, permitted, name string, seen jsontext.Value, w verdict.Weight) {
	d := verdict.Deviation{Requirement: requirement, Summary: summary, Permitted: permitted, Seen: rules.Excerpt(seen), At: f.at, Weight: w}
	if name != "" {
		d.Seen = "the field " + rules.Excerpt(wire.Quote(name)) + ": " + d.Seen
	}
	f.out.Report(d)
}

func (f *form) judgeRequired(requested jsontext.Value) {
	list := wire.At(requested, "/required")
	if list.Kind() != '[' {
		return
	}
	for _, v := range wire.Elements(list) {
		if name, ok := wire.Text(v); ok && f.fields[name] == nil {
			f.report(requiredKnown, "The server's form requires a field that it does not have.", "names that are in properties", "", v, verdict.Full)
			return
		}
	}
	f.out.MarkObserved(requiredKnown)
}

// advancedKeywords are the keywords that restrict values and are not permitted in forms.
// Annotations and unknown keywords are harmless. "pattern" is missing here because the
// specification page permits it, although the schema does not.
var advancedKeywords = []string{
	"$ref", "$dynamicRef", "$defs", "definitions", "allOf", "not", "if", "then", "else", "const", "multipleOf",
	"exclusiveMinimum", "exclusiveMaximum", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames",
	"minProperties", "maxProperties", "dependencies", "dependentRequired", "dependentSchemas",
	"prefixItems", "additionalItems", "contains", "uniqueItems",
}

// notAtRoot are keywords that are not permitted at the root of a form's schema, nor in fields other
// than strings. In strings, judgeOptions judges them.
var notAtRoot = []string{"anyOf", "oneOf", "enum"}

const advancedKeyword = "The server's form schema uses a keyword that forms do not have."

func (f *form) judgeRoot(requested jsontext.Value) {
	names, values := wire.Members(requested)
	for _, name := range names {
		switch {
		case name == "additionalProperties" && values[name].Kind() == 'f':
			f.report(noAdvanced, "The server's form schema excludes additional properties.", "$schema, type, properties and required", "", wire.Quote(name), verdict.OnlyNote)
			return
		case slices.Contains(advancedKeywords, name) || slices.Contains(notAtRoot, name):
			f.report(noAdvanced, advancedKeyword, "$schema, type, properties and required", "", wire.Quote(name), verdict.Full)
			return
		}
	}
	f.out.MarkObserved(noAdvanced)
}

// judgeField judges one field of a type that forms have. The message shape rule reports other
// types.
func (f *form) judgeField(name string, v jsontext.Value) {
	kind := stringAt(v, "/type")
	switch kind {
	case "string":
		f.judgeEnum(name, v)
	case "number", "integer", "boolean":
	case "array":
		if !f.out.Judges(enumForms11) {
			return
		}
		f.judgeItems(wire.At(v, "/items"))
	default:
		return
	}
	f.judgeKeywords(name, kind, v)
	f.judgeBounds(name, v)
	f.judgeDefault(name, kind, v)
}

func (f *form) judgeKeywords(name, kind string, v jsontext.Value) {
	names, _ := wire.Members(v)
	for _, keyword := range names {
		other := kind != "string" && slices.Contains(notAtRoot, keyword)
		if slices.Contains(advancedKeywords, keyword) || other {
			f.report(noAdvanced, advancedKeyword, "only the keywords that forms have for a field of type "+kind, name, wire.Quote(keyword), verdict.Full)
			return
		}
	}
}

// judgeBounds reports a pair of bounds, such as minimum and maximum, that permits no value.
func (f *form) judgeBounds(name string, v jsontext.Value) {
	observed := false
	for _, pair := range [][2]string{{"minimum", "maximum"}, {"minLength", "maxLength"}, {"minItems", "maxItems"}} {
		low, isLow := parseNumber(wire.At(v, "/"+pair[0]))
		high, isHigh := parseNumber(wire.At(v, "/"+pair[1]))
		if !isLow || !isHigh {
			continue
		}
		if low.Cmp(high) > 0 {
			f.report(satisfiable, "The server's form field has bounds that contradict each other.", pair[0]+" that is not above "+pair[1], name, v, verdict.Full)
			return
		}
		observed = true
	}
	if least, ok := parseNumber(wire.At(v, "/minItems")); ok {
		n := len(wire.Elements(wire.At(v, "/items/enum"))) + len(wire.Elements(wire.At(v, "/items/anyOf")))
		if n > 0 && least.Cmp(wholeNumber(n)) > 0 {
			f.report(satisfiable, "The server's form field requires more choices than it has options.", "minItems that is not above the number of options", name, v, verdict.Full)
			return
		}
		observed = observed || n > 0
	}
	if observed {
		f.out.MarkObserved(satisfiable)
	}
}

// judgeDefault validates a default against its field's schema. The message shape rule reports
// defaults of the wrong type, for the fields that may have a default in the revision.
func (f *form) judgeDefault(name, kind string, v jsontext.Value) {
	value := wire.At(v, "/default")
	if value == nil {
		return
	}
	early := f.out.Judges(defaultsEarly)
	if kind == "boolean" {
		f.out.MarkObserved(defaultsEarly)
	}
	if !hasKind(value, kind) && (!early || kind == "boolean") {
		return
	}
	if len(schema.For(f.s.Revision()).CheckStructuredContent(v, value)) > 0 {
		f.report(defaultsFit, "The server's form field has a default that breaks its own schema.", "a value that the field's own schema permits", name, v, verdict.Full)
		return
	}
	f.out.MarkObserved(defaultsFit)
	if kind != "boolean" {
		f.report(defaultsEarly, "The server's form field has a default that this revision lacks.", "a default only in fields of type boolean", name, v, verdict.Full)
	}
}

// hasKind reports whether v has the JSON type of a field whose type is kind.
func hasKind(v jsontext.Value, kind string) bool {
	switch v.Kind() {
	case '"':
		return kind == "string"
	case '0':
		return kind == "number" || kind == "integer"
	case 't', 'f':
		return kind == "boolean"
	case '[':
		return kind == "array"
	default:
		return false
	}
}
