package uri

import (
	"bytes"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// IsURI reports whether s has a scheme and contains no character that a URI must not
// contain. It accepts characters beyond ASCII, as IRIs do. net/url is too lenient: it
// accepts "a:/b c" and "a:/<b>".
func IsURI(s []byte) bool {
	colon := bytes.IndexByte(s, ':')
	if colon < 1 || !isLetter(s[0]) {
		return false
	}
	for _, b := range s[:colon] {
		if !isLetter(b) && !isDigit(b) && b != '+' && b != '-' && b != '.' {
			return false
		}
	}
	return isLiteral(s[colon+1:], `"<>\^`+"`{|}")
}

// CannotBeURI reports whether text lacks a scheme, or contains spaces or control
// characters. It ignores smaller errors, which a server may repair.
func CannotBeURI(text string) bool {
	scheme, _, ok := strings.Cut(text, ":")
	return !ok || scheme == "" || strings.ContainsAny(scheme, "/?#") || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// isLiteral reports whether s contains no control character, no space and none of the characters in
// the argument without, and whether two hex digits follow each percent sign.
func isLiteral(s []byte, without string) bool {
	for i, b := range s {
		switch {
		case b <= ' ' || b == 0x7f || b < utf8.RuneSelf && bytes.IndexByte([]byte(without), b) >= 0:
			return false
		case b == '%' && !isPercent(s[i:]):
			return false
		}
	}
	return true
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
func isDigit(b byte) bool  { return '0' <= b && b <= '9' }
func isHex(b byte) bool    { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }

func isPercent(s []byte) bool { return len(s) >= 3 && isHex(s[1]) && isHex(s[2]) }

// Unescape returns s with its percent escapes decoded. It leaves invalid escapes unchanged.
func Unescape(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && isPercent(s[i:]) {
			out, _ = hex.AppendDecode(out, s[i+1:i+3])
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return out
}

// IsTemplate reports whether s consists of literals and expressions of RFC 6570, of any
// level. It accepts the apostrophe, as an erratum to the RFC does, and everything beyond
// ASCII. yosida95/uritemplate, with which a test compares this function, rejects U+FFFD and
// invalid UTF-8, although neither makes a template invalid.
func IsTemplate(s []byte) bool {
	for len(s) > 0 {
		open := bytes.IndexByte(s, '{')
		if open < 0 {
			open = len(s)
		}
		if !isLiteral(s[:open], `"<>\^`+"`|}") {
			return false
		}
		if open == len(s) {
			return true
		}
		end := bytes.IndexByte(s, '}')
		if end < open || !isExpression(s[open+1:end]) {
			return false
		}
		s = s[end+1:]
	}
	return true
}

// isExpression reports whether e, the text between braces, is an optional operator followed
// by variables with their modifiers.
func isExpression(e []byte) bool {
	if len(e) > 0 && bytes.IndexByte([]byte("+#./;?&"), e[0]) >= 0 {
		e = e[1:]
	}
	for variable := range bytes.SplitSeq(e, []byte(",")) {
		name, prefix, hasPrefix := bytes.Cut(variable, []byte(":"))
		if hasPrefix {
			if len(prefix) == 0 || len(prefix) > 4 || prefix[0] == '0' || !allDigits(prefix) {
				return false
			}
		} else {
			name = bytes.TrimSuffix(name, []byte("*"))
		}
		if !isVariable(name) {
			return false
		}
	}
	return true
}

func allDigits(s []byte) bool {
	for _, b := range s {
		if !isDigit(b) {
			return false
		}
	}
	return true
}

func isVariable(name []byte) bool {
	for i := 0; i < len(name); i++ {
		switch b := name[i]; {
		case isLetter(b) || isDigit(b) || b == '_':
		case b == '.' && i > 0 && i < len(name)-1 && name[i-1] != '.':
		case b == '%' && isPercent(name[i:]):
			i += 2
		default:
			return false
		}
	}
	return len(name) > 0
}
