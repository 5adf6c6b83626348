package rules

import (
	"strconv"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// maxExcerpt is the maximum number of bytes of the server's output that a deviation quotes. The
// evidence has the rest.
const maxExcerpt = 160

// excerpt returns b, or its beginning if b is longer than maxExcerpt. It does not cut a character
// in two.
func excerpt[T ~string | ~[]byte](b T) string {
	if len(b) <= maxExcerpt {
		return string(b)
	}
	cut := maxExcerpt
	for cut > maxExcerpt-utf8.UTFMax && !utf8.RuneStart(b[cut]) {
		cut--
	}
	return string(b[:cut]) + "… (" + strconv.Itoa(len(b)) + " bytes)"
}

// positionsOf returns the positions of events, in the order given, without nil events and without
// consecutive duplicates.
func positionsOf(events ...*transcript.Event) []int { return transcript.Positions(events...) }
