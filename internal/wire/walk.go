package wire

import "bytes"

// Walk goes over the members of an object or the elements of an array without
// copying. It trusts that it is in JSON; in anything else it loses its way, but
// never leaves the bytes, and always comes to an end.
type Walk struct {
	v []byte
	i int
}

// Inside returns a walk through v, which is an object or an array without
// space in front of it.
func Inside(v []byte) Walk { return Walk{v, 1} }

// Element returns the next element, without space around it.
func (c *Walk) Element() ([]byte, bool) {
	c.skip(',')
	if c.i >= len(c.v) || c.v[c.i] == ']' || c.v[c.i] == '}' {
		return nil, false
	}
	start := c.i
	c.i = valueEnd(c.v, c.i)
	return c.v[start:c.i:c.i], true
}

// Member returns the next member: the text between the quotes of its name,
// and its value.
func (c *Walk) Member() (name, value []byte, ok bool) {
	quoted, ok := c.Element()
	if !ok || len(quoted) < 2 || quoted[0] != '"' {
		return nil, nil, false
	}
	c.skip(':')
	value, ok = c.Element()
	return quoted[1 : len(quoted)-1], value, ok
}

// skip passes over space and the given separator.
func (c *Walk) skip(separator byte) {
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
		quote := i + n
		for i <= quote { // each byte is looked at once, however many are escaped
			escape := bytes.IndexByte(v[i:quote], '\\')
			if escape < 0 {
				return quote + 1
			}
			i += escape + 2
		}
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
