package schema

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// kindOf returns the JSON type of v: one of { [ " 0 t f n, or 0 for none.
func kindOf(v []byte) byte {
	if len(v) == 0 {
		return 0
	}
	return byte(jsontext.Value(v[:1]).Kind())
}

// trimmed returns v without space around it.
func trimmed(v []byte) []byte { return bytes.Trim(v, " \t\r\n") }

// inner returns the text of string v; where nothing is escaped it is a part
// of v.
func inner(v []byte) []byte {
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return nil
	}
	return plainText(v[1 : len(v)-1])
}

// plainText resolves the escapes of what stands between the quotes of a string.
func plainText(s []byte) []byte {
	if bytes.IndexByte(s, '\\') < 0 {
		return s
	}
	quoted := append(append([]byte{'"'}, s...), '"')
	plain, _ := jsontext.AppendUnquote(nil, quoted) // what can't be resolved becomes U+FFFD
	return plain
}
