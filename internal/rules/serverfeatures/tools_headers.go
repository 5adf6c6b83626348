package serverfeatures

import (
	"math/big"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// The requirements on x-mcp-header, with which a tool asks clients to mirror arguments in
// headers.
const (
	headerNonEmpty  = "tools.x-mcp-header.non-empty"
	headerToken     = "tools.x-mcp-header.token-syntax"
	headerControls  = "tools.x-mcp-header.no-control-characters"
	headerUnique    = "tools.x-mcp-header.unique-ignoring-case"
	headerPrimitive = "tools.x-mcp-header.primitive-types"
	headerSafe      = "tools.x-mcp-header.integer-safe-range"
	headerReachable = "tools.x-mcp-header.statically-reachable"
	headerSecrets   = "tools.x-mcp-header.not-on-secrets" //nolint:gosec // the name of a requirement
)

// headerMember is the JSON Schema keyword that annotates an argument.
const headerMember = "x-mcp-header"

func toolHeaderRule() rules.Rule {
	return rules.Rule{
		ID:    "rule.tool-headers",
		Title: "x-mcp-header names headers that clients can send",
		Requirements: []string{
			headerNonEmpty, headerToken, headerControls, headerUnique, headerPrimitive, headerSafe, headerReachable, headerSecrets,
		},
		Start: rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ResultOf(spec.MethodToolsList): judgeToolHeaders}}),
	}
}

// annotation is one x-mcp-header in the schema of a tool.
type annotation struct {
	value, schema jsontext.Value
	property      string
	reachable     bool // from the root of the schema, through properties alone
}

func judgeToolHeaders(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if s.Era() != spec.Stateless || !isRegular(s, obs) || !wire.MayHaveMember(obs.Message.Result(), headerMember) {
		return
	}
	for _, tool := range wire.Elements(obs.Message.ResultAt("/tools")) {
		var all []annotation
		findAnnotations(wire.At(tool, "/inputSchema"), "", true, 0, &all)
		used := map[string]bool{}
		for _, a := range all {
			d := deviationOf("", obs)
			d.Seen = headerMember + " " + rules.Excerpt(a.value) + " of " + rules.Excerpt(wire.Quote(a.property)) + " in the tool " + rules.Excerpt(wire.At(tool, "/name"))
			a.judge(used, d, out)
		}
	}
}

// Bounds on the search for annotations.
const (
	annotationDepth = 32
	maxAnnotations  = 200
)

// Keywords of JSON Schema that hold a schema, a list of schemas, or schemas by name.
var (
	schemaKeywords      = []string{"items", "contains", "additionalProperties", "not", "if", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "additionalItems"}
	schemaListKeywords  = []string{"oneOf", "anyOf", "allOf", "prefixItems", "items"}
	namedSchemaKeywords = []string{"patternProperties", "$defs", "definitions", "dependentSchemas"}
)

func findAnnotations(schema jsontext.Value, property string, reachable bool, depth int, all *[]annotation) {
	if schema.Kind() != '{' || depth > annotationDepth || len(*all) > maxAnnotations || !wire.MayHaveMember(schema, headerMember) {
		return
	}
	_, members := wire.Members(schema)
	if value := members[headerMember]; value != nil {
		*all = append(*all, annotation{value, schema, property, reachable && depth > 0})
	}
	names, properties := wire.Members(members["properties"])
	for _, name := range names {
		findAnnotations(properties[name], name, reachable, depth+1, all)
	}
	for _, keyword := range schemaKeywords {
		findAnnotations(members[keyword], property, false, depth+1, all)
	}
	for _, keyword := range schemaListKeywords {
		for _, element := range wire.Elements(members[keyword]) {
			findAnnotations(element, property, false, depth+1, all)
		}
	}
	for _, keyword := range namedSchemaKeywords {
		names, named := wire.Members(members[keyword])
		for _, name := range names {
			findAnnotations(named[name], name, false, depth+1, all)
		}
	}
}

