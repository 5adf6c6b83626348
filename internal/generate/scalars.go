package generate

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// formats are strings in the formats that JSON Schema defines, the plainest
// first.
var formats = map[string][]string{
	"date": {"2025-01-01", "2026-01-31", "2024-02-29", "1970-01-01"}, "time": {"00:00:00Z", "12:00:00Z", "23:59:59+01:00"},
	"date-time": {"2025-01-01T00:00:00Z", "2026-01-31T12:00:00Z", "2024-02-29T23:59:59.999999999+14:00"}, "duration": {"PT1S", "P1D", "PT1H30M"},
	"email": {"user@example.com", "x+y@example.org"}, "idn-email": {"user@example.com"},
	"hostname": {"example.com", "localhost"}, "idn-hostname": {"example.com"},
	"ipv4": {"192.0.2.1", "127.0.0.1", "255.255.255.255"}, "ipv6": {"2001:db8::1", "::1"},
	"uri": {"https://example.com/", "https://example.com/a?b=c#d", "urn:isbn:0451450523", "file:///a%20b"}, "iri": {"https://example.com/"}, "url": {"https://example.com/"},
	"uri-reference": {"https://example.com/", "../a", "#x", ""}, "iri-reference": {"https://example.com/"},
	"uuid":  {"00000000-0000-4000-8000-000000000000", "123e4567-e89b-12d3-a456-426614174000"},
	"regex": {"a", "^a+$"}, "json-pointer": {"", "/a/0"},
}

// integers and finite are numbers that every program can represent.
var integers = []json.Number{
	"0", "1", "-1", "2", "10", "100", "255", "256", "1000", "65535", "65536", "2147483647", "-2147483648", "9007199254740991", "-9007199254740991",
}

var finite = append([]json.Number{"0.5", "-1.5", "1.0", "1e2", "1e308", "-1.7976931348623157e308", "5e-324", "0.1", "-0.0"}, integers...)

// bounds are the keywords that limit a number.
var bounds = []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}

// numbersWithin returns some numbers within the bounds of a schema, the simplest first. If whole is
// true, they are integers, and exact multiples of the schema's multipleOf. Otherwise rounding may
// make the multiples inexact.
func numbersWithin(o map[string]any, whole bool) []float64 {
	step, hasStep := numberOf(o["multipleOf"])
	hasStep = hasStep && step > 0
	var out []float64
	add := func(all ...float64) {
		for _, x := range all {
			isExact := x == math.Trunc(x) && math.Abs(x) < 1<<53 && (!hasStep || math.Mod(x, step) == 0)
			if isWithinBounds(x, o) && (isExact || !whole) && !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	simple, others := []float64{1, 0}, []float64{-1, 10}
	for _, keyword := range bounds {
		if x, ok := numberOf(o[keyword]); ok {
			simple = append(simple, math.Ceil(x), math.Floor(x), math.Floor(x)+1, math.Ceil(x)-1)
			others = append(others, x, (x+others[len(others)-1])/2)
		}
	}
	for _, all := range [][]float64{simple, others} {
		if whole || !hasStep {
			add(all...)
		}
		if hasStep {
			for _, x := range all {
				add(math.Ceil(x/step)*step, math.Floor(x/step)*step)
			}
		}
	}
	return out
}

func isWithinBounds(x float64, o map[string]any) bool {
	limit := func(keyword string, none float64) float64 {
		if x, ok := numberOf(o[keyword]); ok {
			return x
		}
		return none
	}
	return x >= limit("minimum", math.Inf(-1)) && x > limit("exclusiveMinimum", math.Inf(-1)) &&
		x <= limit("maximum", math.Inf(1)) && x < limit("exclusiveMaximum", math.Inf(1))
}

// numberWithoutExponent returns x as a JSON number. The number has no exponent if x is an integer
// that float64 represents exactly (below 2^53).
func numberWithoutExponent(x float64) json.Number {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return json.Number(strconv.FormatInt(int64(x), 10))
	}
	return json.Number(wire.JSON(x))
}
