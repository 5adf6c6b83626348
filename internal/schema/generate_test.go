package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"pgregory.net/rapid"
)

// oddValues are the values that mutations insert.
var oddValues = []any{
	nil, true, false, json.Number("0"), json.Number("1"), json.Number("-1"), json.Number("2.0"), json.Number("1.5"), json.Number("1e2"),
	json.Number("1000000000000000000000"), "", "x", "text", "url", "form", "string", "object", []any{}, []any{nil}, []any{"a"}, []any{json.Number("1")},
	map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": map[string]any{}}, map[string]any{"type": "object"},
}

// samples include strings that pass the checks that the official schema cannot express.
var samples = []string{"aGVsbG8=", "text/plain", "image/png", "file:///a", "file:///{a}", "2025-01-12T15:00:58Z", "any", "a", ""}

// drawInstance draws a value of type t.
func drawInstance(rt *rapid.T, t *schemaType) any {
	switch t.form {
	case anyForm:
		return rapid.SampledFrom(oddValues).Draw(rt, "anything")
	case objectForm:
		o := map[string]any{}
		fill(rt, t, o)
		return o
	case arrayForm:
		n := rapid.IntRange(0, 2).Draw(rt, "elements")
		l := make([]any, 0, n)
		for range n {
			l = append(l, drawInstance(rt, t.elem))
		}
		return l
	case stringForm:
		if t.enum != nil {
			return rapid.SampledFrom(t.enum).Draw(rt, "word")
		}
		return rapid.SampledFrom(samples).Draw(rt, "text")
	case numberForm:
		return json.Number(rapid.SampledFrom([]string{"0", "1", "0.5", "1e-1", "1.0"}).Draw(rt, "number"))
	case integerForm:
		return json.Number(rapid.SampledFrom([]string{"0", "1", "3", "1.0", "1e2", "12345678901234567890"}).Draw(rt, "integer"))
	case booleanForm:
		return rapid.Bool().Draw(rt, "boolean")
	case nullForm:
		return nil
	case unionForm:
		return drawInstance(rt, rapid.SampledFrom(t.alternatives).Draw(rt, "alternative"))
	default: // taggedForm
		if t.untagged != nil && rapid.Bool().Draw(rt, "untagged") {
			return drawInstance(rt, t.untagged)
		}
		c := rapid.SampledFrom(t.cases).Draw(rt, "case")
		o := map[string]any{t.tag: c.name}
		fill(rt, c.typ, o)
		return o
	}
}

// fill adds the members of an object of type t.
func fill(rt *rapid.T, t *schemaType, o map[string]any) {
	for _, m := range t.members {
		if m.required || rapid.IntRange(0, 2).Draw(rt, "optional") == 0 {
			if _, has := o[m.name]; !has {
				o[m.name] = drawInstance(rt, m.typ)
			}
		}
	}
	if t.otherMembers != nil {
		for i := range rapid.IntRange(0, 2).Draw(rt, "entries") {
			o["k"+strconv.Itoa(i)] = drawInstance(rt, t.otherMembers)
		}
	}
	if len(t.shapes) > 0 {
		fill(rt, rapid.SampledFrom(t.shapes).Draw(rt, "shape").typ, o)
	}
}

// namesIn returns the names of all members in types reachable from t, sorted.
func namesIn(t *schemaType) []string {
	found := map[string]bool{"unknown": true}
	seen := map[*schemaType]bool{}
	var walk func(t *schemaType)
	walk = func(t *schemaType) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		for _, m := range t.members {
			found[m.name] = true
			walk(m.typ)
		}
		for _, m := range slices.Concat(t.cases, t.shapes) {
			walk(m.typ)
		}
		if t.tag != "" {
			found[t.tag] = true
		}
		walk(t.otherMembers)
		walk(t.elem)
		walk(t.untagged)
		for _, a := range t.alternatives {
			walk(a)
		}
	}
	walk(t)
	return slices.Sorted(maps.Keys(found))
}

// drawMutation draws a copy of v that differs in one place.
func drawMutation(rt *rapid.T, v any, known []string) any {
	places := 0
	count(v, &places)
	at := rapid.IntRange(0, places-1).Draw(rt, "place")
	return replace(rt, v, &at, known)
}

func count(v any, n *int) {
	*n++
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			count(e, n)
		}
	case []any:
		for _, e := range v {
			count(e, n)
		}
	}
}

// dropped marks a member or an element to remove.
type dropped struct{}

// replace copies v and changes the value that the walk reaches after at more steps.
func replace(rt *rapid.T, v any, at *int, known []string) any {
	here := *at == 0
	*at--
	if here {
		return change(rt, v, known)
	}
	switch v := v.(type) {
	case map[string]any:
		o := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if e := replace(rt, v[name], at, known); !isDropped(e) {
				o[name] = e
			}
		}
		return o
	case []any:
		l := make([]any, 0, len(v))
		for _, e := range v {
			if e = replace(rt, e, at, known); !isDropped(e) {
				l = append(l, e)
			}
		}
		return l
	default:
		return v
	}
}

func isDropped(v any) bool { _, ok := v.(dropped); return ok }

func change(rt *rapid.T, v any, known []string) any {
	switch rapid.IntRange(0, 3).Draw(rt, "change") {
	case 0:
		return dropped{}
	case 1:
		if o, ok := v.(map[string]any); ok {
			o = maps.Clone(o)
			o[rapid.SampledFrom(known).Draw(rt, "name")] = rapid.SampledFrom(oddValues).Draw(rt, "value")
			return o
		}
		if l, ok := v.([]any); ok {
			if len(l) > 0 && rapid.IntRange(0, 9).Draw(rt, "many") == 0 {
				return slices.Repeat(l[:1], 101)
			}
			return append(slices.Clone(l), rapid.SampledFrom(oddValues).Draw(rt, "value"))
		}
		if _, ok := v.(json.Number); ok {
			return json.Number(rapid.SampledFrom([]string{"-1", "-0.5", "1.5", "2", "1e3"}).Draw(rt, "number"))
		}
	}
	return rapid.SampledFrom(oddValues).Draw(rt, "value")
}
