package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ID is the id of a request or response exactly as it stood on the wire: as
// values of this type 1, 1.0, "1" and 1e0 are four different ids, of which
// Same takes the three numbers for one. The zero ID means that there was no id
// member.
type ID struct{ text string }

// IntID returns the id with the integer n.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// StringID returns the id with the string s.
func StringID(s string) ID { return ID{string(Quote(s))} }

// RawID returns the id whose JSON text is s, right or wrong; an empty s is no
// id.
func RawID(s string) ID { return ID{s} }

// IDAt returns the id, or the progress token, to which the pointer leads in v;
// no id where there is nothing.
func IDAt(v jsontext.Value, pointer string) ID { return RawID(string(At(v, pointer))) }

// String returns the id's JSON text, or "(no id)".
func (id ID) String() string {
	if id.text == "" {
		return "(no id)"
	}
	return id.text
}

// Raw returns the id's JSON text, empty where there was no id.
func (id ID) Raw() string { return id.text }

// Present reports whether there was an id member, null included.
func (id ID) Present() bool { return id.text != "" }

// IsNull reports whether the id is null.
func (id ID) IsNull() bool { return id.text == "null" }

// IsString reports whether the id is a JSON string.
func (id ID) IsString() bool { return strings.HasPrefix(id.text, `"`) }

// IsInteger reports whether the id is a number with an integer value, however
// it is spelled (1.0 and 1e2 are integers in JSON Schema's sense). Numbers
// with an exponent beyond ±400 are not looked into, and are none.
func (id ID) IsInteger() bool { _, ok := canonicalInteger(id.text); return ok }

// Same reports whether both ids mean the same value of the same JSON type:
// strings are compared unescaped, integers by value, others by text.
func (id ID) Same(other ID) bool { return id.text == other.text || id.Key() == other.Key() }

// Key returns a text that is equal for ids that are the Same, and only for
// those; it is fit for maps. Of an integer it is the plain decimal digits.
func (id ID) Key() string {
	if id.IsString() {
		if inside, ok := id.verbatim(); ok {
			return inside
		}
		if b, err := jsontext.AppendUnquote(nil, id.text); err == nil {
			return `"` + string(b)
		}
		return "?" + id.text // half a surrogate pair, or no JSON
	}
	if digits, ok := canonicalInteger(id.text); ok {
		return digits
	}
	if strings.HasPrefix(id.text, "?") {
		return "?" + id.text
	}
	return id.text
}

// verbatim returns the id without the quote at its end, and whether nothing in
// it is written otherwise than it reads: then that is its key.
func (id ID) verbatim() (string, bool) {
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

// Quote returns s as a JSON string, with U+FFFD for what is not UTF-8.
func Quote(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return b
}

// canonicalInteger spells an integer-valued JSON number without fraction,
// exponent and sign of zero; it reports false for all other text, and where
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

// number is a JSON number in its parts.
type number struct{ sign, whole, fraction, exponent string }

// splitNumber takes a JSON number apart, and reports whether text is one.
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

// cutDigits returns the digits that s begins with, and the rest.
func cutDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}
