package transcript

import (
	"bytes"
	"iter"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// byteOrderMark may stand at the beginning of an event stream.
const byteOrderMark = "\xef\xbb\xbf"

// Splitter cuts the bytes of an event stream into pieces: the byte order mark,
// if there is one, and then the lines up to each blank line. Pieces that
// follow each other are the bytes of the stream.
type Splitter struct {
	rest  []byte // of which no piece was made yet
	seen  int    // rest was looked at up to here
	line  int    // where in rest the line begins
	begun bool   // it is known whether there is a byte order mark
	crlf  bool   // lines end with CR LF here
}

// Feed takes the next bytes of the stream and returns the pieces that they
// complete.
func (s *Splitter) Feed(data []byte) [][]byte {
	s.rest = append(s.rest, data...)
	var out [][]byte
	if !s.begun {
		if len(s.rest) < len(byteOrderMark) && bytes.HasPrefix([]byte(byteOrderMark), s.rest) {
			return nil
		}
		s.begun = true
		if bytes.HasPrefix(s.rest, []byte(byteOrderMark)) {
			out = append(out, s.piece(len(byteOrderMark)))
		}
	}
	for s.seen < len(s.rest) {
		end, ok := s.lineEnd()
		if !ok {
			break
		}
		if blank := s.seen == s.line; blank {
			out = append(out, s.piece(end))
		} else {
			s.seen, s.line = end, end
		}
	}
	return out
}

// lineEnd looks for the end of the line, and puts seen to where it begins; it
// returns where it ends.
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
	// A CR at the end of what is there ends an event now, for LF may never
	// follow; where lines end with both, it surely will.
	case s.seen == s.line && !s.crlf:
		return s.seen + 1, true
	default:
		return 0, false
	}
}

// piece cuts off the first bytes of rest.
func (s *Splitter) piece(end int) []byte {
	out := bytes.Clone(s.rest[:end])
	s.rest, s.seen, s.line = s.rest[end:], 0, 0
	if len(s.rest) == 0 {
		s.rest = nil
	}
	return out
}

// Pending returns how many bytes wait for the end of their piece.
func (s *Splitter) Pending() int { return len(s.rest) }

// End returns what is left when the stream ends, nil where nothing is.
func (s *Splitter) End() []byte {
	if len(s.rest) == 0 {
		return nil
	}
	return s.piece(len(s.rest))
}

// StreamEvent is what a piece of an event stream says; its lines are those of
// StreamLines.
type StreamEvent struct {
	// Type is that of the event field, "" where there is none.
	Type string
	// Data are the values of the data fields, joined by newlines.
	Data    []byte
	HasData bool
	// ID is the value of the id field, if it is a legal one.
	ID    string
	HasID bool
	// Retry is the value of the retry field, if it is made of digits.
	Retry string
	// Blank is the end of the blank line that ends it, "" where there is none.
	Blank string
	// ByteOrderMark: the piece is nothing else.
	ByteOrderMark bool
}

// Complete reports whether a blank line ends the event: others are not delivered.
func (ev *StreamEvent) Complete() bool { return ev.Blank != "" }

// StreamLine is one line of an event stream.
type StreamLine struct {
	Text []byte // without its end
	End  string // "\n", "\r\n", "\r", or "" where the stream ended before
	// Field and Value are what the line says. A comment has no field.
	Field string
	Value []byte
}

// Comment reports whether the line begins with a colon.
func (l *StreamLine) Comment() bool { return len(l.Text) > 0 && l.Text[0] == ':' }

// ParseStream reads one piece of an event stream as the standard orders. It
// never fails; its results refer to the piece.
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
		ev.take(&l)
	}
	return ev
}

// StreamLines returns the lines of a piece, the blank one at its end included.
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
		return StreamLine{Text: text}.read(), nil
	}
	end := i + 1
	if text[i] == '\r' && end < len(text) && text[end] == '\n' {
		end++
	}
	return StreamLine{Text: text[:i:i], End: string(text[i:end])}.read(), text[end:]
}

// read finds field and value.
func (l StreamLine) read() StreamLine {
	field, value, _ := bytes.Cut(l.Text, []byte(":"))
	l.Field, l.Value = fieldName(field), bytes.TrimPrefix(value, []byte(" "))
	return l
}

// fieldName returns the name, without a copy of those that are known.
func fieldName(name []byte) string {
	for _, known := range [...]string{"", "data", "id", "event", "retry"} {
		if string(name) == known {
			return known
		}
	}
	return string(name)
}

// take does what the standard says is to be done with a line.
func (ev *StreamEvent) take(l *StreamLine) {
	switch l.Field {
	case "event":
		ev.Type = string(l.Value)
	case "data":
		if ev.HasData { // the first value has no room behind it, so this copies
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

// carriesMessage reports whether a client takes the data for a message, or
// should, for it is one: under another type than message, or before a stream
// that ended without the blank line. So a conversation goes on, and the rules
// on framing say what was wrong.
func (ev *StreamEvent) carriesMessage() bool {
	if len(ev.Data) == 0 {
		return false
	}
	if ev.Complete() && (ev.Type == "" || ev.Type == "message") {
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

// StreamEvent returns what the event's piece of an event stream says, nil
// where it has none.
func (e *Event) StreamEvent() *StreamEvent {
	if e.Stream == nil {
		return nil
	}
	return ParseStream(e.Stream)
}
