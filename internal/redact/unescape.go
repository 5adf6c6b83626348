package redact

import (
	"bytes"
	"html"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape decodes one level of the escapes that occur in outputs: percent-encoding,
// backslashes as in JSON, Go and Markdown, and entities as in HTML and XML. It returns nil
// if there are none. starts maps each byte of the result, and its end, to its offset in
// text.
func unescape(text []byte) (out []byte, starts []int32) {
	if !bytes.ContainsAny(text, `%\&`) {
		return nil, nil
	}
	out = make([]byte, 0, len(text)) // an escape is at least as long as the bytes that it encodes
	starts = make([]int32, 0, len(text)+1)
	changed := false
	var buf [utf8.UTFMax]byte
	for i := 0; i < len(text); {
		decoded, n := buf[:0], 0
		switch c := text[i]; c {
		default:
			out, starts = append(out, c), append(starts, int32(i)) //nolint:gosec // within a window
			i++
			continue
		case '%':
			decoded, n = appendPercent(decoded, text[i:])
		case '\\':
			decoded, n = appendBackslash(decoded, text[i:])
		case '&':
			decoded, n = appendEntity(decoded, text[i:])
		}
		if n == 0 {
			decoded, n = append(buf[:0], text[i]), 1
		} else {
			changed = true
		}
		for range decoded {
			starts = append(starts, int32(i)) //nolint:gosec // within a window
		}
		out = append(out, decoded...)
		i += n
	}
	if !changed {
		return nil, nil
	}
	return out, append(starts, int32(len(text))) //nolint:gosec // within a window
}

// appendPercent appends the byte that %XX at the start of text encodes. It returns the length of
// the escape, or 0 if there is none. appendBackslash and appendEntity do the same for their
// escapes.
func appendPercent(out, text []byte) ([]byte, int) {
	if len(text) < 3 {
		return out, 0
	}
	n, err := strconv.ParseUint(string(text[1:3]), 16, 8)
	if err != nil {
		return out, 0
	}
	return append(out, byte(n)), 3
}

func appendBackslash(out, text []byte) ([]byte, int) {
	if len(text) < 2 {
		return out, 0
	}
	switch c := text[1]; {
	case c == 'x':
		if n, ok := parseDigits(text, 2, 2, 16); ok {
			return append(out, byte(n)), 4
		}
	case c == 'u' && len(text) > 2 && text[2] == '{':
		if end := bytes.IndexByte(text[:min(len(text), 12)], '}'); end > 3 {
			if n, ok := parseDigits(text, 3, end-3, 16); ok {
				return utf8.AppendRune(out, n), end + 1
			}
		}
	case c == 'u':
		n, ok := parseDigits(text, 2, 4, 16)
		if !ok {
			return out, 0
		}
		if utf16.IsSurrogate(n) && len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
			if low, ok := parseDigits(text, 8, 4, 16); ok && utf16.IsSurrogate(low) {
				return utf8.AppendRune(out, utf16.DecodeRune(n, low)), 12
			}
		}
		return utf8.AppendRune(out, n), 6
	case c == 'U':
		if n, ok := parseDigits(text, 2, 8, 16); ok {
			return utf8.AppendRune(out, n), 10
		}
	case '0' <= c && c <= '7':
		if n, ok := parseDigits(text, 1, 3, 8); ok && n < 256 {
			return append(out, byte(n)), 4
		}
	case 'a' <= c && c <= 'z':
		if at := bytes.IndexByte([]byte("abfnrtv"), c); at >= 0 {
			return append(out, "\a\b\f\n\r\t\v"[at]), 2
		}
	case c == '%' || c == '&': // the next escape, preceded by a backslash
	case c > ' ' && c < 0x7f && (c < 'A' || c > 'Z') && (c < '0' || c > '9'):
		return append(out, c), 2
	}
	return out, 0
}

// parseDigits parses text[from:from+count] as a number in the given base.
func parseDigits(text []byte, from, count, base int) (rune, bool) {
	if from+count > len(text) || count > 8 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[from:from+count]), base, 31)
	return rune(n), err == nil //nolint:gosec // n has at most 31 bits
}

func appendEntity(out, text []byte) ([]byte, int) {
	const longest = 12 // longer entities encode no character of a secret
	end := bytes.IndexByte(text[:min(len(text), longest)], ';')
	if end < 2 {
		return out, 0
	}
	whole := string(text[:end+1])
	if plain := html.UnescapeString(whole); plain != whole && len(plain) <= utf8.UTFMax {
		return append(out, plain...), end + 1
	}
	return out, 0
}
