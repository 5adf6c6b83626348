package transcript

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseScript reads a conversation in the form that people write, which
// docs/transcripts.md describes. The error names the line, from 1.
func ParseScript(text string) (*Recording, error) {
	s := &script{Recording: Recording{Untimed: true}}
	for i, line := range strings.Split(text, "\n") {
		if err := s.line(strings.TrimSuffix(line, "\r")); err != nil {
			return nil, fmt.Errorf("%d: %w", i+1, err)
		}
	}
	s.finish()
	s.opened()
	return &s.Recording, nil
}

// script is a script that is being read.
type script struct {
	Recording
	now  time.Duration
	open *unfinished
}

// scriptMarks are the beginnings of a frame's line, longest first.
var scriptMarks = []struct {
	mark string
	Event
}{
	{">|", Event{Kind: Sent, Unterminated: true}},
	{"<|", Event{Kind: Received, Unterminated: true}},
	{">", Event{Kind: Sent}},
	{"<", Event{Kind: Received}},
}

const scriptHelp = `a line begins with > (client), < (server), their like behind the number of an HTTP exchange (1> 1>> 1< 1<< 1<~ 1!), ! (anything else) or # (comment); before the first of them stand revision:, transport:, tool:, case: and expect:`

func (s *script) line(line string) error {
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
		s.finish()
		return nil
	}
	if done, err := s.http(line); done || err != nil {
		return err
	}
	for _, m := range scriptMarks {
		rest, ok := strings.CutPrefix(line, m.mark)
		if !ok {
			continue
		}
		text, err := frameText(rest)
		if err != nil {
			return err
		}
		e := m.Event
		e.Raw = []byte(text)
		s.happens(e)
		return nil
	}
	if rest, ok := strings.CutPrefix(line, "! "); ok {
		what, arg, _ := strings.Cut(rest, " ")
		if Kind(what) != GaveUp { // its id keeps its quotes
			var err error
			if arg, err = argument(arg); err != nil {
				return err
			}
		}
		return s.other(what, arg)
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return errors.New(`"` + clip(line) + `" is no line of a script: ` + scriptHelp)
	}
	if len(s.Events) > 0 {
		return errors.New(name + ": stands behind the first event; put it at the top")
	}
	return s.head(name, strings.TrimSpace(value))
}

// frameText reads what stands behind the mark of a frame: a space and the
// bytes as they are, or q, a space and a quoted text.
func frameText(rest string) (string, error) {
	if quoted, ok := strings.CutPrefix(rest, "q "); ok {
		return unquote(quoted)
	}
	if rest != "" && rest[0] != ' ' {
		return "", errors.New("a space must follow the mark at the beginning of the line")
	}
	return strings.TrimPrefix(rest, " "), nil
}

// argument reads what stands behind the word of another event; it is quoted
// where it begins with a quote.
func argument(text string) (string, error) {
	if strings.HasPrefix(text, `"`) {
		return unquote(text)
	}
	return text, nil
}

func unquote(text string) (string, error) {
	s, err := strconv.Unquote(text)
	if err != nil {
		return "", errors.New(clip(text) + ` is no quoted text; it is written as in Go: "a\tb\xff"`)
	}
	return s, nil
}

func (s *script) head(name, value string) error {
	switch name {
	case "revision":
		s.Revision = value
	case "transport":
		s.Transport = value
	case "tool":
		s.Tool = value
	case "case":
		s.Case = value
	case "expect":
		e := Expectation{}
		rest, summary, quoted := strings.Cut(value, ` "`)
		words := strings.Fields(rest)
		if len(words) != 2 {
			return errors.New(`expect: takes a requirement, what it is called and a summary: expect: base.response-once broken "Answered twice."`)
		}
		e.Requirement, e.Outcome = words[0], words[1]
		if quoted {
			var err error
			if e.Summary, err = unquote(`"` + summary); err != nil {
				return err
			}
		}
		s.Expect = append(s.Expect, e)
	default:
		return errors.New(`"` + clip(name) + `:" is not known: ` + scriptHelp)
	}
	return nil
}

// opened sees to it that the connection is opened first.
func (s *script) opened() {
	if len(s.Events) == 0 {
		s.add(Event{Kind: Opened})
	}
}

