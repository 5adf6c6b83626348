package engine

import (
	"bytes"
	"fmt"
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
// offending one. It returns nil if the message does not have the value within the first maxQuoted
// bytes.
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
// points, otherwise all of Seen, if the judge quotes a part of a message of the server that occurs
// once, otherwise the byte whose offset Seen names. It returns nil if the judge names no part,
// because any other part would be a guess.
func findOffense(e *transcript.Event, d *verdict.Deviation) *verdict.Span {
	if d.Pointer != "" && e.Frame != nil && !e.Frame.Batch {
		if at := locatePointer(e.Raw, d.Pointer); at != nil {
			return at
		}
	}
	if e.Kind != transcript.Received {
		return nil
	}
	if at := quotedSpan(e.Raw, d.Seen); at != nil {
		return at
	}
	if e.Frame == nil {
		return nil
	}
	for _, p := range e.Frame.Problems {
		if from := int(p.Offset); from >= 0 && from < len(e.Raw) && namesByte(d.Seen, from) {
			_, size := utf8.DecodeRune(e.Raw[from:])
			return &verdict.Span{From: from, To: from + size}
		}
	}
	return nil
}

// quotedSpan returns the span of seen in a frame. It returns nil unless seen occurs exactly once and
// is a part of the frame, not all of it.
func quotedSpan(raw []byte, seen string) *verdict.Span {
	if len(seen) < minMarkedText || len(seen) >= len(bytes.TrimSpace(raw)) {
		return nil
	}
	from := bytes.Index(raw, []byte(seen))
	if from < 0 || bytes.LastIndex(raw, []byte(seen)) != from {
		return nil
	}
	return &verdict.Span{From: from, To: from + len(seen)}
}

// namesByte reports whether seen contains a phrase such as "at byte 7" with the given offset.
func namesByte(seen string, offset int) bool {
	_, after, found := strings.Cut(seen, fmt.Sprintf("at byte %d", offset))
	return found && (after == "" || after[0] < '0' || after[0] > '9')
}

// minMarkedText is the minimum length of a string that is searched for. Shorter ones, such as a
// digit or "", occur everywhere.
const minMarkedText = 3
