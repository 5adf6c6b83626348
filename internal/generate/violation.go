package generate

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Invalid draws a provably invalid value: it violates one keyword in one
// position and is valid otherwise, and the validator rejects it.
func (s *Schema) Invalid() *rapid.Generator[Instance] {
	return rapid.Custom(func(t *rapid.T) Instance {
		drawUnused(t)
		for range maxAttempts {
			v, ok := s.drawValid(t)
			if !ok {
				continue
			}
			b := breaker{s: s, t: t}
			b.visit(s.root, v, "", func(w any) { v = w }, 0)
			if len(b.breaks) == 0 {
				continue
			}
			one := rapid.SampledFrom(b.breaks).Draw(t, "violation")
			one.apply()
			if s.Refuses(v) {
				return Instance{Value: wire.JSON(v), Violates: one.keyword, At: one.at, OK: true}
			}
		}
		return Instance{}
	})
}

// violation is one way to change an instance so that it violates one keyword of its schema.
type violation struct {
	keyword, at string
	apply       func()
}

// breaker collects the possible violations of an instance.
type breaker struct {
	s      *Schema
	t      *rapid.T
	breaks []violation
}

func (b *breaker) add(keyword, at string, apply func()) {
	b.breaks = append(b.breaks, violation{keyword, at, apply})
}

// visit collects the violations of the value v, which has the schema sub. The argument at is the
// position of v, and put replaces v. If the schema has anyOf or oneOf, visit collects only
// violations of the other keywords, because one alternative may accept what another rejects.
func (b *breaker) visit(sub, v any, at string, put func(any), depth int) {
	o, ok := b.s.resolve(sub).(map[string]any)
	if !ok || depth > maxDepth {
		return
	}
	if c, ok := o["const"]; ok {
		b.add("const", at, func() { put(differentFrom(c)) })
	}
	if all, ok := o["enum"].([]any); ok {
		b.add("enum", at, func() { put(valueNotIn(all)) })
	}
	b.addTypeViolation(o, at, put)
	if all, ok := o["allOf"].([]any); ok {
		for _, one := range all {
			b.visit(one, v, at, put, depth+1)
		}
	}
	switch v := v.(type) {
	case string:
		b.addTextViolations(o, v, at, put)
	case json.Number:
		b.addNumberViolations(o, v, at, put)
	case []any:
		b.addArrayViolations(o, v, at, put, depth)
	case map[string]any:
		b.addObjectViolations(o, v, at, depth)
	}
}

// addTypeViolation adds a value of another type, but never null, which servers often
// treat like a missing value.
func (b *breaker) addTypeViolation(o map[string]any, at string, put func(any)) {
	types := typesOf(o)
	if len(types) == 0 {
		return
	}
	for _, c := range []struct {
		types []string
		value any
	}{
		{[]string{"string"}, "text"},
		{[]string{"integer", "number"}, json.Number("5")},
		{[]string{"boolean"}, true},
		{[]string{"array"}, []any{}},
		{[]string{"object"}, map[string]any{}},
	} {
		if !slices.ContainsFunc(types, func(name string) bool { return slices.Contains(c.types, name) }) {
			b.add("type", at, func() { put(c.value) })
		}
	}
	if slices.Contains(types, "integer") && !slices.Contains(types, "number") {
		b.add("type", at, func() { put(json.Number("1.5")) })
	}
}

func (b *breaker) addTextViolations(o map[string]any, v, at string, put func(any)) {
	if least, ok := sizeOf(o["minLength"]); ok && least > 0 {
		b.add("minLength", at, func() { put(repeatTo("a", least-1)[:least-1]) })
	}
	if most, ok := sizeOf(o["maxLength"]); ok && most < 1<<17 {
		b.add("maxLength", at, func() { put(repeatTo("a", most+1)) })
	}
	if pattern, ok := o["pattern"].(string); ok && isValidPattern(pattern) {
		re := regexp.MustCompile(pattern)
		for _, wrong := range []string{"", "\u0001", v + "\n!", "§"} {
			if !re.MatchString(wrong) {
				b.add("pattern", at, func() { put(wrong) })
				break
			}
		}
	}
}

