package rules

import (
	"strconv"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// maxExcerpt is how many bytes of the server's text a deviation quotes; the evidence has the rest.
const maxExcerpt = 160

// excerpt returns the beginning of b, cut at a whole character.
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

// at returns the positions of events, in the order given, without nil events and without
// consecutive duplicates.
func at(events ...*transcript.Event) []int { return transcript.Positions(events...) }
