package transcript

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseScript parses a conversation in the script format of docs/transcripts.md. Errors begin with
// the line number.
func ParseScript(text string) (*Recording, error) {
	s := &script{Recording: Recording{Untimed: true}}
	for i, line := range strings.Split(text, "\n") {
		if err := s.parseLine(strings.TrimSuffix(line, "\r")); err != nil {
			return nil, fmt.Errorf("%d: %w", i+1, err)
		}
	}
	s.finishOpenEvent()
	s.ensureOpened()
	return &s.Recording, nil
}

// script is the state of ParseScript.
type script struct {
	Recording
	now  time.Duration
	open *unfinishedEvent
}

// scriptMarks are the prefixes of lines with a frame, longest first.
var scriptMarks = []struct {
	mark string
	Event
}{
	{">|", Event{Kind: Sent, Unterminated: true}},
	{"<|", Event{Kind: Received, Unterminated: true}},
	{">", Event{Kind: Sent}},
	{"<", Event{Kind: Received}},
}

const scriptHelp = `a line begins with > (client), < (server), the same after the number of an HTTP exchange (1> 1>> 1< 1<< 1<~ 1!), ! (anything else) or # (comment); revision:, transport:, tool:, case: and expect: come before the first of them`

func (s *script) parseLine(line string) error {
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
		s.finishOpenEvent()
		return nil
	}
	if done, err := s.parseHTTPLine(line); done || err != nil {
		return err
	}
	for _, m := range scriptMarks {
		rest, ok := strings.CutPrefix(line, m.mark)
		if !ok {
			continue
		}
		text, err := parseFrameText(rest)
		if err != nil {
			return err
		}
		e := m.Event
		e.Raw = []byte(text)
		s.addNow(e)
		return nil
	}
	if rest, ok := strings.CutPrefix(line, "! "); ok {
		what, arg, _ := strings.Cut(rest, " ")
		if Kind(what) != GaveUp { // the argument of gave-up is an id in JSON, so its quotes are part of it
			var err error
			if arg, err = parseArgument(arg); err != nil {
				return err
			}
		}
		return s.parseOtherEvent(what, arg)
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return errors.New(`"` + clip(line) + `" is not a line of a script: ` + scriptHelp)
	}
	if len(s.Events) > 0 {
		return errors.New(name + ": must come before the first event; move it to the top")
	}
	return s.parseField(name, strings.TrimSpace(value))
}

// parseFrameText returns the frame after a mark: a space and the bytes as they are, or "q", a space
// and a quoted string.
func parseFrameText(rest string) (string, error) {
	if quoted, ok := strings.CutPrefix(rest, "q "); ok {
		return unquote(quoted)
	}
	if rest != "" && rest[0] != ' ' {
		return "", errors.New("a space must follow the mark at the beginning of the line")
	}
	return strings.TrimPrefix(rest, " "), nil
}

// parseArgument returns the argument of a line that begins with "! ", unquoted if it begins with a
// quote.
func parseArgument(text string) (string, error) {
	if strings.HasPrefix(text, `"`) {
		return unquote(text)
	}
	return text, nil
}

func unquote(text string) (string, error) {
	s, err := strconv.Unquote(text)
	if err != nil {
		return "", errors.New(clip(text) + ` is not a quoted string; quote it as in Go: "a\tb\xff"`)
	}
	return s, nil
}

func (s *script) parseField(name, value string) error {
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
			return errors.New(`expect: needs a requirement, an outcome and a summary, such as expect: base.response-once broken "Answered twice."`)
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
		return errors.New(`"` + clip(name) + `:" is not a known field: ` + scriptHelp)
	}
	return nil
}

// ensureOpened adds an Opened event if there is no event yet.
func (s *script) ensureOpened() {
	if len(s.Events) == 0 {
		s.add(Event{Kind: Opened})
	}
}

func (s *script) addNow(e Event) {
	s.ensureOpened()
	e.At = s.now
	s.add(e)
}

