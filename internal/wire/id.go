package wire

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ID is the id of a request or response exactly as it stood on the wire:
// 1, 1.0, "1" and 1e0 are four different ids. The zero ID means that there
// was no id member.
type ID struct{ text string }

// IntID returns the id with the integer n.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// StringID returns the id with the string s.
func StringID(s string) ID { return ID{string(Quote(s))} }

// RawID returns the id whose JSON text is s, right or wrong.
func RawID(s string) ID { return ID{s} }

// String returns the id's JSON text, or "(no id)".
func (id ID) String() string {
	if id.text == "" {
		return "(no id)"
	}
	return id.text
}

// Raw returns the id's JSON text, empty where there was no id.
func (id ID) Raw() string { return id.text }

// Present tells whether there was an id member, null included.
func (id ID) Present() bool { return id.text != "" }

// IsNull tells whether the id is null.
func (id ID) IsNull() bool { return id.text == "null" }

// IsString tells whether the id is a JSON string.
func (id ID) IsString() bool { return strings.HasPrefix(id.text, `"`) }

// IsInteger tells whether the id is a number with an integer value, however
// it is spelled (1.0 and 1e2 are integers in JSON Schema's sense).
func (id ID) IsInteger() bool { return isInteger(id.text) }

// Same tells whether both ids mean the same value of the same JSON type:
// strings are compared unescaped, integers by value, others by text.
func (id ID) Same(other ID) bool {
	if id.text == other.text {
		return true
	}
	if id.IsString() && other.IsString() {
		a, errA := unquote(id.text)
		b, errB := unquote(other.text)
		return errA == nil && errB == nil && a == b
	}
	if id.IsInteger() && other.IsInteger() {
		return canonicalInteger(id.text) == canonicalInteger(other.text)
	}
	return false
}

// Key returns a text that is equal for ids that are the Same, fit for maps.
func (id ID) Key() string {
	if id.IsString() {
		if s, err := unquote(id.text); err == nil {
			return `"` + s
		}
	}
	if id.IsInteger() {
		return canonicalInteger(id.text)
	}
	return id.text
}

func unquote(text string) (string, error) {
	b, err := jsontext.AppendUnquote(nil, text)
	return string(b), err
}

// Quote returns s as a JSON string.
func Quote(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // s is not UTF-8; the result then has U+FFFD in its place
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return b
}

// canonicalInteger spells an integer-valued JSON number without fraction,
// exponent and leading zeros. Numbers too long to be worth it keep their text.
func canonicalInteger(text string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exp := 0
	if exponent != "" {
		n, err := strconv.Atoi(exponent)
		if err != nil || n > 400 || n < -400 {
			return text
		}
		exp = n
	}
	digits := whole + fraction
	point := len(whole) + exp
	for len(digits) < point {
		digits += "0"
	}
	if point < 0 {
		point = 0
		digits = strings.Repeat("0", -point) + digits
	}
	if strings.Trim(digits[point:], "0") != "" {
		return text
	}
	digits = strings.TrimLeft(digits[:point], "0")
	if digits == "" {
		return "0"
	}
	return sign + digits
}

func isInteger(text string) bool {
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return false
	}
	if !strings.ContainsAny(text, ".eE") {
		return true
	}
	return !strings.ContainsAny(canonicalInteger(text), ".eE")
}
