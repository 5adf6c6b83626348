package generate

import (
	"encoding/json"
	"math"
	"math/big"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func textBy(t *rapid.T, o map[string]any) (any, bool) {
	if pattern, ok := o["pattern"].(string); ok {
		return matching(t, pattern)
	}
	if format, ok := o["format"].(string); ok {
		if examples := formats[format]; len(examples) > 0 {
			return rapid.SampledFrom(examples).Draw(t, format), true
		}
	}
	least, bounded := count(o["minLength"])
	most, limited := count(o["maxLength"])
	if !limited {
		most = max(least, 1024)
	}
	if most < least || least > 1<<17 {
		return nil, false
	}
	if !bounded && !limited {
		return text.Draw(t, "text"), true
	}
	n := rapid.SampledFrom([]int{least, most, min(least+1, most), (least + most) / 2}).Draw(t, "length")
	return repeated(someWords.Draw(t, "word"), n), true
}

// matching draws a string that matches a pattern. ok is false if Go's syntax
// does not support the ECMA-262 pattern.
func matching(t *rapid.T, pattern string) (v any, ok bool) {
	if !compiles(pattern) {
		return nil, false
	}
	return rapid.StringMatching(pattern).Draw(t, "pattern"), true
}

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

func numberBy(t *rapid.T, o map[string]any, whole bool) (any, bool) {
	low, high := bound(o, "minimum", "exclusiveMinimum", math.Inf(-1), 1), bound(o, "maximum", "exclusiveMaximum", math.Inf(1), -1)
	step, stepped := real(o["multipleOf"])
	if stepped && step > 0 {
		base := 0.0
		if !math.IsInf(low, 0) {
			base = math.Ceil(low/step) * step
		} else if !math.IsInf(high, 0) {
			base = math.Floor(high/step) * step
		}
		return exact(base + step*float64(rapid.IntRange(0, 3).Draw(t, "steps"))), true
	}
	if math.IsInf(low, -1) && math.IsInf(high, 1) {
		if whole {
			return rapid.SampledFrom(integers).Draw(t, "integer"), true
		}
		return rapid.SampledFrom(finite).Draw(t, "number"), true
	}
	var candidates []float64
	for _, x := range []float64{low, high, low + 1, high - 1, 0, 1, -1, (low + high) / 2} {
		if whole {
			x = math.Trunc(x)
		}
		if x >= low && x <= high && !math.IsInf(x, 0) && !math.IsNaN(x) {
			candidates = append(candidates, x)
		}
	}
	if len(candidates) == 0 {
		return nil, false
	}
	return exact(rapid.SampledFrom(candidates).Draw(t, "number")), true
}

// integers and finite are numbers that every program can represent.
var integers = []json.Number{
	"0", "1", "-1", "2", "10", "100", "255", "256", "1000", "65535", "65536", "2147483647", "-2147483648", "9007199254740991", "-9007199254740991",
}

var finite = append([]json.Number{"0.5", "-1.5", "1.0", "1e2", "1e308", "-1.7976931348623157e308", "5e-324", "0.1", "-0.0"}, integers...)

// bound returns the limit that two keywords set together. The argument beside
// is the distance from an exclusive limit to the next valid number.
func bound(o map[string]any, inclusive, exclusive string, none, beside float64) float64 {
	out := none
	if x, ok := real(o[inclusive]); ok {
		out = x
	}
	if x, ok := real(o[exclusive]); ok {
		if next := x + beside; beside > 0 && (math.IsInf(out, -1) || next > out) || beside < 0 && (math.IsInf(out, 1) || next < out) {
			out = next
		}
	}
	return out
}

// exact returns a number without an exponent if that is short.
func exact(x float64) json.Number {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return json.Number(big.NewInt(int64(x)).String())
	}
	return json.Number(wire.JSON(x))
}

func real(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	x, err := n.Float64()
	return x, err == nil
}

func count(v any) (int, bool) {
	x, ok := real(v)
	if !ok || x < 0 || x > 1<<30 {
		return 0, false
	}
	return int(x), true
}
