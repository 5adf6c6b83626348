package schema

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// kindOf returns the JSON type of v: one of { [ " 0 t f n, or 0 if v is empty.
func kindOf(v []byte) byte {
	if len(v) == 0 {
		return 0
	}
	return byte(jsontext.Value(v[:1]).Kind())
}

// trimSpace returns v without surrounding whitespace.
func trimSpace(v []byte) []byte { return bytes.Trim(v, " \t\r\n") }

// unquote returns the text of the string v, or nil if v is not a string. If the string has no
// escapes, the result is a subslice of v.
func unquote(v []byte) []byte {
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return nil
	}
	return unescape(v[1 : len(v)-1])
}

// unescape resolves the escapes in the part of a string between its quotes.
func unescape(s []byte) []byte {
	if bytes.IndexByte(s, '\\') < 0 {
		return s
	}
	quoted := append(append([]byte{'"'}, s...), '"')
	plain, _ := jsontext.AppendUnquote(nil, quoted) // invalid escapes become U+FFFD
	return plain
}