var headerName = lazyregexp.New("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// judge judges one annotation; used has the names of earlier annotations of the tool, in lower
// case.
func (a annotation) judge(used map[string]bool, d verdict.Deviation, out *rules.Reporter) {
	name, isText := wire.Text(a.value)
	report := func(requirement, summary, permitted string, weight verdict.Weight) {
		d.Requirement, d.Summary, d.Permitted, d.Weight = requirement, summary, permitted, weight
		out.Report(d)
	}
	switch hasControl := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }); {
	case !isText || name == "":
		report(headerNonEmpty, "The server's x-mcp-header is empty, or not a string.", "the name of a header after Mcp-Param-", verdict.Full)
		return
	case hasControl:
		out.MarkObserved(headerNonEmpty)
		report(headerControls, "The server's x-mcp-header has control characters.", "characters that the name of a header may have", verdict.Full)
		out.MarkReportedElsewhere(headerToken)
	case !headerName.MatchString(name):
		out.MarkObserved(headerNonEmpty)
		out.MarkObserved(headerControls)
		report(headerToken, "The server's x-mcp-header is not the name of a header.", "characters that the name of a header may have", verdict.Full)
	default:
		out.MarkObserved(headerNonEmpty)
		out.MarkObserved(headerControls)
		out.MarkObserved(headerToken)
	}
	if used[strings.ToLower(name)] {
		report(headerUnique, "The server's tool uses an x-mcp-header twice.", "names that differ even if case is ignored", verdict.Full)
	} else {
		out.MarkObserved(headerUnique)
	}
	used[strings.ToLower(name)] = true
	if !a.reachable {
		report(headerReachable, "The server's x-mcp-header is where clients do not look for it.", "annotations that are reached through properties only", verdict.Full)
		return
	}
	out.MarkObserved(headerReachable)
	a.judgeType(report, out)
	if slices.Contains([]string{"password", "passwd", "token", "accesstoken", "secret", "apikey", "clientsecret", "privatekey"}, plainName(a.property)) {
		report(headerSecrets, "The server mirrors an argument that may be a secret into a header.", "no header for passwords, keys and tokens", verdict.OnlyNote)
	} else {
		out.MarkObserved(headerSecrets)
	}
}

// plainName returns a name in lower case and without separators.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(name))
}

// judgeType judges the permitted types of the argument.
func (a annotation) judgeType(report func(requirement, summary, permitted string, weight verdict.Weight), out *rules.Reporter) {
	kinds := []jsontext.Value{wire.At(a.schema, "/type")}
	if kinds[0].Kind() == '[' {
		kinds = wire.Elements(kinds[0])
	}
	const permitted = "integer, string or boolean"
	nullable := false
	for _, kind := range kinds {
		switch text, _ := wire.Text(kind); text {
		case "integer", "string", "boolean":
		case "null":
			nullable = len(kinds) > 1
			if nullable {
				continue
			}
			fallthrough
		default:
			report(headerPrimitive, "The server's x-mcp-header is on an argument of another type.", permitted, verdict.Full)
			return
		}
	}
	if nullable { // the specification says only that null has no header
		report(headerPrimitive, "The server's x-mcp-header is on an argument that may be null.", permitted, verdict.AtMostWarning)
	} else {
		out.MarkObserved(headerPrimitive)
	}
	if slices.ContainsFunc(kinds, func(kind jsontext.Value) bool { return string(kind) == `"integer"` }) {
		a.judgeRange(report, out)
	}
}

// maxHeaderInteger is the largest integer that a double distinguishes from its neighbors.
var maxHeaderInteger = big.NewRat(1<<53-1, 1)

func isUnsafeInteger(v jsontext.Value) bool {
	if v.Kind() != '0' || len(v) > 400 {
		return false
	}
	n, ok := new(big.Rat).SetString(string(v))
	return ok && n.Abs(n).Cmp(maxHeaderInteger) > 0
}

// judgeRange judges whether the integers that the argument may have are safe. It knows only the
// values that the schema states, such as its bounds.
func (a annotation) judgeRange(report func(requirement, summary, permitted string, weight verdict.Weight), out *rules.Reporter) {
	values := append([]jsontext.Value{wire.At(a.schema, "/const"), wire.At(a.schema, "/default")}, wire.Elements(wire.At(a.schema, "/enum"))...)
	least, most := wire.At(a.schema, "/minimum"), wire.At(a.schema, "/maximum")
	const permitted = "integers from -(2^53-1) to 2^53-1"
	switch {
	case slices.ContainsFunc(values, isUnsafeInteger):
		report(headerSafe, "The server mirrors an integer that not every client can hold.", permitted, verdict.Full)
	case isUnsafeInteger(least) && least[0] != '-', isUnsafeInteger(most) && most[0] == '-':
		report(headerSafe, "The server's bounds leave only integers that not every client can hold.", permitted, verdict.OnlyNote)
	default:
		out.MarkObserved(headerSafe)
	}
}
