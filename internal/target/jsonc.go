package target

// standardizeJSON returns text with its comments and trailing commas replaced with spaces, so that
// the other bytes keep their offsets. It reports no errors, because other malformed syntax, such as
// an unclosed comment, stays for the JSON parser to report.
//
// It does not use tailscale/hujson, which does the same for well-formed text, but rejects a
// byte order mark and a comment that ends the file without a newline, gives the position of
// an error only as text, and crashes with an unrecoverable stack overflow on 2 MB of
// brackets, which encoding/json rejects.
func standardizeJSON(text []byte) []byte {
	out := append([]byte(nil), text...)
	if len(out) >= 3 && out[0] == 0xEF && out[1] == 0xBB && out[2] == 0xBF {
		blankOut(out[:3]) // the byte order mark that some editors write
	}
	comma := -1       // the index of a comma that may be a trailing one, or -1
	before := byte(0) // the last byte that is neither space nor comment
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

// blankOut replaces bytes with spaces, except line ends, to keep line numbers.
func blankOut(b []byte) {
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = ' '
		}
	}
}

// commentEnd returns the index after the comment that begins at i. It returns i if no comment
// begins there, or if the comment is not closed.
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

// stringEnd returns the index after the string that begins at i, or len(b) if the string is not
// closed.
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
