package rules

import (
	"bytes"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// shape describes the malformation of a line of the server's output. Each malformed line has one
// shape, so that it belongs to one requirement. For example, a banner does not also count as a line
// that fails to parse.
type shape int

const (
	plain     shape = iota // one message, or one batch
	blank                  // nothing but white space
	foreign                // text, or JSON that is not a message
	truncated              // the output ends inside a message
	spread                 // one message over several lines
	joined                 // several messages on one line
	headed                 // headers before or after a message
	unread                 // too long or too deep to be read
)

// A reading is the content of one line, or of several lines that belong together.
type reading struct {
	shape  shape
	events []*transcript.Event // the lines, at least one
	batch  bool
	// messages are those that could be found, even in malformed lines, because a response in a
	// malformed line is still a response.
	messages []*wire.Message

	// line and message are the backing arrays of events and messages if each has one element, as
	// for nearly every line. They save allocations.
	line    [1]*transcript.Event
	message [1]*wire.Message
}

func (r *reading) lastEvent() *transcript.Event { return r.events[len(r.events)-1] }

// positions returns the positions of the lines in the transcript.
func (r *reading) positions() []int {
	at := make([]int, 0, len(r.events))
	for _, e := range r.events {
		at = append(at, e.Seq)
	}
	return at
}

// Bounds on the search for messages in malformed output.
const (
	maxSpread     = 4 << 20 // bytes of a message over several lines
	maxSearch     = 1 << 20 // bytes of text that is searched for messages; longer text is not searched
	maxCandidates = 8       // opening braces in the text at which a message may begin
)

var headerLine = lazyregexp.New(`(?i)^\s*content-(length|type)\s*:`)

// interpretLines interprets the lines of the server's output. It returns the readings, each under
// its last event. The earlier lines of a multi-line message have no entry, nor do messages over
// HTTP that repeat an earlier one (see findCopies).
func interpretLines(events []*transcript.Event, t spec.Transport) map[*transcript.Event]*reading {
	r := lineReader{readings: map[*transcript.Event]*reading{}}
	var again map[*transcript.Event]bool
	if t != spec.Stdio {
		again = findCopies(events, t)
	}
	for _, e := range events {
		switch {
		case e.Kind != transcript.Received || again[e]:
		case t == spec.Stdio:
			r.readEvent(e)
		default:
			r.storeReading(interpretLine(e))
		}
	}
	r.giveUp()
	return r.readings
}

type lineReader struct {
	readings map[*transcript.Event]*reading

	afterHeader bool // the last line was a header, so a blank line now belongs to it
	// open are the lines of a value that is not complete yet.
	open []*transcript.Event
	text wire.MultilineJSON
}

func (r *lineReader) storeReading(got *reading) { r.readings[got.lastEvent()] = got }

func (r *lineReader) readEvent(e *transcript.Event) {
	got := interpretLine(e)
	if got.shape == blank && e.Unterminated {
		return // the server ended in the middle of a write: this is not a line
	}
	header := r.afterHeader
	r.afterHeader = got.shape == headed
	switch {
	case len(r.open) > 0 && (got.shape == plain && len(got.messages) > 0 || got.shape == unread):
		r.giveUp() // the open lines were not the beginning of a message
		r.storeReading(got)
	case len(r.open) > 0:
		r.extendOpenValue(e)
	case got.shape == foreign && wire.OpensMultilineJSON(e.Raw) && len(got.messages) == 0:
		r.extendOpenValue(e)
	case got.shape == blank && header:
		got.shape = headed
		r.storeReading(got)
	default:
		r.storeReading(got)
	}
}

// extendOpenValue adds a line to the open value.
func (r *lineReader) extendOpenValue(e *transcript.Event) {
	r.open = append(r.open, e)
	r.text.Add(e.Raw)
	switch {
	case len(r.text.Text()) > maxSpread:
		r.giveUp()
	case !r.text.IsOpen():
		r.complete()
	}
}

func (r *lineReader) complete() {
	f := wire.Parse(r.text.Text())
	messages := messagesIn(f, nil)
	switch {
	case len(messages) > 0:
		r.storeReading(&reading{shape: spread, events: r.open, batch: f.Batch, messages: messages})
		r.reset()
	case f.IsReadable(): // JSON of another kind, such as a log record
		r.storeReading(&reading{shape: foreign, events: r.open})
		r.reset()
	default:
		r.giveUp()
	}
}

// giveUp reads the lines of the open value separately, because together they are not a message.
func (r *lineReader) giveUp() {
	for i, e := range r.open {
		got := interpretLine(e)
		if got.shape == foreign && e.Unterminated && i == len(r.open)-1 {
			got.shape = truncated
		}
		r.storeReading(got)
	}
	r.reset()
}

func (r *lineReader) reset() {
	r.open, r.text = nil, wire.MultilineJSON{}
}

// interpretLine reads a single line.
func interpretLine(e *transcript.Event) *reading {
	got := &reading{line: [1]*transcript.Event{e}}
	got.events = got.line[:]
	f := e.Frame
	if f == nil {
		f = wire.Parse(e.Raw)
	}
	got.batch = f.Batch
	got.messages = messagesIn(f, got.message[:0])
	switch {
	case f.Has(wire.TooDeep) && !e.IsCut() && !mayBeMessage(e.Raw):
		got.shape = foreign
	case e.IsCut() || f.Has(wire.TooDeep) || f.Has(wire.TooMany):
		got.shape = unread
	case f.Has(wire.Empty):
		got.shape = blank
	case !f.IsReadable():
		got.shape = foreign
		if headerLine.Match(e.Raw) {
			got.shape = headed
		} else {
			got.messages = findMessages(e.Raw)
		}
	case len(got.messages) == 0 && !(f.Batch && len(f.Messages) == 0):
		got.shape = foreign
	case f.Has(wire.TrailingText):
		got.readTrailing(f)
	}
	return got
}

// mayBeMessage reports whether a line that is nested too deeply to be read may hold a message: it
// begins like one, and all its brackets match.
func mayBeMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	first := bytes.TrimLeft(bytes.TrimPrefix(line, []byte("[")), " \t\r")
	if !bytes.HasPrefix(first, []byte("{")) || !bytes.Contains(line, []byte(`"jsonrpc"`)) {
		return false
	}
	return wire.IsBalanced(line)
}

