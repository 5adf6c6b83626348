package schema

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxExcerpt is the maximum number of bytes of a value that a finding shows.
const maxExcerpt = 80

// excerpt returns the beginning of a value.
func excerpt(v []byte) string { return clip(v, maxExcerpt) }

// clip returns at most length bytes from the beginning of v. If v is longer, its size follows.
func clip(v []byte, length int) string {
	s := string(v[:min(len(v), length+utf8.UTFMax)])
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(v) <= length {
		return s
	}
	cut := min(length, len(s))
	for cut > 0 && cut < len(s) && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "… (" + strconv.Itoa(len(v)) + " bytes)"
}

// describeWords lists the permitted words, quoted, for a reader.
func describeWords(words []string) string {
	quoted := make([]string, 0, len(words))
	for _, w := range words {
		quoted = append(quoted, strconv.Quote(w))
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return "one of " + strings.Join(quoted, ", ")
}

// formatBound formats a bound without an exponent.
func formatBound(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
