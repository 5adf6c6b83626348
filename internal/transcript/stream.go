package transcript

import (
	"bytes"
	"iter"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// byteOrderMark may be at the beginning of an event stream.
const byteOrderMark = "\xef\xbb\xbf"

// Splitter splits an event stream into chunks. The byte order mark, if any, is a chunk; every other
// chunk ends with a blank line, except perhaps the last one, which End returns. Concatenated, the
// chunks are the stream.
type Splitter struct {
	rest    []byte // bytes not yet returned in a chunk
	seen    int    // offset in rest of the next byte to examine
	line    int    // offset in rest of the current line
	started bool   // whether the start was checked for a byte order mark
	crlf    bool   // a line ended with CR LF
}

// Feed adds the next bytes of the stream and returns the chunks that they complete.
func (s *Splitter) Feed(data []byte) [][]byte {
	s.rest = append(s.rest, data...)
	var out [][]byte
	if !s.started {
		if len(s.rest) < len(byteOrderMark) && bytes.HasPrefix([]byte(byteOrderMark), s.rest) {
			return nil
		}
		s.started = true
		if bytes.HasPrefix(s.rest, []byte(byteOrderMark)) {
			out = append(out, s.cutChunk(len(byteOrderMark)))
		}
	}
	for s.seen < len(s.rest) {
		end, ok := s.lineEnd()
		if !ok {
			break
		}
		if blank := s.seen == s.line; blank {
			out = append(out, s.cutChunk(end))
		} else {
			s.seen, s.line = end, end
		}
	}
	return out
}

// lineEnd returns the offset after the current line, and sets seen to the offset of its line
// ending. It returns false if the line is incomplete.
func (s *Splitter) lineEnd() (int, bool) {
	i := bytes.IndexAny(s.rest[s.seen:], "\r\n")
	if i < 0 {
		s.seen = len(s.rest)
		return 0, false
	}
	s.seen += i
	switch {
	case s.rest[s.seen] == '\n':
		return s.seen + 1, true
	case s.seen+1 < len(s.rest):
		if s.rest[s.seen+1] == '\n' {
			s.crlf = true
			return s.seen + 2, true
		}
		return s.seen + 1, true
	// A CR at the end of the buffer ends the event at once, because it may be the whole line
	// ending. But if earlier lines ended with CR LF, wait for the LF.
	case s.seen == s.line && !s.crlf:
		return s.seen + 1, true
	default:
		return 0, false
	}
}

// cutChunk removes the first bytes of rest, up to end, and returns them.
func (s *Splitter) cutChunk(end int) []byte {
	out := bytes.Clone(s.rest[:end])
	s.rest, s.seen, s.line = s.rest[end:], 0, 0
	if len(s.rest) == 0 {
		s.rest = nil
	}
	return out
}

// Pending returns the number of bytes of the incomplete chunk.
func (s *Splitter) Pending() int { return len(s.rest) }

// End returns the bytes that are left when the stream ends, or nil if there are none.
func (s *Splitter) End() []byte {
	if len(s.rest) == 0 {
		return nil
	}
	return s.cutChunk(len(s.rest))
}

// StreamEvent is the parsed content of a chunk of an event stream.
type StreamEvent struct {
	// Type is the value of the event field.
	Type string
	// Data holds the values of the data fields, joined by newlines.
	Data    []byte
	HasData bool
	// ID is the value of the id field, if it is valid.
	ID    string
	HasID bool
	// Retry is the value of the retry field, if it consists of digits.
	Retry string
	// Blank is the line ending of the final blank line, or "" if there is none.
	Blank string
	// ByteOrderMark is set if the chunk is a byte order mark.
	ByteOrderMark bool
}

// IsComplete reports whether a blank line ends the event. Clients ignore incomplete events.
func (ev *StreamEvent) IsComplete() bool { return ev.Blank != "" }

// StreamLine is one line of an event stream.
type StreamLine struct {
	Text []byte // without its end
	End  string // "\n", "\r\n", "\r", or "" at the end of the stream
	// Field and Value are the parsed line. A comment has an empty Field.
	Field string
	Value []byte
}

// IsComment reports whether the line begins with a colon.
func (l *StreamLine) IsComment() bool { return len(l.Text) > 0 && l.Text[0] == ':' }

// ParseStream parses one chunk of an event stream according to the HTML standard. It never fails.
// The result refers to the chunk.
func ParseStream(piece []byte) *StreamEvent {
	ev := &StreamEvent{}
	if string(piece) == byteOrderMark {
		ev.ByteOrderMark = true
		return ev
	}
	for l := range StreamLines(piece) {
		if len(l.Text) == 0 {
			ev.Blank = l.End
			break
		}
		ev.applyLine(&l)
	}
	return ev
}

// StreamLines iterates over the lines of a chunk, including the final blank line.
func StreamLines(piece []byte) iter.Seq[StreamLine] {
	return func(yield func(StreamLine) bool) {
		for len(piece) > 0 {
			var l StreamLine
			if l, piece = cutLine(piece); !yield(l) {
				return
			}
		}
	}
}

func cutLine(text []byte) (StreamLine, []byte) {
	i := bytes.IndexAny(text, "\r\n")
	if i < 0 {
		return StreamLine{Text: text}.parseFields(), nil
	}
	end := i + 1
	if text[i] == '\r' && end < len(text) && text[end] == '\n' {
		end++
	}
	return StreamLine{Text: text[:i:i], End: string(text[i:end])}.parseFields(), text[end:]
}

// parseFields parses Field and Value.
func (l StreamLine) parseFields() StreamLine {
	field, value, _ := bytes.Cut(l.Text, []byte(":"))
	l.Field, l.Value = fieldName(field), bytes.TrimPrefix(value, []byte(" "))
	return l
}

// fieldName returns name as a string, without allocating for standard fields.
func fieldName(name []byte) string {
	for _, known := range [...]string{"", "data", "id", "event", "retry"} {
		if string(name) == known {
			return known
		}
	}
	return string(name)
}

// applyLine processes one line according to the HTML standard.
func (ev *StreamEvent) applyLine(l *StreamLine) {
	switch l.Field {
	case "event":
		ev.Type = string(l.Value)
	case "data":
		if ev.HasData { // the first value has no spare capacity, so append copies it
			ev.Data = append(append(ev.Data, '\n'), l.Value...)
		} else {
			ev.Data, ev.HasData = l.Value, true
		}
	case "id":
		if bytes.IndexByte(l.Value, 0) < 0 {
			ev.ID, ev.HasID = string(l.Value), true
		}
	case "retry":
		if isDigits(l.Value) {
			ev.Retry = string(l.Value)
		}
	}
}

func isDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0
}

// carriesMessage reports whether clients treat the data as a message. It also returns true if the
// data is a JSON-RPC message in an event of another type or without a final blank line, so that the
// conversation can continue; the framing rules report the deviation.
func (ev *StreamEvent) carriesMessage() bool {
	if len(ev.Data) == 0 {
		return false
	}
	if ev.IsComplete() && (ev.Type == "" || ev.Type == "message") {
		return true
	}
	f := wire.Parse(ev.Data)
	for i := range f.Messages {
		if m := &f.Messages[i]; m.Has("jsonrpc") && m.Kind != wire.Invalid {
			return true
		}
	}
	return false
}

// StreamEvent parses the event's chunk of an event stream. It returns nil if the event has none.
func (e *Event) StreamEvent() *StreamEvent {
	if e.Stream == nil {
		return nil
	}
	return ParseStream(e.Stream)
}
