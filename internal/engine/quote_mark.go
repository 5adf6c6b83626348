package engine

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// headerSpan returns the span, in the head of an HTTP request, of the header with the given name:
// from the start of its first line to the end of its last line. It returns nil if the header is
// missing.
func headerSpan(head, name string) *verdict.Span {
	if name == "" {
		return nil
	}
	var out *verdict.Span
	from := 0
	for line := range strings.Lines(head) {
		if got, _, is := strings.Cut(line, ":"); is && strings.EqualFold(got, name) {
			to := from + len(strings.TrimRight(line, "\r\n"))
			if out == nil {
				out = &verdict.Span{From: from}
			}
			out.To = to
		}
		from += len(line)
	}
	return out
}

// earlierSpan returns the span of the value to which the pointer points, in a message before the
// offending one. It returns nil if the message does not have the value within the first
// maxQuoted bytes.
func earlierSpan(e *transcript.Event, pointer string) *verdict.Span {
	if pointer == "" || e.Kind != transcript.Received && e.Kind != transcript.Sent || e.Frame == nil || e.Frame.Batch {
		return nil
	}
	if at := findValue(e.Raw, jsontext.Pointer(pointer)); at != nil && at.To <= maxQuoted {
		return at
	}
	return nil
}

// findOffense finds the offending bytes of a frame: the value to which the pointer of the deviation
// points, otherwise a string that Seen quotes and that occurs once, otherwise the first syntax
// error. It returns nil if the whole frame is offending.
func findOffense(e *transcript.Event, d *verdict.Deviation) *verdict.Span {
	if d.Pointer != "" && e.Frame != nil && !e.Frame.Batch {
		if at := locatePointer(e.Raw, d.Pointer); at != nil {
			return at
		}
	}
	if quotesBeginning(d.Seen, e.Raw) {
		return nil // the whole frame is offending
	}
	for _, text := range quotableStrings(d.Seen) {
		if from := bytes.Index(e.Raw, []byte(text)); from >= 0 && bytes.LastIndex(e.Raw, []byte(text)) == from {
			return &verdict.Span{From: from, To: from + len(text)}
		}
	}
	if e.Frame != nil && len(e.Frame.Problems) > 0 {
		if from := int(e.Frame.Problems[0].Offset); from >= 0 && from < len(e.Raw) {
			_, size := utf8.DecodeRune(e.Raw[from:])
			return &verdict.Span{From: from, To: from + size}
		}
	}
	return nil
}

// quotesBeginning reports whether Seen quotes the beginning of the frame, and so presumably the
// whole frame, perhaps shortened.
func quotesBeginning(seen string, raw []byte) bool {
	const enough = 24 // so many equal bytes show that seen quotes this frame and not a part of another
	return len(raw) > 0 && bytes.Contains([]byte(seen), raw[:min(len(raw), enough)])
}

// quotableStrings returns what Seen may quote from a frame, the longest first: all of Seen, and
// each JSON string in it.
func quotableStrings(seen string) []string {
	out := []string{seen}
	for rest := seen; ; {
		from := bytes.IndexByte([]byte(rest), '"')
		if from < 0 {
			break
		}
		to := from + 1
		for to < len(rest) && rest[to] != '"' {
			if rest[to] == '\\' {
				to++
			}
			to++
		}
		if to >= len(rest) {
			break
		}
		out = append(out, rest[from:to+1])
		rest = rest[to+1:]
	}
	out = slices.DeleteFunc(out, func(s string) bool { return len(s) < minMarkedText })
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return out
}

// minMarkedText is the minimum length of a string that is searched for. Shorter ones, such as a
// digit or "", occur everywhere.
const minMarkedText = 3
