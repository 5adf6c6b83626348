package wire

import "bytes"

// A Walker iterates over the members of an object or the elements of an array without copying. It
// expects valid JSON. On anything else its results are meaningless, but it never reads outside the
// bytes and always terminates.
type Walker struct {
	v []byte
	i int
}

// NewWalker returns a Walker over v, an object or array without leading white space.
func NewWalker(v []byte) Walker { return Walker{v, 1} }

// Element returns the next element without surrounding white space, or false if there is none.
func (c *Walker) Element() ([]byte, bool) {
	c.skip(',')
	if c.i >= len(c.v) || c.v[c.i] == ']' || c.v[c.i] == '}' {
		return nil, false
	}
	start := c.i
	c.i = valueEnd(c.v, c.i)
	return c.v[start:c.i:c.i], true
}

// Member returns the next member: the text between the quotes of its name, and its value. It
// returns false if there is none.
func (c *Walker) Member() (name, value []byte, ok bool) {
	quoted, ok := c.Element()
	if !ok || len(quoted) < 2 || quoted[0] != '"' {
		return nil, nil, false
	}
	c.skip(':')
	value, ok = c.Element()
	return quoted[1 : len(quoted)-1], value, ok
}

// skip skips white space and the separator.
func (c *Walker) skip(separator byte) {
	for c.i < len(c.v) {
		switch b := c.v[c.i]; b {
		case ' ', '\t', '\r', '\n', separator:
			c.i++
		default:
			return
		}
	}
}

// valueEnd returns the offset after the value that begins at i; it is always greater than i.
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

// shortString is the number of bytes up to which a loop is faster than bytes.IndexByte.
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
		for i <= quote { // visits each byte once, however many are escaped
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
