package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ID is the exact JSON text of an id as it was on the wire. Compared with ==, 1, 1.0, "1" and 1e0
// are four different ids; Same treats the three numbers as equal. The zero ID denotes an absent
// id member.
type ID struct{ text string }

// IntID returns the id with the integer n.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// StringID returns the id with the string s.
func StringID(s string) ID { return ID{string(Quote(s))} }

// RawID returns the id with the JSON text s, which need not be valid. An empty s means an absent
// id.
func RawID(s string) ID { return ID{s} }

// IDAt returns the id or progress token at the JSON pointer in v, or the zero ID if there is no
// value.
func IDAt(v jsontext.Value, pointer string) ID { return RawID(string(At(v, pointer))) }

// String returns the id's JSON text, or "(no id)".
func (id ID) String() string {
	if id.text == "" {
		return "(no id)"
	}
	return id.text
}

// Raw returns the id's JSON text, empty if the id is absent.
func (id ID) Raw() string { return id.text }

// IsPresent reports whether there was an id member, even if it was null.
func (id ID) IsPresent() bool { return id.text != "" }

// IsNull reports whether the id is null.
func (id ID) IsNull() bool { return id.text == "null" }

// IsString reports whether the id is a JSON string.
func (id ID) IsString() bool { return strings.HasPrefix(id.text, `"`) }

// IsInteger reports whether the id is a number with an integer value in any spelling: 1.0 and 1e2
// are integers as in JSON Schema. It returns false for numbers with an exponent beyond ±400, which
// it does not evaluate.
func (id ID) IsInteger() bool { _, ok := canonicalInteger(id.text); return ok }

// IsLegal reports whether the id is of a type that a request may have: a string or an integer.
func (id ID) IsLegal() bool { return id.IsString() || id.IsInteger() }

// Same reports whether both ids have the same JSON type and value: it compares strings unescaped,
// integers by value and everything else by text.
func (id ID) Same(other ID) bool { return id.text == other.text || id.Key() == other.Key() }

// Key returns a map key: two ids have equal keys exactly if Same returns true for them. The key of
// an integer is its decimal digits.
func (id ID) Key() string {
	if id.IsString() {
		if inside, ok := id.verbatimKey(); ok {
			return inside
		}
		if b, err := jsontext.AppendUnquote(nil, id.text); err == nil {
			return `"` + string(b)
		}
		return "?" + id.text // a lone surrogate, or not JSON
	}
	if digits, ok := canonicalInteger(id.text); ok {
		return digits
	}
	if strings.HasPrefix(id.text, "?") {
		return "?" + id.text
	}
	return id.text
}

// verbatimKey returns the text of a string id without its closing quote, and reports whether the
// text can serve as the id's key: it contains neither escapes nor non-ASCII characters.
func (id ID) verbatimKey() (string, bool) {
	end := len(id.text) - 1
	if end < 1 || id.text[end] != '"' {
		return "", false
	}
	for i := 1; i < end; i++ {
		if c := id.text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return "", false
		}
	}
	return id.text[:end], true
}

// Quote returns s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return b
}

// canonicalInteger returns the value of a JSON number in decimal digits, with a minus sign if it is
// below zero. It returns false if text is not a JSON number, if the value is not an integer, or if
// the exponent is beyond ±400.
func canonicalInteger(text string) (string, bool) {
	n, ok := splitNumber(text)
	if !ok {
		return "", false
	}
	exponent := 0
	if n.exponent != "" {
		e, err := strconv.Atoi(n.exponent)
		if err != nil || e > 400 || e < -400 {
			return "", false
		}
		exponent = e
	}
	digits := n.whole + n.fraction
	point := len(n.whole) + exponent
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	point = max(0, point)
	if strings.Trim(digits[point:], "0") != "" {
		return "", false
	}
	digits = strings.TrimLeft(digits[:point], "0")
	if digits == "" {
		return "0", true
	}
	return n.sign + digits, true
}

// number is a JSON number split into its parts.
type number struct{ sign, whole, fraction, exponent string }

// splitNumber splits a JSON number, and reports whether text is one.
func splitNumber(text string) (number, bool) {
	var n number
	rest, negative := strings.CutPrefix(text, "-")
	if negative {
		n.sign = "-"
	}
	n.whole, rest = cutDigits(rest)
	ok := n.whole == "0" || n.whole != "" && n.whole[0] != '0'
	if after, found := strings.CutPrefix(rest, "."); found {
		n.fraction, rest = cutDigits(after)
		ok = ok && n.fraction != ""
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		sign := ""
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			sign, rest = rest[:1], rest[1:]
		}
		n.exponent, rest = cutDigits(rest)
		ok = ok && n.exponent != ""
		n.exponent = sign + n.exponent
	}
	return n, ok && rest == ""
}

// cutDigits splits s after its leading digits.
func cutDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}
