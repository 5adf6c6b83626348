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

// unfinishedEvent is an event of an exchange whose text may continue on the next line.
type unfinishedEvent struct {
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
	s.finishOpenEvent()
	m := httpMark.FindStringSubmatch(line)
	if m == nil {
		return false, nil
	}
	number, err := strconv.Atoi(m[1])
	if err != nil {
		return true, fmt.Errorf("%s is not the number of an exchange: %w", m[1], err)
	}
	if m[2] == "!" {
		return true, s.parseExchangeEnd(number, strings.TrimSpace(m[3]))
	}
	text, err := parseFrameText(m[3])
	if err != nil {
		return true, err
	}
	s.open = &unfinishedEvent{Event: httpMarks[m[2]], text: text, quoted: strings.HasPrefix(m[3], "q ")}
	s.open.Exchange = number
	return true, nil
}

// parseExchangeEnd parses the end of an exchange.
func (s *script) parseExchangeEnd(number int, arg string) error {
	how, detail, _ := strings.Cut(arg, " ")
	if !slices.Contains(endings, How(how)) {
		return fmt.Errorf("an exchange cannot end %q; use one of %v", clip(how), endings)
	}
	detail, err := parseArgument(detail)
	if err == nil {
		s.addNow(Event{Kind: Over, Exchange: number, How: How(how), Detail: detail})
	}
	return err
}

// finishOpenEvent adds the event that is still open, after its last line. It does nothing if there
// is none.
func (s *script) finishOpenEvent() {
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

// unfold returns the chunk of an event stream that the lines of an event in a script represent.
func unfold(text string) []byte {
	if text != "" {
		text += "\n"
	}
	return []byte(text + "\n")
}
