package generate

import (
	"strings"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// words are strings that programs often mishandle, because of their characters,
// because of their meaning elsewhere, or because they are empty.
var words = []string{
	"", " ", "a", "A", "0", "1", "-1", "null", "true", "undefined", "NaN", "__proto__", "constructor", "toString", "length",
	"hello", "Hello, world", "%s%n", "%00", "../..", "/", "\\", "'", `"`, "`", "<b>", "&amp;", "{}", "[]", "${x}", "{{x}}",
	"\u0000", "a\u0000b", "\t", "\n", "\r\n", "\u007f", "\u0085", "\u00a0", "\u00ad", "\u200b", "\u200d", "\u202e", "\u2028", "\u2029", "\ufeff", "\ufffd", "\uffff",
	"é", "e\u0301", "ß", "İ", "ı", "ſ", "Ａ", "日本語", "مرحبا", "👍", "👩‍👩‍👧", "🇩🇪", "\U0001d11e", "\U0010ffff",
}

// lengths are lengths of short strings at the limits of common buffers.
var lengths = []int{15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025}

// longLengths are lengths of long strings at the limits of common buffers.
var longLengths = []int{4095, 4096, 4097, 8191, 8192, 8193, 16383, 16384, 65535, 65536, 65537, 131072}

var (
	someWords   = rapid.SampledFrom(words)
	someLengths = rapid.SampledFrom(lengths)
	someLong    = rapid.SampledFrom(longLengths)
	someRunes   = rapid.StringN(0, 12, 48)
	someNames   = rapid.StringMatching(`[a-z][a-z0-9_.-]{0,8}`)
	percent     = rapid.IntRange(0, 99)
)

// drawChance returns true with a probability of n percent.
func drawChance(t *rapid.T, n int) bool { return percent.Draw(t, "percent") < n }

// drawUnused draws a value that is not used, because rapid does not allow a
// generator that draws nothing.
func drawUnused(t *rapid.T) { percent.Draw(t, "nothing") }

// anyText draws valid UTF-8 from all of Unicode. Its strings are short, unusual, or about as long
// as common buffers.
var anyText = rapid.Custom(func(t *rapid.T) string {
	switch n := percent.Draw(t, "kind of text"); {
	case n < 40:
		return someWords.Draw(t, "word")
	case n < 65:
		return someNames.Draw(t, "name")
	case n < 90:
		return someRunes.Draw(t, "runes")
	case n < 99:
		return repeatTo(someWords.Draw(t, "word"), someLengths.Draw(t, "length"))
	default:
		return repeatTo(someWords.Draw(t, "word"), someLong.Draw(t, "length"))
	}
})

// repeatTo returns the first n characters of s repeated without end.
func repeatTo(s string, n int) string {
	if s == "" {
		s = "x"
	}
	count := utf8.RuneCountInString(s)
	whole := strings.Repeat(s, n/count+1)
	runes := 0
	for i := range whole {
		if runes == n {
			return whole[:i]
		}
		runes++
	}
	return whole
}