// parseOtherEvent parses a line that begins with "! ": an event that is not a frame, or a property
// of the event before it.
func (s *script) parseOtherEvent(what, arg string) error {
	switch Kind(what) {
	case Opened:
		if len(s.Events) > 0 {
			return errors.New("opened must be the first event")
		}
		s.add(Event{Kind: Opened, At: s.now, Detail: arg})
		return nil
	case Stderr, Flooded:
		s.addNow(Event{Kind: Kind(what), Raw: []byte(arg)})
		return nil
	case OutputClosed, Remark, CaseBegan:
		s.addNow(Event{Kind: Kind(what), Detail: arg})
		return nil
	case GaveUp:
		s.ensureOpened()
		of, err := s.requestPosition(arg)
		if err == nil {
			s.addNow(Event{Kind: GaveUp, Of: of})
		}
		return err
	}
	switch what {
	case "at":
		now, err := time.ParseDuration(arg)
		if err != nil || now < s.now {
			return errors.New("at needs the time since the beginning, such as 1.5s, not before the last one")
		}
		s.now, s.Untimed = now, false
	case "close-input":
		s.addNow(Event{Kind: InputClosed})
	case "signal":
		s.addNow(Event{Kind: Signalled, Detail: arg})
	case "exit":
		if !s.hasKind(OutputClosed) {
			s.addNow(Event{Kind: OutputClosed})
		}
		return s.addExited(arg)
	case "exited":
		return s.addExited(arg)
	case "detail", "size", "exchange":
		return s.parseDetail(what, arg)
	default:
		return errors.New(`"! ` + clip(what) + `" is not a known event; use exit CODE, close-input, signal NAME, gave-up ID, at TIME, stderr TEXT, ` +
			`flooded TEXT, output-closed, exited CODE, opened, remark TEXT, case ID, detail TEXT, size BYTES, exchange NUMBER`)
	}
	return nil
}

func (s *script) hasKind(kind Kind) bool {
	for _, e := range s.Events {
		if e.Kind == kind {
			return true
		}
	}
	return false
}

// exitDetail returns the default Detail of an Exited event.
func exitDetail(code int) string { return "exit status " + strconv.Itoa(code) }

func (s *script) addExited(arg string) error {
	code, err := strconv.Atoi(arg)
	if err != nil {
		return errors.New("exit needs an exit code, as in ! exit 1")
	}
	s.addNow(Event{Kind: Exited, ExitCode: code, Detail: exitDetail(code)})
	return nil
}

// parseDetail sets the detail, size or exchange of the event that precedes the line.
func (s *script) parseDetail(what, arg string) error {
	if len(s.Events) == 0 {
		return errors.New(what + " belongs to the event before it, but there is none")
	}
	e := s.Events[len(s.Events)-1]
	if what == "detail" {
		e.Detail = arg
		return nil
	}
	size, err := strconv.ParseInt(arg, 10, 64)
	if what == "exchange" {
		if err != nil || size < 1 {
			return errors.New("exchange needs the number of an exchange, 1 or more")
		}
		e.Exchange = int(size)
		return nil
	}
	if err != nil || size < int64(len(e.Raw)) {
		return fmt.Errorf("size needs the number of bytes of the whole frame, at least %d", len(e.Raw))
	}
	e.Size = size
	return nil
}

// requestPosition returns the position of the request that arg names: NUMBER if arg is "@NUMBER"
// and there is an event at that position, and otherwise the position of the newest sent frame that
// has a message with the id arg.
func (s *script) requestPosition(arg string) (int, error) {
	if text, ok := strings.CutPrefix(arg, "@"); ok {
		if of, err := strconv.Atoi(text); err == nil && of >= 0 && of < len(s.Events) {
			return of, nil
		}
	}
	if of := newestWithID(s.Events, arg); of >= 0 {
		return of, nil
	}
	return 0, errors.New("gave-up: no earlier request has the id " + clip(arg) + "")
}

// newestWithID returns the position of the newest sent frame that has a message with this id, or
// -1.
func newestWithID(events []*Event, id string) int {
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

// clip shortens text for an error message.
func clip(text string) string {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
