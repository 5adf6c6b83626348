package redact

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A pattern is one spelling of a secret.
type pattern struct {
	text  string
	least int  // the length of the shortest part that counts as a match
	plain bool // the secret is a word or a number
	coded bool // the spelling is base64 or hexadecimal
}

// gram is the length, in bytes, of the keys of a finder's index.
const gram = 4

// A finder finds patterns in texts, and parts of patterns that are long enough, see pattern.least.
// It looks up each sequence of gram bytes of a text in an index, so that the cost for a text
// without secrets does not grow with the number of patterns.
type finder struct {
	patterns []pattern
	index    map[uint32][]place
	maybe    [1 << 16 / 64]uint64 // a bitmap of the hashes of the keys of index
	overlap  int                  // of two consecutive windows, in bytes
}

// A place is the position of gram bytes in a pattern: the index of the pattern, and the offset in
// its text.
type place struct{ pattern, at int }

func newFinder(patterns []pattern) *finder {
	f := &finder{patterns: patterns, index: map[uint32][]place{}}
	for n, p := range patterns {
		// Any part of p.text with at least p.least bytes contains the four bytes at one of
		// these offsets.
		for at := 0; at+gram <= len(p.text); at += p.least - gram + 1 {
			key := binary.LittleEndian.Uint32([]byte(p.text[at : at+gram]))
			f.index[key] = append(f.index[key], place{n, at})
			h := hash(key)
			f.maybe[h/64] |= 1 << (h % 64)
		}
		f.overlap = max(f.overlap, len(p.text))
	}
	f.overlap = min(window/2, f.overlap*longestEscape)
	return f
}

func hash(key uint32) uint32 { return key * 2654435761 >> 16 }

// longestEscape is the maximum length, in bytes, of the escape of one byte. Hardly any text has
// longer escapes.
const longestEscape = 12

// window is the number of bytes that are searched at a time: decoding escapes needs several
// times as much memory.
const window = 64 << 10

// mostLevels is the maximum number of nested levels of escapes that are decoded: JSON in a
// JSON string in HTML has three.
const mostLevels = 4

// findSpans returns the spans of the patterns in text, in order and without overlap.
func (f *finder) findSpans(text []byte) []Span {
	if len(f.patterns) == 0 {
		return nil
	}
	var out []Span
	for from := 0; ; from += window - f.overlap {
		to := min(from+window, len(text))
		out = f.findInWindow(out, text[from:to], from)
		if to == len(text) {
			break
		}
	}
	return mergeSpans(out)
}

// findInWindow appends the spans in one window of the text, which begins at base.
func (f *finder) findInWindow(out []Span, text []byte, base int) []Span {
	add := func(from, to int) {
		if from, to = withoutDelimiters(text, from, to); from < to {
			out = append(out, Span{base + from, base + to})
		}
	}
	f.search(text, func(from, to int) { add(alignToEscapes(text, from, to)) })
	var origin []int32 // maps each byte of level to its offset in text; nil at first
	level := text
	for range mostLevels {
		next, starts := unescape(level)
		if next == nil {
			break
		}
		if origin != nil {
			for i, at := range starts {
				starts[i] = origin[at]
			}
		}
		f.search(next, func(from, to int) {
			end := to
			for end < len(next) && starts[end] == starts[to-1] {
				end++
			}
			add(int(starts[from]), int(starts[end]))
		})
		level, origin = next, starts
	}
	return out
}

// search calls hit for each span of text that equals a whole pattern, or a part of one that has at
// least the pattern's minimum length (least). A part for which isCommon returns true counts only if
// the pattern is coded (base64 or hexadecimal). search may call hit several times with the same
// span.
func (f *finder) search(text []byte, hit func(from, to int)) {
	if len(text) < gram {
		return
	}
	key := binary.LittleEndian.Uint32(text) << 8
	for i := gram - 1; i < len(text); i++ {
		if i == gram-1 {
			key = binary.LittleEndian.Uint32(text)
		} else {
			key = key>>8 | uint32(text[i])<<24
		}
		if h := hash(key); f.maybe[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		for _, pl := range f.index[key] {
			p := &f.patterns[pl.pattern]
			from, at := i-gram+1, pl.at
			for from > 0 && at > 0 && text[from-1] == p.text[at-1] {
				from--
				at--
			}
			to, end := i+1, pl.at+gram
			for to < len(text) && end < len(p.text) && text[to] == p.text[end] {
				to++
				end++
			}
			if to-from >= p.least && (to-from == len(p.text) || p.coded || !isCommon(text[from:to])) {
				hit(from, to)
			}
		}
	}
}

// alignToEscapes widens or narrows a span so that neither end is inside an escape:
// replacing the span must not change the meaning of an adjacent backslash or
// ampersand. text is the original, with its escapes.
func alignToEscapes(text []byte, from, to int) (int, int) {
	if at, ok := escapeStart(text, from); ok {
		from = at
	}
	if at, ok := escapeStart(text, to); ok {
		to = max(from, at)
	}
	// A span may start inside an entity, such as the &quot; that begins a secret.
	for back := from - 1; back >= 0 && back >= from-8; back-- {
		if text[back] == '&' {
			if slices.Contains(text[from:min(to, from+8)], ';') {
				from = back
			}
			break
		}
		if !isEntityChar(text[back]) {
			break
		}
	}
	return from, to
}

// withoutDelimiters narrows a span so that it neither begins nor ends with an unescaped quote or an
// angle bracket, because such a character may delimit a string or an element instead of belonging
// to the secret.
func withoutDelimiters(text []byte, from, to int) (int, int) {
	bare := func(at int) bool {
		return text[at] == '<' || text[at] == '>' || text[at] == '"' && countBackslashes(text, at)%2 == 0
	}
	for from < to && bare(from) {
		from++
	}
	for from < to && bare(to-1) {
		to--
	}
	return from, to
}

func isEntityChar(c byte) bool {
	return c == '#' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// escapeStart reports whether a position is inside an escape that begins with a
// backslash, and returns the position of that backslash.
func escapeStart(text []byte, at int) (int, bool) {
	const longest = len(`\U00000000`)
	for back := at - 1; back >= 0 && back > at-longest; back-- {
		if text[back] != '\\' || countBackslashes(text, back)%2 == 1 {
			continue
		}
		_, n := appendBackslash(nil, text[back:])
		return back, back+max(n, 2) > at && at < len(text)
	}
	return 0, false
}

// countBackslashes returns how many consecutive backslashes precede a position.
func countBackslashes(text []byte, at int) int {
	n := 0
	for at-n > 0 && text[at-n-1] == '\\' {
		n++
	}
	return n
}

// isCommon reports whether a part of a secret may as well be ordinary words: it has at most 16
// bytes, only letters and separators, and no more than one capital letter unless all are capitals.
func isCommon(part []byte) bool {
	const mostCommon = 16
	if len(part) > mostCommon {
		return false
	}
	lower, upper := 0, 0
	for _, c := range part {
		switch {
		case 'a' <= c && c <= 'z':
			lower++
		case 'A' <= c && c <= 'Z':
			upper++
		case c != '-' && c != '_' && c != '.' && c != ' ' && c != '/' && c != ':':
			return false
		}
	}
	return lower == 0 || upper <= 1
}

// mergeSpans returns the spans in order, and joins those that touch or overlap.
func mergeSpans(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	var out []Span
	for _, s := range spans {
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}
