package generate

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Proof is what can be proven of the arguments of a call.
type Proof int

// The proofs.
const (
	// Unproven: it can't be said whether they fit.
	Unproven Proof = iota
	// Fits: they fit the inputSchema in every dialect that it may be of, and hold
	// nothing that programs may have trouble with.
	Fits
	// Breaks: they do not fit it, and would not if they were converted, or what
	// there is too much of was passed over.
	Breaks
)

// What values hold at most that all programs can be expected to take.
const (
	provenSize  = 16 << 10
	provenDepth = 16
	provenText  = 2048
	provenReal  = 1 << 53
)

// Prove says what can be proven of arguments for a tool; missing ones are those
// of an empty object.
func (o *Offer) Prove(tool string, arguments jsontext.Value) Proof {
	s := o.schemas["tool "+tool]
	if arguments == nil {
		arguments = jsontext.Value("{}")
	}
	if s == nil || len(arguments) > provenSize {
		return Unproven
	}
	v, ok := decode(arguments).(map[string]any)
	root, known := s.root.(map[string]any)
	// What does not even refuse a number was not understood.
	if !ok || !known || !modest(v, 0) || !s.Refuses(json.Number("5")) {
		return Unproven
	}
	older, nameless := s.validator.InDraft07(s.raw, arguments)
	switch {
	case s.Refuses(v):
		if nameless && len(older) == 0 || s.validator.BreaksModern(s.raw, arguments) || !s.Refuses(s.eased(root, v, 0)) {
			return Unproven
		}
		return Breaks
	case len(older) > 0, formatted(root), !named(root, v):
		return Unproven
	default:
		return Fits
	}
}

// modest reports whether a value holds nothing that some programs can't keep.
func modest(v any, depth int) bool {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v) <= provenText && !strings.ContainsAny(v, "\x00\ufffd")
	case json.Number:
		x, err := v.Float64()
		return err == nil && math.Abs(x) <= provenReal && len(v) <= 20
	case []any:
		return depth < provenDepth && !slices.ContainsFunc(v, func(e any) bool { return !modest(e, depth+1) })
	case map[string]any:
		for name, e := range v {
			if depth >= provenDepth || !modest(name, depth) || !modest(e, depth+1) {
				return false
			}
		}
	}
	return true
}

// formatted reports whether a schema speaks of formats, which servers assert and
// validators do not.
func formatted(sub any) bool {
	switch sub := sub.(type) {
	case []any:
		return slices.ContainsFunc(sub, formatted)
	case map[string]any:
		for name, v := range sub {
			if _, text := v.(string); text && name == "format" || formatted(v) {
				return true
			}
		}
	}
	return false
}

// named reports whether the schema has a word of each argument.
func named(root, v map[string]any) bool {
	properties, _ := root["properties"].(map[string]any)
	for name := range v {
		if _, ok := properties[name]; !ok {
			return false
		}
	}
	return true
}

// eased returns a value as a server may take it that is not strict: converted
// where that can be done, without what there is too much of, and with what a
// schema requires of missing members.
func (s *Schema) eased(sub, v any, depth int) any {
	o, ok := s.resolve(sub).(map[string]any)
	if !ok || depth > deepest {
		return v
	}
	switch v := converted(o, v).(type) {
	case map[string]any:
		return s.easedObject(o, v, depth)
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, s.eased(o["items"], e, depth+1))
		}
		return out
	default:
		return v
	}
}

func (s *Schema) easedObject(o, v map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := o["properties"].(map[string]any)
	for name, e := range v {
		sub, known := properties[name]
		switch {
		case known && e != nil:
			out[name] = s.eased(sub, e, depth+1)
		case !known && o["additionalProperties"] != false && o["maxProperties"] == nil:
			out[name] = e
		}
	}
	for name, sub := range properties {
		p, _ := s.resolve(sub).(map[string]any)
		if standard, ok := p["default"]; ok && out[name] == nil {
			out[name] = standard
		}
	}
	return out
}

// converted returns a value as one of the type that the schema wants, where
// programs convert such.
func converted(o map[string]any, v any) any {
	if all, ok := o["enum"].([]any); ok {
		return wordOf(all, v)
	}
	types := typesOf(o)
	if len(types) == 0 || slices.ContainsFunc(types, func(name string) bool { return isOf(name, v) }) {
		return v
	}
	for _, name := range types {
		if w, ok := conversion(name, v); ok {
			return w
		}
	}
	return v
}

// wordOf returns the word of an enum that a value differs from by letter case or
// spaces.
func wordOf(all []any, v any) any {
	text, ok := v.(string)
	for _, one := range all {
		if word, isText := one.(string); ok && isText && strings.EqualFold(strings.TrimSpace(word), strings.TrimSpace(text)) {
			return one
		}
	}
	return v
}

func isOf(name string, v any) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case json.Number:
		x, err := v.Float64()
		return name == "number" || name == "integer" && err == nil && x == math.Trunc(x)
	case []any:
		return name == "array"
	default:
		return name == "object"
	}
}

// conversion converts a value into one of a type.
func conversion(name string, v any) (any, bool) {
	_, composed := v.(map[string]any)
	if _, list := v.([]any); list {
		composed = true
	}
	text, isText := v.(string)
	switch name {
	case "string":
		if n, ok := v.(json.Number); ok {
			return n.String(), true
		}
		if b, ok := v.(bool); ok {
			return strconv.FormatBool(b), true
		}
	case "boolean":
		return true, !composed && v != nil
	case "number", "integer":
		return numeral(v, name == "integer")
	case "array": // one element is often taken for a list of it
		if isText || composed {
			return []any{v}, true
		}
	case "object":
		if inside, ok := decode([]byte(text)).(map[string]any); isText && ok {
			return inside, true
		}
	}
	return nil, false
}

func numeral(v any, whole bool) (any, bool) {
	x := 0.0
	switch v := v.(type) {
	case bool:
		if v {
			x = 1
		}
	case string:
		if text := strings.TrimSpace(v); text != "" {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, false
			}
			x = n
		}
	case json.Number:
		x, _ = v.Float64()
	default:
		return nil, false
	}
	if whole {
		x = math.Trunc(x)
	}
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil, false
	}
	return json.Number(strconv.FormatFloat(x, 'f', -1, 64)), true
}
