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

// Proof is what can be proven about the arguments of a call.
type Proof int

// What can be proven.
const (
	// Unproven means that neither Fits nor Breaks can be proven.
	Unproven Proof = iota
	// Fits means that the arguments conform to the inputSchema in every dialect in which it may be
	// written, and contain only what every program can handle.
	Fits
	// Breaks means that the arguments do not conform to the inputSchema, and would not conform even
	// if the server converted values to other types or ignored additional members.
	Breaks
)

// Every program is expected to handle JSON of provenSize bytes, with the nesting depth provenDepth,
// strings of provenText characters, and numbers up to provenReal. Nothing is proven about arguments
// that exceed these limits.
const (
	provenSize  = 16 << 10
	provenDepth = 16
	provenText  = 2048
	provenReal  = 1 << 53
)

// CheckArguments returns what can be proven about the arguments of a tool. Missing
// arguments count as an empty object.
func (o *Offer) CheckArguments(tool string, arguments jsontext.Value) Proof {
	s := o.schemas["tool "+tool]
	if arguments == nil {
		arguments = jsontext.Value("{}")
	}
	if s == nil || len(arguments) > provenSize {
		return Unproven
	}
	v, ok := decode(arguments).(map[string]any)
	root, known := s.root.(map[string]any)
	// An inputSchema describes an object. If the validator accepts a number, it did not understand
	// the schema.
	if !ok || !known || !isPortable(v, 0) || !s.Refuses(json.Number("5")) {
		return Unproven
	}
	older, nameless := s.validator.CheckInDraft07(s.raw, arguments)
	switch {
	case s.Refuses(v):
		if nameless && len(older) == 0 || s.validator.BreaksModernKeywords(s.raw, arguments) || !s.Refuses(s.readLeniently(root, v, 0)) {
			return Unproven
		}
		return Breaks
	case len(older) > 0, usesFormat(root), !describesAll(root, v):
		return Unproven
	default:
		return Fits
	}
}

// isPortable reports whether every program can represent the value.
func isPortable(v any, depth int) bool {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v) <= provenText && !strings.ContainsAny(v, "\x00\ufffd")
	case json.Number:
		x, err := v.Float64()
		return err == nil && math.Abs(x) <= provenReal && len(v) <= 20
	case []any:
		return depth < provenDepth && !slices.ContainsFunc(v, func(e any) bool { return !isPortable(e, depth+1) })
	case map[string]any:
		for name, e := range v {
			if depth >= provenDepth || !isPortable(name, depth) || !isPortable(e, depth+1) {
				return false
			}
		}
	}
	return true
}

// usesFormat reports whether a schema uses the keyword format, which servers may check although the
// validator does not.
func usesFormat(sub any) bool {
	switch sub := sub.(type) {
	case []any:
		return slices.ContainsFunc(sub, usesFormat)
	case map[string]any:
		for name, v := range sub {
			if _, text := v.(string); text && name == "format" || usesFormat(v) {
				return true
			}
		}
	}
	return false
}

// describesAll reports whether the schema root has a property for each member of v.
func describesAll(root, v map[string]any) bool {
	properties, _ := root["properties"].(map[string]any)
	for name := range v {
		if _, ok := properties[name]; !ok {
			return false
		}
	}
	return true
}

// readLeniently returns a value as a lenient server may read it: converted to the
// schema's types where possible, without members that are null or not permitted, and
// with the default values of missing members.
func (s *Schema) readLeniently(sub, v any, depth int) any {
	o, ok := s.resolve(sub).(map[string]any)
	if !ok || depth > maxDepth {
		return v
	}
	switch v := convertToSchema(o, v).(type) {
	case map[string]any:
		return s.readObjectLeniently(o, v, depth)
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, s.readLeniently(o["items"], e, depth+1))
		}
		return out
	default:
		return v
	}
}

func (s *Schema) readObjectLeniently(o, v map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := o["properties"].(map[string]any)
	for name, e := range v {
		sub, known := properties[name]
		switch {
		case known && e != nil:
			out[name] = s.readLeniently(sub, e, depth+1)
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

// convertToSchema returns a value converted to the schema's type, where programs
// commonly convert it.
func convertToSchema(o map[string]any, v any) any {
	if all, ok := o["enum"].([]any); ok {
		return similarWord(all, v)
	}
	types := typesOf(o)
	if len(types) == 0 || slices.ContainsFunc(types, func(name string) bool { return isOfType(name, v) }) {
		return v
	}
	for _, name := range types {
		if w, ok := convertTo(name, v); ok {
			return w
		}
	}
	return v
}

// similarWord returns the string in the enum that differs from v only in letter case or in spaces
// around it. It returns v if there is none.
func similarWord(all []any, v any) any {
	text, ok := v.(string)
	for _, one := range all {
		if word, isText := one.(string); ok && isText && strings.EqualFold(strings.TrimSpace(word), strings.TrimSpace(text)) {
			return one
		}
	}
	return v
}

// convertTo converts a value to the type with this name. It returns false if programs do not
// commonly convert such a value.
func convertTo(name string, v any) (any, bool) {
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
		return toNumber(v, name == "integer")
	case "array": // programs often accept a single element instead of an array
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

func toNumber(v any, whole bool) (any, bool) {
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