// readTrailing sets the shape of a line that continues after its message.
func (r *reading) readTrailing(f *wire.Frame) {
	for _, p := range f.Problems {
		if p.Kind != wire.TrailingText || p.Offset < 0 || p.Offset > int64(len(f.Raw)) {
			continue
		}
		rest := f.Raw[p.Offset:]
		more := findMessages(rest)
		r.messages = append(r.messages, more...)
		switch {
		case headerLine.Match(rest):
			r.shape = headed
		case len(more) > 0:
			r.shape = joined
		default:
			r.shape = foreign
		}
	}
}

// findMessages returns the messages in text that also has other content.
func findMessages(text []byte) []*wire.Message {
	var out []*wire.Message
	for range maxCandidates {
		at := bytes.IndexByte(text, '{')
		if at < 0 || len(text) > maxSearch {
			break
		}
		text = text[at:]
		f := wire.Parse(text)
		found := messagesIn(f, nil)
		out = append(out, found...)
		next := 1
		if len(found) > 0 {
			next = len(text)
			for _, p := range f.Problems {
				if p.Kind == wire.TrailingText && p.Offset > 0 {
					next = int(p.Offset)
				}
			}
		}
		text = text[next:]
	}
	return out
}

// messagesIn appends the values in a frame to out if at least one of them is meant to be a JSON-RPC
// message. Otherwise it returns nil: other JSON on stdout is not a message.
func messagesIn(f *wire.Frame, out []*wire.Message) []*wire.Message {
	meant := false
	for i := range f.Messages {
		m := &f.Messages[i]
		meant = meant || isMessage(m)
		out = append(out, m)
	}
	if !meant {
		return nil
	}
	return out
}

// isMessage reports whether a value is meant to be a JSON-RPC message, valid or not. A member named
// error or method alone is not enough, because a log record may have one.
func isMessage(m *wire.Message) bool {
	if m.Members == nil { // not an object, or an object of which only the beginning was kept
		return m.Kind != wire.Invalid
	}
	switch {
	case m.Has("jsonrpc"):
		return true
	case m.ID.IsPresent() && (m.Has("result") || m.Has("error") || m.Has("method")):
		return true
	case m.Has("method"):
		return hasOnlyMembers(m, "method", "params") && (m.Has("params") || spec.IsNotification(m.Method) || isServerRequest(m.Method))
	case m.Has("error"):
		e, ok := m.Error()
		return ok && e.Code != nil && e.Message != nil
	}
	return false
}

// hasOnlyMembers reports whether m has no members other than names.
func hasOnlyMembers(m *wire.Message, names ...string) bool {
	return !slices.ContainsFunc(m.Names, func(name string) bool { return !slices.Contains(names, name) })
}

// isServerRequest reports whether method is one that a server may send to its client in a
// handshake revision.
func isServerRequest(method string) bool {
	switch method {
	case spec.MethodPing, spec.MethodRootsList, spec.MethodSampling, spec.MethodElicit,
		spec.MethodTasksGet, spec.MethodTasksResult, spec.MethodTasksList, spec.MethodTasksCancel:
		return true
	}
	return false
}
