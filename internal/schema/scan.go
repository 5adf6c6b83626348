package schema

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions of this file walk over the bytes of a JSON value without
// copying. They trust that it is JSON; in anything else they lose their way,
// but never leave the bytes, and always come to an end.

// cursor walks over the members of an object or the elements of a list.
type cursor struct {
	v []byte
	i int
}

// inside returns a cursor into v, which is an object or a list.
func inside(v []byte) cursor { return cursor{v, 1} }

// empty tells whether nothing is left.
func (c *cursor) empty() bool {
	_, more := c.element()
	return !more
}

// element returns the next element, without space around it.
func (c *cursor) element() ([]byte, bool) {
	c.skip(',')
	if c.i >= len(c.v) || c.v[c.i] == ']' || c.v[c.i] == '}' {
		return nil, false
	}
	start := c.i
	c.i = valueEnd(c.v, c.i)
	return c.v[start:c.i], true
}

// member returns the next member: the text between the quotes of its name,
// and its value.
func (c *cursor) member() (name, value []byte, ok bool) {
	quoted, ok := c.element()
	if !ok || len(quoted) < 2 || quoted[0] != '"' {
		return nil, nil, false
	}
	c.skip(':')
	value, ok = c.element()
	return quoted[1 : len(quoted)-1], value, ok
}

// skip passes over space and the given separator.
func (c *cursor) skip(separator byte) {
	for c.i < len(c.v) {
		switch b := c.v[c.i]; b {
		case ' ', '\t', '\r', '\n', separator:
			c.i++
		default:
			return
		}
	}
}

// valueEnd returns where the value ends that begins at i; it is beyond i.
func valueEnd(v []byte, i int) int {
	switch v[i] {
	case '"':
		return stringEnd(v, i)
	case '{', '[':
		return compoundEnd(v, i)
	}
	for i++; i < len(v); i++ {
		switch v[i] {
		case ',', ':', ']', '}', '"', '{', '[', ' ', '\t', '\r', '\n':
			return i
		}
	}
	return len(v)
}

// shortString is up to how many bytes a loop is faster than a search.
const shortString = 32

func stringEnd(v []byte, i int) int {
	i++
	short := v[:min(len(v), i+shortString)]
	for i < len(short) {
		b := short[i]
		if b == '"' {
			return i + 1
		}
		i++
		if b == '\\' {
			i++
		}
	}
	for i < len(v) {
		n := bytes.IndexByte(v[i:], '"')
		if n < 0 {
			return len(v)
		}
		escape := bytes.IndexByte(v[i:i+n], '\\')
		if escape < 0 {
			return i + n + 1
		}
		i += escape + 2
	}
	return len(v)
}

func compoundEnd(v []byte, i int) int {
	for depth := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			i = stringEnd(v, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(v)
}

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
