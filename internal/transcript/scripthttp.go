package transcript

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// httpMark is the beginning of a line of an exchange: its number, and what
// happens in it.
var httpMark = regexp.MustCompile(`^([1-9][0-9]{0,8})(>>\||>>|>|<<\||<<|<~|<|!)(.*)$`)

// httpMarks say what the marks stand for.
var httpMarks = map[string]Event{
	">":   {Kind: Requested},
	">>":  {Kind: Sent},
	">>|": {Kind: Sent, Unterminated: true},
	"<":   {Kind: Responded},
	"<<":  {Kind: Received},
	"<<|": {Kind: Received, Unterminated: true},
	"<~":  {Kind: Streamed},
}

// unfinished is an event of an exchange whose text may go on in the next line.
type unfinished struct {
	Event
	text   string
	quoted bool
}

// http reads a line of an exchange; it reports false for another one.
func (s *script) http(line string) (bool, error) {
	if line[0] == ' ' || line[0] == '\t' {
		if s.open == nil || s.open.quoted {
			return true, errors.New("a line that begins with a space goes on with a head, a body or an event of a stream above it, and there is none")
		}
		s.open.text += "\n" + strings.TrimLeft(line, " \t")
		return true, nil
	}
	s.finish()
	m := httpMark.FindStringSubmatch(line)
	if m == nil {
		return false, nil
	}
	number, err := strconv.Atoi(m[1])
	if err != nil {
		return true, fmt.Errorf("%s is no number of an exchange: %w", m[1], err)
	}
	if m[2] == "!" {
		return true, s.over(number, strings.TrimSpace(m[3]))
	}
	text, err := frameText(m[3])
	if err != nil {
		return true, err
	}
	s.open = &unfinished{Event: httpMarks[m[2]], text: text, quoted: strings.HasPrefix(m[3], "q ")}
	s.open.Exchange = number
	return true, nil
}

// over reads how an exchange ended.
func (s *script) over(number int, arg string) error {
	how, detail, _ := strings.Cut(arg, " ")
	if !slices.Contains(hows, How(how)) {
		return fmt.Errorf("%q is no way in which an exchange ends; known are %v", clip(how), hows)
	}
	detail, err := argument(detail)
	if err == nil {
		s.happens(Event{Kind: Over, Exchange: number, How: How(how), Detail: detail})
	}
	return err
}

// finish adds the event whose lines are all read.
func (s *script) finish() {
	if s.open == nil {
		return
	}
	e := s.open.Event
	switch text := s.open.text; {
	case e.Kind != Streamed:
		e.Raw = []byte(text)
	case s.open.quoted:
		e.Stream = []byte(text)
	default:
		e.Stream = unfold(text)
	}
	s.open = nil
	s.happens(e)
}

// unfold returns the piece of a stream that the lines of a script stand for.
func unfold(text string) []byte {
	if text != "" {
		text += "\n"
	}
	return []byte(text + "\n")
}

// fold is the reverse; it reports false for a piece that is not of this form.
func fold(piece []byte) (string, bool) {
	text := strings.TrimSuffix(strings.TrimSuffix(string(piece), "\n"), "\n")
	return text, string(unfold(text)) == string(piece)
}

// exchange writes an event of an exchange; it reports false for another one.
func (f *scriptWriter) exchange(e *Event) bool {
	if e.Exchange == 0 {
		return false
	}
	number := strconv.Itoa(e.Exchange)
	text, whole := string(e.Raw), true
	var mark string
	switch e.Kind {
	case Requested:
		mark = ">"
	case Responded:
		mark = "<"
	case Sent:
		mark = ">>"
	case Received, Streamed:
		mark = "<<"
		if e.Stream != nil {
			mark = "<~"
			if text, whole = fold(e.Stream); !whole {
				text = string(e.Stream)
			}
		}
	case Over:
		line := number + "! " + string(e.How)
		if e.Detail != "" {
			line += " " + quoteArgument(e.Detail)
		}
		f.b.WriteString(line + "\n")
		return true
	default:
		return false
	}
	if e.Unterminated && (mark == ">>" || mark == "<<") {
		mark += "|"
	}
	f.text(number+mark, text, whole && foldable(text))
	return true
}

// ofExchange reports whether an event of the kind is written with its number.
func ofExchange(k Kind) bool { return slices.Contains(ofHTTP, k) || k == Sent || k == Received }

// text writes a text behind its mark, as it is or quoted.
func (f *scriptWriter) text(mark, text string, plain bool) {
	switch {
	case !plain:
		f.b.WriteString(mark + "q " + quote(text) + "\n")
	case text == "":
		f.b.WriteString(mark + "\n")
	default:
		indent := strings.Repeat(" ", len(mark)+1)
		f.b.WriteString(mark + " " + strings.ReplaceAll(text, "\n", "\n"+indent) + "\n")
	}
}

// foldable reports whether the lines of text can stand as lines of a script.
func foldable(text string) bool {
	for i, line := range strings.Split(text, "\n") {
		if !legible(line) || i > 0 && (line == "" || line[0] == ' ') {
			return false
		}
	}
	return true
}
