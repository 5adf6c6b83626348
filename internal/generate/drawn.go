package generate

import (
	"encoding/json"
	"errors"
	"math"

	"pgregory.net/rapid"
)

// drawnChoices draws values that are probably valid, for the fuzzer. It ignores keywords that the
// generator does not understand. The validator decides whether the drawn value is valid.
type drawnChoices struct{ t *rapid.T }

func (d drawnChoices) namedValue(o map[string]any) (any, bool) {
	if v, ok := o["const"]; ok {
		return v, true
	}
	if all, _ := o["enum"].([]any); len(all) > 0 {
		return rapid.SampledFrom(all).Draw(d.t, "enum"), true
	}
	return nil, false
}

func (d drawnChoices) check(string, map[string]any) error { return nil }

func (d drawnChoices) alternatives(all []any) []any {
	if len(all) == 0 {
		return nil
	}
	return []any{rapid.SampledFrom(all).Draw(d.t, "alternative")}
}

func (d drawnChoices) typeName(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return rapid.SampledFrom(names).Draw(d.t, "type")
}

func (d drawnChoices) includesOptional(_ map[string]any, depth int) bool {
	return depth < maxDepth/2 && drawChance(d.t, 50)
}

func (d drawnChoices) elements(_ map[string]any, least, most int) (count, needed int) {
	if most == math.MaxInt {
		most = least + 3
	}
	return rapid.IntRange(least, min(most, least+6)).Draw(d.t, "elements"), least
}

// maxDrawnText is the length of the longest string that is drawn from a schema.
const maxDrawnText = 1 << 17

func (d drawnChoices) text(o map[string]any, least, most int) (string, error) {
	if pattern, ok := o["pattern"].(string); ok {
		if !isValidPattern(pattern) {
			return "", errors.New("the pattern is not one of Go's regular expressions")
		}
		return rapid.StringMatching(pattern).Draw(d.t, "pattern"), nil
	}
	format, _ := o["format"].(string)
	if examples := formats[format]; len(examples) > 0 {
		return rapid.SampledFrom(examples).Draw(d.t, format), nil
	}
	if !hasKeyword(o, "minLength", "maxLength") {
		return anyText.Draw(d.t, "text"), nil
	}
	if most == math.MaxInt {
		most = max(least, 1024)
	}
	least, most = min(least, maxDrawnText), min(most, maxDrawnText)
	n := rapid.SampledFrom([]int{least, most, min(least+1, most), (least + most) / 2}).Draw(d.t, "length")
	return repeatTo(someWords.Draw(d.t, "word"), n), nil
}

func (d drawnChoices) number(o map[string]any, whole bool) (json.Number, error) {
	switch restricted := hasKeyword(o, "multipleOf") || hasKeyword(o, bounds...); {
	case restricted:
		all := numbersWithin(o, whole)
		if len(all) == 0 {
			return "", errors.New("no number was found between the bounds")
		}
		return numberWithoutExponent(rapid.SampledFrom(all).Draw(d.t, "number")), nil
	case whole:
		return rapid.SampledFrom(integers).Draw(d.t, "integer"), nil
	default:
		return rapid.SampledFrom(finite).Draw(d.t, "number"), nil
	}
}

func (d drawnChoices) boolean() bool { return rapid.Bool().Draw(d.t, "boolean") }

func (d drawnChoices) word() string { return someNames.Draw(d.t, "name") }