func (s *script) happens(e Event) {
	s.opened()
	e.At = s.now
	s.add(e)
}

// other reads an event that is no frame, or says more of the one before.
func (s *script) other(what, arg string) error {
	switch Kind(what) {
	case Opened:
		if len(s.Events) > 0 {
			return errors.New("opened must be the first event")
		}
		s.add(Event{Kind: Opened, At: s.now, Detail: arg})
		return nil
	case Stderr, Flooded:
		s.happens(Event{Kind: Kind(what), Raw: []byte(arg)})
		return nil
	case OutputClosed, Remark, CaseBegan:
		s.happens(Event{Kind: Kind(what), Detail: arg})
		return nil
	case GaveUp:
		s.opened()
		of, err := s.request(arg)
		if err == nil {
			s.happens(Event{Kind: GaveUp, Of: of})
		}
		return err
	}
	switch what {
	case "at":
		now, err := time.ParseDuration(arg)
		if err != nil || now < s.now {
			return errors.New("at takes the time since the beginning, as 1.5s, and never goes back")
		}
		s.now, s.Untimed = now, false
	case "close-input":
		s.happens(Event{Kind: InputClosed})
	case "signal":
		s.happens(Event{Kind: Signalled, Detail: arg})
	case "exit":
		if !s.has(OutputClosed) {
			s.happens(Event{Kind: OutputClosed})
		}
		return s.exited(arg)
	case "exited":
		return s.exited(arg)
	case "detail", "size", "exchange":
		return s.more(what, arg)
	default:
		return errors.New(`"! ` + clip(what) + `" is not known; known are exit CODE, close-input, signal NAME, gave-up ID, at TIME, stderr TEXT, ` +
			`flooded TEXT, output-closed, exited CODE, opened, remark TEXT, case ID, detail TEXT, size BYTES, exchange NUMBER`)
	}
	return nil
}

func (s *script) has(kind Kind) bool {
	for _, e := range s.Events {
		if e.Kind == kind {
			return true
		}
	}
	return false
}

// exitDetail is what the end of a process is called where nothing else is said.
func exitDetail(code int) string { return "exit status " + strconv.Itoa(code) }

func (s *script) exited(arg string) error {
	code, err := strconv.Atoi(arg)
	if err != nil {
		return errors.New("exit takes the exit code, as in ! exit 1")
	}
	s.happens(Event{Kind: Exited, ExitCode: code, Detail: exitDetail(code)})
	return nil
}

// more says more of the event before.
func (s *script) more(what, arg string) error {
	if len(s.Events) == 0 {
		return errors.New(what + " belongs to the event before it, and there is none")
	}
	e := s.Events[len(s.Events)-1]
	if what == "detail" {
		e.Detail = arg
		return nil
	}
	size, err := strconv.ParseInt(arg, 10, 64)
	if what == "exchange" {
		if err != nil || size < 1 {
			return errors.New("exchange takes the number of an exchange, from 1")
		}
		e.Exchange = int(size)
		return nil
	}
	if err != nil || size < int64(len(e.Raw)) {
		return fmt.Errorf("size takes the number of bytes that the whole frame had, at least %d", len(e.Raw))
	}
	e.Size = size
	return nil
}

// request returns the position of the newest request with this id, or the one
// that @POSITION names.
func (s *script) request(arg string) (int, error) {
	if text, ok := strings.CutPrefix(arg, "@"); ok {
		if of, err := strconv.Atoi(text); err == nil && of >= 0 && of < len(s.Events) {
			return of, nil
		}
	}
	if of := newest(s.Events, arg); of >= 0 {
		return of, nil
	}
	return 0, errors.New("gave-up: no request with the id " + clip(arg) + " was sent before")
}

// newest returns the position of the newest frame with a message of this id,
// or -1.
func newest(events []*Event, id string) int {
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Kind != Sent || id == "" {
			continue
		}
		for _, m := range events[i].Messages() {
			if m.ID.Raw() == id {
				return i
			}
		}
	}
	return -1
}

// clip shortens what is quoted in an error.
func clip(text string) string {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
