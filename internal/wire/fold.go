package wire

import "strings"

// ContainsFold reports whether text contains one of the words, which are in lower-case ASCII. It
// ignores case as a regular expression with (?i) does, and is much faster.
func ContainsFold(text string, words ...string) bool {
	text = strings.Map(foldASCII, text)
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// foldASCII returns the lower-case ASCII letter that is equal to r when case is ignored, or r.
func foldASCII(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r == '\u017F': // long s
		return 's'
	case r == '\u212A': // the Kelvin sign
		return 'k'
	}
	return r
}
