package target

// plainJSON returns text with comments and trailing commas replaced by
// spaces, so that every byte that stays keeps its place. What is not
// well-formed stays as it is, for the JSON reader to complain about.
//
// tailscale/hujson does the same for what is well-formed, but refuses a comment
// behind which the file ends without a newline (`{} // end`) and a byte order mark,
// has the place of an error in words only, and dies of a stack overflow, which
// nothing can catch, of 2 MB of brackets: encoding/json refuses those.
func plainJSON(text []byte) []byte {
	out := append([]byte(nil), text...)
	if len(out) >= 3 && out[0] == 0xEF && out[1] == 0xBB && out[2] == 0xBF {
		blankOut(out[:3]) // the byte order mark that some editors write
	}
	comma := -1       // place of a comma that nothing followed yet
	before := byte(0) // last byte of meaning
	for i := 0; i < len(out); {
		c := out[i]
		if end := commentEnd(out, i); end > i {
			blankOut(out[i:end])
			i = end
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			i++
			continue
		case '"':
			i = stringEnd(out, i)
			comma, before = -1, c
			continue
		case ',':
			comma = -1
			if before != 0 && before != '[' && before != '{' && before != ',' && before != ':' {
				comma = i
			}
		case ']', '}':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		default:
			comma = -1
		}
		before = c
		i++
	}
	return out
}

// blankOut leaves line ends, by which places are counted.
func blankOut(b []byte) {
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = ' '
		}
	}
}

// commentEnd returns where the comment that begins at i ends, or i when none
// begins there or it is never closed.
func commentEnd(b []byte, i int) int {
	if b[i] != '/' || i+1 >= len(b) {
		return i
	}
	switch b[i+1] {
	case '/':
		for i < len(b) && b[i] != '\n' {
			i++
		}
		return i
	case '*':
		for j := i + 2; j+1 < len(b); j++ {
			if b[j] == '*' && b[j+1] == '/' {
				return j + 2
			}
		}
	}
	return i
}

// stringEnd returns the place behind the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}
