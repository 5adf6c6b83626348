package reporters

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	eastasian "golang.org/x/text/width"
)

// Visible returns s on one line. Everything that a reader would not see or that
// a terminal would interpret is escaped: \n, \r and \t, \xff for a byte that is
// not UTF-8, and \u001b for control characters, bidi and other format
// characters, line separators, and private and unassigned code points
// (\u{e0001} for more than four digits). Other text stays unchanged, including
// backslashes, so the result is for people and can't be converted back.
func Visible(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += size
	}
	return b.String()
}

// head returns at most the first n bytes of s and does not split a character.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}

// tail returns at most the last n bytes of s and does not split a character.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	from := len(s) - n
	for i := from; i < from+utf8.UTFMax && i < len(s); i++ {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s[from:]
}

// clip returns Visible(s), cut to a number of columns with an ellipsis. It
// reads only as much of s as it needs.
func clip(s string, columns int) string {
	v := Visible(head(s, utf8.UTFMax*(columns+1)))
	if len(fit(v, columns)) == len(v) {
		return v
	}
	return fit(v, columns-1) + "…"
}

// excerpt is like clip, for the text s of a frame of size bytes; complete reports whether the text
// has the end of the frame. If excerpt or its caller omits anything, it adds the size of the frame.
func excerpt(s string, size int64, complete bool, columns int) string {
	size = max(size, int64(len(s)))
	v := Visible(head(s, utf8.UTFMax*(columns+1)))
	if size == int64(len(s)) && len(fit(v, columns)) == len(v) {
		return v
	}
	if shortened := v + fmt.Sprintf(" (%d bytes)", size); complete && width(shortened) <= columns {
		return shortened
	}
	suffix := fmt.Sprintf("… (%d bytes)", size)
	return fit(v, columns-width(suffix)) + suffix
}

// wrap breaks Visible(s) between words into at most the given number of lines, none wider than
// columns. If the text does not fit, it cuts the text and adds an ellipsis.
func wrap(s string, columns, lines int) []string {
	rest := clip(s, columns*lines)
	var out []string
	for len(out) < lines-1 && width(rest) > columns {
		line := fit(rest, columns)
		if at := strings.LastIndexByte(line, ' '); at > 0 && rest[len(line)] != ' ' {
			line = line[:at]
		}
		rest = strings.TrimPrefix(rest[len(line):], " ")
		out = append(out, line)
	}
	return append(out, clip(rest, columns))
}

// fit returns the longest prefix of s that takes at most the given number of columns.
func fit(s string, columns int) string {
	for i, r := range s {
		if columns -= runeWidth(r); columns < 0 {
			return s[:i]
		}
	}
	return s
}

// fitEnd returns the longest suffix of s that takes at most the given number of columns.
func fitEnd(s string, columns int) string {
	for i := len(s); i > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		if columns -= runeWidth(r); columns < 0 {
			return s[i:]
		}
		i -= size
	}
	return s
}

func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth returns 2 for characters that terminals draw wide, and 1 for all
// others. That overestimates combining marks, so a line is never too long,
// however many marks a server adds to a letter.
func runeWidth(r rune) int {
	switch eastasian.LookupRune(r).Kind() {
	case eastasian.EastAsianWide, eastasian.EastAsianFullwidth:
		return 2
	}
	return 1
}

// countWithNoun returns "1 thing" or "2 things".
func countWithNoun(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
