package wire

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ContainsFold reports whether text contains one of the words. It ignores case as a regular
// expression with (?i) does, and is much faster.
func ContainsFold(text string, words ...string) bool {
	text = strings.Map(foldRune, text)
	for _, word := range words {
		if strings.Contains(text, strings.Map(foldRune, word)) {
			return true
		}
	}
	return false
}

// foldRune returns the smallest rune that is equal to r when case is ignored.
func foldRune(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return r - 'a' + 'A'
	case r < utf8.RuneSelf:
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
