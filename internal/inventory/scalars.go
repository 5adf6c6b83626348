package inventory

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// formats are strings of the formats that JSON Schema names.
var formats = map[string]string{
	"date-time":     "2025-01-01T00:00:00Z",
	"date":          "2025-01-01",
	"time":          "00:00:00Z",
	"duration":      "PT1S",
	"email":         "user@example.com",
	"idn-email":     "user@example.com",
	"hostname":      "example.com",
	"idn-hostname":  "example.com",
	"ipv4":          "192.0.2.1",
	"ipv6":          "2001:db8::1",
	"uri":           "https://example.com/",
	"uri-reference": "https://example.com/",
	"iri":           "https://example.com/",
	"iri-reference": "https://example.com/",
	"url":           "https://example.com/",
	"uuid":          "00000000-0000-4000-8000-000000000000",
	"json-pointer":  "",
	"regex":         "a",
}

// text makes a string.
func text(words map[string]jsontext.Value) (any, error) {
	s := "text"
	format, formatted := wire.Text(words["format"])
	if formatted {
		known := false
		if s, known = formats[format]; !known {
			return nil, errors.New("the format of a string is not known")
		}
	}
	least, _ := wire.Integer(words["minLength"])
	most, bounded := wire.Integer(words["maxLength"])
	if !formatted && least <= maxText {
		if bounded && most >= 0 && most < int64(len(s)) {
			s = s[:most]
		}
		s += strings.Repeat("x", max(0, int(least)-len(s)))
	}
	if n := int64(utf8.RuneCountInString(s)); n < least || bounded && n > most {
		return nil, errors.New("a string of the length that is asked for can't be made")
	}
	return s, nil
}

// number makes a number, an integer wherever one fits.
func number(words map[string]jsontext.Value) (any, error) {
	candidates := []float64{1, 0}
	for _, name := range []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"} {
		v := words[name]
		if v == nil {
			continue
		}
		x, ok := float(v)
		if !ok {
			return nil, errors.New("a bound is no number") // in draft 4 some are booleans
		}
		candidates = append(candidates, math.Ceil(x), math.Floor(x), math.Floor(x)+1, math.Ceil(x)-1)
	}
	step := 0.0
	if v := words["multipleOf"]; v != nil {
		var ok bool
		if step, ok = float(v); !ok || step <= 0 {
			return nil, errors.New("the step is no number above zero")
		}
		for _, x := range candidates {
			candidates = append(candidates, math.Ceil(x/step)*step)
		}
	}
	for _, x := range candidates {
		if inside(x, words) && math.Abs(x) < 1<<53 && x == math.Trunc(x) && (step == 0 || math.Mod(x, step) == 0) {
			return jsontext.Value(strconv.FormatInt(int64(x), 10)), nil
		}
	}
	return nil, errors.New("no number was found between the bounds")
}

func inside(x float64, words map[string]jsontext.Value) bool {
	below := func(name string, broken func(bound float64) bool) bool {
		bound, ok := float(words[name])
		return ok && broken(bound)
	}
	return !below("minimum", func(b float64) bool { return x < b }) &&
		!below("exclusiveMinimum", func(b float64) bool { return x <= b }) &&
		!below("maximum", func(b float64) bool { return x > b }) &&
		!below("exclusiveMaximum", func(b float64) bool { return x >= b })
}

func float(v jsontext.Value) (float64, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(v), 64)
	return x, err == nil
}
