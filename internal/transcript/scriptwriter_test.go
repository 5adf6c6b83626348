package transcript

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// WriteScript writes the recording in the script format that ParseScript reads.
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
		f.writeTime(e.At)
		if e.Kind == OutputClosed && e.Detail == "" && e.Exchange == 0 && f.isFirst(r.Events[:i], OutputClosed) && i+1 < len(r.Events) &&
			r.Events[i+1].Kind == Exited && r.Events[i+1].At == e.At {
			i++
			f.writeExit("exit", r.Events[i])
			continue
		}
		f.writeEvent(r.Events[:i], e)
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

// isFirst reports whether none of the earlier events has this kind.
func (*scriptWriter) isFirst(events []*Event, kind Kind) bool {
	for _, e := range events {
		if e.Kind == kind {
			return false
		}
	}
	return true
}

func (f *scriptWriter) writeTime(at time.Duration) {
	if at != f.now {
		f.now = at
		f.writeOther("at", at.String())
	}
}

func (f *scriptWriter) writeOther(what, arg string) {
	line := "! " + what
	if arg != "" {
		line += " " + arg
	}
	f.b.WriteString(line + "\n")
}

// writeEvent writes e, which follows the events in before.
func (f *scriptWriter) writeEvent(before []*Event, e *Event) {
	detail := e.Detail
	if f.writeExchange(e) {
		if e.Kind == Over {
			detail = ""
		}
		f.writeDetails(e, detail)
		return
	}
	switch e.Kind {
	case Sent, Received:
		f.writeFrame(e)
	case Stderr, Flooded:
		f.writeOther(string(e.Kind), quoteArgument(string(e.Raw)))
	case InputClosed:
		f.writeOther("close-input", "")
	case Signalled:
		f.writeOther("signal", quoteArgument(e.Detail))
		detail = ""
	case Exited:
		f.writeExit("exited", e)
		return
	case GaveUp:
		f.writeOther(string(GaveUp), requestName(before, e.Of))
	case Opened:
		if len(before) == 0 && detail == "" && e.At == 0 && e.Size == 0 {
			return // implied by every script
		}
		f.writeOther(string(e.Kind), quoteArgument(e.Detail))
		detail = ""
	default:
		f.writeOther(string(e.Kind), quoteArgument(e.Detail))
		detail = ""
	}
	f.writeDetails(e, detail)
}

// writeDetails writes the properties of e that its own line does not have.
func (f *scriptWriter) writeDetails(e *Event, detail string) {
	if detail != "" {
		f.writeOther("detail", quoteArgument(detail))
	}
	if e.Size > int64(len(e.Raw)) {
		f.writeOther("size", strconv.FormatInt(e.Size, 10))
	}
	if e.Exchange > 0 && !hasExchangeNumber(e.Kind) {
		f.writeOther("exchange", strconv.Itoa(e.Exchange))
	}
}

func (f *scriptWriter) writeExit(word string, e *Event) {
	f.writeOther(word, strconv.Itoa(e.ExitCode))
	if e.Detail != exitDetail(e.ExitCode) {
		f.writeOther("detail", quote(e.Detail))
	}
	f.writeDetails(e, "")
}

func (f *scriptWriter) writeFrame(e *Event) {
	mark := map[Kind]string{Sent: ">", Received: "<"}[e.Kind]
	if e.Unterminated {
		mark += "|"
	}
	switch text := string(e.Raw); {
	case text == "":
		f.b.WriteString(mark + "\n")
	case isPlain(text):
		f.b.WriteString(mark + " " + text + "\n")
	default:
		f.b.WriteString(mark + "q " + quote(text) + "\n")
	}
}

// requestName returns the id of the request at position of, or "@POSITION" if the id is ambiguous.
func requestName(before []*Event, of int) string {
	if of < len(before) && before[of].Kind == Sent {
		for _, m := range before[of].Messages() {
			if id := m.ID.Raw(); id != "" && id[0] != '@' && isPlain(id) && newestWithID(before, id) == of {
				return id
			}
		}
	}
	return "@" + strconv.Itoa(of)
}

func quote(text string) string { return strconv.QuoteToGraphic(text) }

// quoteArgument quotes text if ParseScript would misread it.
func quoteArgument(text string) string {
	if !isPlain(text) || strings.HasPrefix(text, `"`) {
		return quote(text)
	}
	return text
}

// isPlain reports whether text can be written in a line without quotes: printable, valid UTF-8 and
// without a trailing space.
func isPlain(text string) bool {
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