func (b *breaker) addNumberViolations(o map[string]any, v json.Number, at string, put func(any)) {
	for _, k := range []struct {
		keyword string
		step    float64
	}{{"minimum", -1}, {"maximum", 1}, {"exclusiveMinimum", 0}, {"exclusiveMaximum", 0}} {
		if x, ok := numberOf(o[k.keyword]); ok {
			b.add(k.keyword, at, func() { put(numberWithoutExponent(x + k.step)) })
		}
	}
	x, _ := numberOf(v)
	switch step, ok := numberOf(o["multipleOf"]); {
	case !ok || step <= 0 || slices.Contains(typesOf(o), "integer") && (step != math.Trunc(step) || step == 1):
	case slices.Contains(typesOf(o), "integer"):
		b.add("multipleOf", at, func() { put(numberWithoutExponent(x + 1)) })
	default:
		b.add("multipleOf", at, func() { put(numberWithoutExponent(x + step/2)) })
	}
}

func (b *breaker) addArrayViolations(o map[string]any, v []any, at string, put func(any), depth int) {
	if least, ok := sizeOf(o["minItems"]); ok && least > 0 && len(v) >= least {
		b.add("minItems", at, func() { put(v[:least-1]) })
	}
	if most, ok := sizeOf(o["maxItems"]); ok && most < 1000 {
		var element any = "a"
		if len(v) > 0 {
			element = v[0]
		}
		b.add("maxItems", at, func() {
			out := slices.Clone(v)
			for len(out) <= most {
				out = append(out, element)
			}
			put(out)
		})
	}
	if o["uniqueItems"] == true && len(v) > 0 {
		b.add("uniqueItems", at, func() { put(append(slices.Clone(v), v[0])) })
	}
	prefix, rest := elementSchemas(o)
	for i, element := range v {
		sub := rest
		if i < len(prefix) {
			sub = prefix[i]
		}
		b.visit(sub, element, at+"/"+strconv.Itoa(i), func(w any) { v[i] = w }, depth+1)
	}
}

func (b *breaker) addObjectViolations(o, v map[string]any, at string, depth int) {
	required, _ := o["required"].([]any)
	for _, r := range required {
		if name, ok := r.(string); ok {
			b.add("required", at+"/"+name, func() { delete(v, name) })
		}
	}
	if o["additionalProperties"] == false {
		b.add("additionalProperties", at, func() { v["x-nobody-knows"] = "text" })
	}
	if most, ok := sizeOf(o["maxProperties"]); ok && most < 1000 {
		b.add("maxProperties", at, func() {
			for i := 0; len(v) <= most; i++ {
				v["x-"+strconv.Itoa(i)] = "text"
			}
		})
	}
	properties, _ := o["properties"].(map[string]any)
	extra, _ := o["additionalProperties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		sub := properties[name]
		if sub == nil && extra != nil {
			sub = extra
		}
		b.visit(sub, v[name], at+"/"+name, func(w any) { v[name] = w }, depth+1)
	}
}

// differentFrom returns a value that differs from v. It has the same type if v is a string, a
// boolean or a number.
func differentFrom(v any) any {
	switch v := v.(type) {
	case string:
		return v + "-not"
	case bool:
		return !v
	case json.Number:
		return v + "1"
	default:
		return "other"
	}
}

// valueNotIn returns a value that an enum is unlikely to contain: a number if the first value of
// the enum is a number, otherwise a string.
func valueNotIn(all []any) any {
	if len(all) > 0 {
		if _, ok := all[0].(json.Number); ok {
			return json.Number("987654321")
		}
	}
	return "x-not-listed"
}

func isValidPattern(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}
