package transcript

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

// httpMark matches a line of an HTTP exchange: its number, a mark and the rest.
var httpMark = lazyregexp.New(`^([1-9][0-9]{0,8})(>>\||>>|>|<<\||<<|<~|<|!)(.*)$`)

// httpMarks maps each mark to an event of its kind.
var httpMarks = map[string]Event{
	">":   {Kind: Requested},
	">>":  {Kind: Sent},
	">>|": {Kind: Sent, Unterminated: true},
	"<":   {Kind: Responded},
	"<<":  {Kind: Received},
	"<<|": {Kind: Received, Unterminated: true},
	"<~":  {Kind: Streamed},
}

// unfinished is an event of an exchange whose text may continue on the next line.
type unfinished struct {
	Event
	text   string
	quoted bool
}

// parseHTTPLine parses a line of an exchange. It returns false if the line is something else.
func (s *script) parseHTTPLine(line string) (bool, error) {
	if line[0] == ' ' || line[0] == '\t' {
		if s.open == nil || s.open.quoted {
			return true, errors.New("a line that begins with a space continues a head, a body or a stream event on the line above, but there is none")
		}
		s.open.text += "\n" + strings.TrimLeft(line, " \t")
		return true, nil
	}
	s.finishOpen()
	m := httpMark.FindStringSubmatch(line)
	if m == nil {
		return false, nil
	}
	number, err := strconv.Atoi(m[1])
	if err != nil {
		return true, fmt.Errorf("%s is not the number of an exchange: %w", m[1], err)
	}
	if m[2] == "!" {
		return true, s.parseOver(number, strings.TrimSpace(m[3]))
	}
	text, err := frameText(m[3])
	if err != nil {
		return true, err
	}
	s.open = &unfinished{Event: httpMarks[m[2]], text: text, quoted: strings.HasPrefix(m[3], "q ")}
	s.open.Exchange = number
	return true, nil
}

// parseOver parses the end of an exchange.
func (s *script) parseOver(number int, arg string) error {
	how, detail, _ := strings.Cut(arg, " ")
	if !slices.Contains(endings, How(how)) {
		return fmt.Errorf("an exchange cannot end %q; use one of %v", clip(how), endings)
	}
	detail, err := argument(detail)
	if err == nil {
		s.addNow(Event{Kind: Over, Exchange: number, How: How(how), Detail: detail})
	}
	return err
}

// finishOpen adds the open event after its last line.
func (s *script) finishOpen() {
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
	s.addNow(e)
}

// unfold returns the chunk of a stream that lines of a script represent.
func unfold(text string) []byte {
	if text != "" {
		text += "\n"
	}
	return []byte(text + "\n")
}

// fold is the inverse of unfold. It returns false if the chunk has another form.
func fold(piece []byte) (string, bool) {
	text := strings.TrimSuffix(strings.TrimSuffix(string(piece), "\n"), "\n")
	return text, string(unfold(text)) == string(piece)
}

// writeExchange writes an event of an exchange. It returns false if e is not one.
func (f *scriptWriter) writeExchange(e *Event) bool {
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
	f.writeText(number+mark, text, whole && isFoldable(text))
	return true
}

// hasExchangeNumber reports whether events of this kind are written with the number of their exchange.
func hasExchangeNumber(k Kind) bool {
	return slices.Contains(httpKinds, k) || k == Sent || k == Received
}

// writeText writes text after its mark, plain or quoted.
func (f *scriptWriter) writeText(mark, text string, plain bool) {
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

// isFoldable reports whether text can be written as several lines of a script.
func isFoldable(text string) bool {
	for i, line := range strings.Split(text, "\n") {
		if !isPlain(line) || i > 0 && (line == "" || line[0] == ' ') {
			return false
		}
	}
	return true
}
