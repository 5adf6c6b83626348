package transcript

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// WriteScript writes the recording in the form that ParseScript reads.
func WriteScript(w io.Writer, r *Recording) error {
	var b strings.Builder
	for _, head := range []struct{ name, value string }{
		{"revision", r.Revision}, {"transport", r.Transport}, {"tool", r.Tool}, {"case", r.Case},
	} {
		if head.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", head.name, head.value)
		}
	}
	for _, e := range r.Expect {
		fmt.Fprintf(&b, "expect: %s %s %q\n", e.Requirement, e.Outcome, e.Summary)
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	f := scriptWriter{b: &b}
	for i := 0; i < len(r.Events); i++ {
		e := r.Events[i]
		f.at(e.At)
		if e.Kind == OutputClosed && e.Detail == "" && e.Exchange == 0 && f.first(r.Events[:i], OutputClosed) && i+1 < len(r.Events) &&
			r.Events[i+1].Kind == Exited && r.Events[i+1].At == e.At {
			i++
			f.exit("exit", r.Events[i])
			continue
		}
		f.event(r.Events[:i], e)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the script: %w", err)
	}
	return nil
}

type scriptWriter struct {
	b   *strings.Builder
	now time.Duration
}

// first reports whether none of the events is of the kind.
func (*scriptWriter) first(events []*Event, kind Kind) bool {
	for _, e := range events {
		if e.Kind == kind {
			return false
		}
	}
	return true
}

func (f *scriptWriter) at(at time.Duration) {
	if at != f.now {
		f.now = at
		f.other("at", at.String())
	}
}

func (f *scriptWriter) other(what, arg string) {
	line := "! " + what
	if arg != "" {
		line += " " + arg
	}
	f.b.WriteString(line + "\n")
}

// event writes e, which comes after the events before.
func (f *scriptWriter) event(before []*Event, e *Event) {
	detail := e.Detail
	if f.exchange(e) {
		if e.Kind == Over {
			detail = ""
		}
		f.more(e, detail)
		return
	}
	switch e.Kind {
	case Sent, Received:
		f.frame(e)
	case Stderr, Flooded:
		f.other(string(e.Kind), quoteArgument(string(e.Raw)))
	case InputClosed:
		f.other("close-input", "")
	case Signalled:
		f.other("signal", quoteArgument(e.Detail))
		detail = ""
	case Exited:
		f.exit("exited", e)
		return
	case GaveUp:
		f.other(string(GaveUp), givenUp(before, e.Of))
	case Opened:
		if len(before) == 0 && detail == "" && e.At == 0 && e.Size == 0 {
			return // as every script begins
		}
		f.other(string(e.Kind), quoteArgument(e.Detail))
		detail = ""
	default:
		f.other(string(e.Kind), quoteArgument(e.Detail))
		detail = ""
	}
	f.more(e, detail)
}

// more writes what the line of an event leaves out.
func (f *scriptWriter) more(e *Event, detail string) {
	if detail != "" {
		f.other("detail", quoteArgument(detail))
	}
	if e.Size > int64(len(e.Raw)) {
		f.other("size", strconv.FormatInt(e.Size, 10))
	}
	if e.Exchange > 0 && !ofExchange(e.Kind) {
		f.other("exchange", strconv.Itoa(e.Exchange))
	}
}

func (f *scriptWriter) exit(word string, e *Event) {
	f.other(word, strconv.Itoa(e.ExitCode))
	if e.Detail != exitDetail(e.ExitCode) {
		f.other("detail", quote(e.Detail))
	}
	f.more(e, "")
}

func (f *scriptWriter) frame(e *Event) {
	mark := map[Kind]string{Sent: ">", Received: "<"}[e.Kind]
	if e.Unterminated {
		mark += "|"
	}
	switch text := string(e.Raw); {
	case text == "":
		f.b.WriteString(mark + "\n")
	case legible(text):
		f.b.WriteString(mark + " " + text + "\n")
	default:
		f.b.WriteString(mark + "q " + quote(text) + "\n")
	}
}

// givenUp names a request by its id where that names it.
func givenUp(before []*Event, of int) string {
	if of < len(before) && before[of].Kind == Sent {
		for _, m := range before[of].Messages() {
			if id := m.ID.Raw(); id != "" && id[0] != '@' && legible(id) && newest(before, id) == of {
				return id
			}
		}
	}
	return "@" + strconv.Itoa(of)
}

func quote(text string) string { return strconv.QuoteToGraphic(text) }

// quoteArgument quotes text where it would be read as something else.
func quoteArgument(text string) string {
	if !legible(text) || strings.HasPrefix(text, `"`) {
		return quote(text)
	}
	return text
}

// legible reports whether text stands in a line as it is, and is seen there.
func legible(text string) bool {
	if !utf8.ValidString(text) || strings.HasSuffix(text, " ") {
		return false
	}
	for _, c := range text {
		if c != ' ' && !unicode.IsPrint(c) {
			return false
		}
	}
	return true
}
