package generate

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// numbers include the limits of all common numeric types, and all ways to write a number.
var numbers = []string{
	"0", "-0", "1", "-1", "2", "7", "10", "100", "127", "128", "255", "256", "32767", "32768", "65535", "65536",
	"2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296",
	"9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740991", "-9007199254740993",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
	"0.0", "-0.0", "1.0", "1e0", "1E0", "1e+0", "10e-1", "0.1", "0.5", "1.5", "-1.5", "0.30000000000000004", "1e2", "1e-2",
	"1e308", "1.7976931348623157e308", "1e309", "-1e309", "5e-324", "2.2250738585072014e-308", "1e-400", "1e1000",
	"123456789012345678901234567890123456789012345678901234567890", "0.1234567890123456789012345678901234567890",
}

var someNumbers = rapid.SampledFrom(numbers)

// anyNumber draws the text of a JSON number.
var anyNumber = rapid.Custom(func(t *rapid.T) jsontext.Value {
	if drawChance(t, 60) {
		return jsontext.Value(someNumbers.Draw(t, "number"))
	}
	return jsontext.Value(strconv.FormatInt(rapid.Int64().Draw(t, "integer"), 10))
})

// Values configures what the drawn values may contain.
type Values struct {
	// Depth limits the nesting depth.
	Depth int
	// Duplicates allows objects with duplicate names, which JSON-RPC senders
	// must not rely on.
	Duplicates bool
}

// Value draws the text of a JSON value.
func (v Values) Value() *rapid.Generator[jsontext.Value] {
	return rapid.Custom(func(t *rapid.T) jsontext.Value { return jsontext.Value(v.write(t, nil, v.Depth)) })
}

func (v Values) write(t *rapid.T, out []byte, depth int) []byte {
	n := percent.Draw(t, "kind of value")
	if depth <= 0 {
		n = n * 7 / 10
	}
	switch {
	case n < 8:
		return append(out, "null"...)
	case n < 16:
		return append(out, "true"...)
	case n < 24:
		return append(out, "false"...)
	case n < 44:
		return append(out, anyNumber.Draw(t, "number")...)
	case n < 70:
		return appendQuoted(t, out, anyText.Draw(t, "text"))
	case n < 84:
		return v.array(t, out, depth)
	case n < 98:
		return v.object(t, out, depth)
	case n < 99:
		return appendNested(t, out)
	default:
		return appendWideArray(t, out)
	}
}

var fewElements = rapid.IntRange(0, 4)

func (v Values) array(t *rapid.T, out []byte, depth int) []byte {
	out = append(out, '[')
	for i := range fewElements.Draw(t, "elements") {
		if i > 0 {
			out = append(out, ',')
		}
		out = v.write(t, out, depth-1)
	}
	return append(out, ']')
}

func (v Values) object(t *rapid.T, out []byte, depth int) []byte {
	out = append(out, '{')
	used := map[string]bool{}
	for range fewElements.Draw(t, "members") {
		name := anyText.Draw(t, "name")
		if used[name] && !v.Duplicates {
			continue
		}
		if len(used) > 0 {
			out = append(out, ',')
		}
		used[name] = true
		out = append(appendQuoted(t, out, name), ':')
		out = v.write(t, out, depth-1)
		if v.Duplicates && drawChance(t, 10) {
			out = append(append(append(out, ','), wire.Quote(name)...), ":null"...)
		}
	}
	return append(out, '}')
}

// appendNested appends nested arrays.
func appendNested(t *rapid.T, out []byte) []byte {
	n := rapid.SampledFrom([]int{20, 64, 100, 127, 128, 200}).Draw(t, "nesting")
	out = append(out, strings.Repeat("[", n)...)
	return append(out, strings.Repeat("]", n)...)
}

// appendWideArray appends an array with many elements.
func appendWideArray(t *rapid.T, out []byte) []byte {
	n := someLengths.Draw(t, "width")
	return append(append(append(out, '['), strings.Repeat("0,", n)...), "0]"...)
}

// appendQuoted appends a string as JSON, sometimes with more escapes than necessary.
func appendQuoted(t *rapid.T, out []byte, s string) []byte {
	if len(s) > 64 || !drawChance(t, 15) {
		return append(out, wire.Quote(s)...)
	}
	out = append(out, '"')
	for _, r := range s {
		if r > 0xffff {
			r -= 0x10000
			out = appendEscaped(appendEscaped(out, 0xd800+r>>10), 0xdc00+r&0x3ff)
			continue
		}
		out = appendEscaped(out, r)
	}
	return append(out, '"')
}

func appendEscaped(out []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(out, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
