package redact

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// pattern is one spelling of a secret.
type pattern struct {
	text  string
	least int  // the length of the shortest part that is looked for
	plain bool // it is a word or a number
	coded bool // it is in base64 or hexadecimal
}

// gram is how many bytes the index of a finder knows at a time.
const gram = 4

// finder finds patterns, and long parts of them, in texts. It looks up each
// four bytes of a text in an index, so that a text without secrets costs little
// whatever the number of patterns.
type finder struct {
	patterns []pattern
	index    map[uint32][]place
	maybe    [1 << 16 / 64]uint64 // which hashes of four bytes are in the index
	overlap  int                  // of two windows
}

// place is where four bytes are in a pattern.
type place struct{ pattern, at int }

func newFinder(patterns []pattern) *finder {
	f := &finder{patterns: patterns, index: map[uint32][]place{}}
	for n, p := range patterns {
		// Any part of the least length holds the four bytes at one of these.
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

// longestEscape is how many bytes may stand for one in most texts.
const longestEscape = 12

// window is how much of a text is searched at a time: undoing escapes needs
// several times as much memory.
const window = 64 << 10

// mostLevels bounds how many escapes within each other are undone: JSON within
// a JSON string within HTML has three.
const mostLevels = 4

// spans returns where the patterns are, in order and apart from each other.
func (f *finder) spans(text []byte) []Span {
	if len(f.patterns) == 0 {
		return nil
	}
	var out []Span
	for from := 0; ; from += window - f.overlap {
		to := min(from+window, len(text))
		out = f.within(out, text[from:to], from)
		if to == len(text) {
			break
		}
	}
	return merged(out)
}

// within adds the spans in a window of the text, which begins at base.
func (f *finder) within(out []Span, text []byte, base int) []Span {
	add := func(from, to int) {
		if from, to = unmarked(text, from, to); from < to {
			out = append(out, Span{base + from, base + to})
		}
	}
	f.search(text, func(from, to int) { add(clear(text, from, to)) })
	var origin []int32 // of each byte of level in text; nil where they are the same
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

// search calls hit for each place at which enough of a pattern is in text.
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
			if to-from >= p.least && (to-from == len(p.text) || p.coded || !common(text[from:to])) {
				hit(from, to)
			}
		}
	}
}

// clear widens or narrows a span of a text whose escapes were not undone, so
// that it ends within none: replacing it must not change what a backslash or an
// ampersand beside it means.
func clear(text []byte, from, to int) (int, int) {
	if at, ok := inEscape(text, from); ok {
		from = at
	}
	if at, ok := inEscape(text, to); ok {
		to = max(from, at)
	}
	// Within an entity, such as the end of &quot; of a secret that begins so.
	for back := from - 1; back >= 0 && back >= from-8; back-- {
		if text[back] == '&' {
			if slices.Contains(text[from:min(to, from+8)], ';') {
				from = back
			}
			break
		}
		if !inEntity(text[back]) {
			break
		}
	}
	return from, to
}

// unmarked narrows a span so that it neither begins nor ends with a bare quote
// or angle bracket: of a JSON, HTML or XML document these may be the marks
// around a text that holds all the rest of a secret.
func unmarked(text []byte, from, to int) (int, int) {
	bare := func(at int) bool {
		return text[at] == '<' || text[at] == '>' || text[at] == '"' && slashes(text, at)%2 == 0
	}
	for from < to && bare(from) {
		from++
	}
	for from < to && bare(to-1) {
		to--
	}
	return from, to
}

func inEntity(c byte) bool {
	return c == '#' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// inEscape reports whether a position is within an escape that begins with a
// backslash, and where that begins.
func inEscape(text []byte, at int) (int, bool) {
	const longest = len(`\U00000000`)
	for back := at - 1; back >= 0 && back > at-longest; back-- {
		if text[back] != '\\' || slashes(text, back)%2 == 1 {
			continue
		}
		_, n := backslash(nil, text[back:])
		return back, back+max(n, 2) > at && at < len(text)
	}
	return 0, false
}

// slashes returns how many backslashes are before a position.
func slashes(text []byte, at int) int {
	n := 0
	for at-n > 0 && text[at-n-1] == '\\' {
		n++
	}
	return n
}

// common reports whether a part of a secret is made of short words, as many
// texts are.
func common(part []byte) bool {
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

// merged returns the spans in order, those that touch or overlap as one.
func merged(spans []Span) []Span {
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
