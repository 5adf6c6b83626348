package engine

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Limits of what a finding quotes: the number of events that show it, and the bytes of each.
const (
	maxEvidence = 6
	maxQuoted   = 2 << 10
	// maxContext is how many other events of the conversation a finding shows, and contextQuoted
	// how many bytes of each.
	maxContext    = 12
	contextQuoted = 512
	// beginning is how many context events are taken from the start of the conversation, and
	// following how many from after the evidence.
	beginning = 3
	following = 2
	// contextRead is the size in bytes above which a context event is listed but not quoted,
	// because finding its secrets would take too long.
	contextRead = 64 << 10
)

// quoter quotes the evidence of one report, without secrets.
type quoter struct {
	redactor *transcript.Redactor
	longRead int // how many bytes of long events were searched for secrets so far
}

// quoteCandidate quotes the events that show the candidate (evidence), and events around them
// (context).
func (r *quoter) quoteCandidate(c *candidate) (evidence, context []verdict.Evidence) {
	if c.record == nil {
		return nil, nil
	}
	return quoteReadable(c.record.From(0), &c.Deviation, r.redactor, r.isReadable)
}

// longRead limits how many bytes of events longer than contextRead a report
// searches for secrets.
const longRead = 8 << 20

// isReadable reports whether there is time to search an event for secrets, which is necessary
// before it can be quoted. A short event always is readable; long ones only until their total
// reaches the constant longRead.
func (r *quoter) isReadable(e *transcript.Event) bool {
	if len(e.Raw) <= contextRead {
		return true
	}
	if r.longRead >= longRead {
		return false
	}
	r.longRead += len(e.Raw)
	return true
}

// Quote quotes the events of a conversation that show the deviation; the last of the deviation's
// positions is the offending event. If that event is the exit of a server, the evidence also has
// the last messages to the server. If the server exits there or right after, the evidence also has
// what stderr says about the exit. Context holds other events: the beginning of the conversation,
// and events around the evidence. The redactor removes secrets; if it is nil, none are removed.
func Quote(events []*transcript.Event, d *verdict.Deviation, redactor *transcript.Redactor) (evidence, context []verdict.Evidence) {
	return quoteReadable(events, d, redactor, func(*transcript.Event) bool { return true })
}

// quoteReadable is like Quote, but lists an event of the evidence without its contents if readable
// is false for it.
func quoteReadable(events []*transcript.Event, d *verdict.Deviation, redactor *transcript.Redactor, readable func(*transcript.Event) bool) (evidence, context []verdict.Evidence) {
	at, offending := quotedPositions(events, d.At)
	if len(at) == 0 {
		return nil, nil
	}
	around := contextOf(events, at)
	short := slices.DeleteFunc(slices.Clone(around), func(i int) bool { return len(events[i].Raw) > contextRead })
	said := lastStderr(events)
	legible := slices.DeleteFunc(slices.Clone(at), func(i int) bool { return !readable(events[i]) })
	clear := redactedEvents(events, slices.Concat(legible, short, said), redactor)
	for _, i := range at {
		var v verdict.Evidence
		switch {
		case clear[i] == nil:
			v = verdict.Evidence{Direction: describeDirection(events[i].Kind), Position: i, Size: events[i].Size, Offending: i == offending}
		case i == offending:
			v = quoteOffending(clear[i], d)
		case len(said) > 0 && i == said[len(said)-1]:
			v = quote(joinStderr(clear, said), maxQuoted, 0)
		default:
			v = quote(clear[i], maxQuoted, 0)
			v.Mark = earlierSpan(clear[i], d.Earlier)
		}
		if events[i].Kind == transcript.Requested && v.Mark == nil {
			v.Mark = headerSpan(v.Text, d.Header)
		}
		if events[i].Kind == transcript.Sent && v.Mark == nil {
			v.Mark = trailingSpaceSpan(v)
		}
		v.Label = labelEvent(events[i])
		evidence = append(evidence, v)
	}
	for _, i := range around {
		v := verdict.Evidence{Direction: describeDirection(events[i].Kind), Position: i, Size: events[i].Size}
		if e := clear[i]; e != nil {
			v = quote(e, contextQuoted, 0)
		}
		v.Label = labelEvent(events[i])
		context = append(context, v)
	}
	return evidence, context
}

// trailingSpaceSpan returns the span of the white space after a message. Such white space is easily
// overlooked and makes some servers exit. It returns nil if there is none, or if the quotation does
// not contain the end of the message.
func trailingSpaceSpan(v verdict.Evidence) *verdict.Span {
	from := len(strings.TrimRight(v.Text, " \t"))
	if from == len(v.Text) || from == 0 || v.Skipped+int64(len(v.Text)) != v.Size {
		return nil
	}
	return &verdict.Span{From: from, To: len(v.Text)}
}

// redactedEvents returns the events at the given positions, with secrets removed, by position. It
// searches all of stderr, because a secret may span several chunks, and otherwise only the given
// events.
func redactedEvents(events []*transcript.Event, at []int, redactor *transcript.Redactor) map[int]*transcript.Event {
	var clear []*transcript.Event
	place := map[int]int{}
	for i, e := range events {
		if quoted := slices.Contains(at, i); quoted || e.Kind == transcript.Stderr && redactor != nil {
			place[i] = len(clear)
			clear = append(clear, e)
		}
	}
	if redactor != nil {
		clear = redactor.RedactEvents(clear)
	}
	out := map[int]*transcript.Event{}
	for _, i := range at {
		out[i] = clear[place[i]]
	}
	return out
}

// quotedPositions returns the positions of the events to quote, and that of the offending one. at
// holds the positions of a deviation; if it is empty, offending is -1.
func quotedPositions(events []*transcript.Event, at []int) (positions []int, offending int) {
	if len(at) == 0 {
		return nil, -1
	}
	offending = at[len(at)-1]
	shown := Sighting{Events: events, Deviation: &verdict.Deviation{At: at}}
	at = slices.Clone(at)
	isEnd := offending >= 0 && offending < len(events) && events[offending].Kind == transcript.OutputClosed
	if isEnd {
		at = append(at, lastSent(events, at, offending)...)
	}
	if said := lastStderr(events); len(said) > 0 && (isEnd || shown.EndsServer()) { // stderr is read concurrently with stdout, so its last chunk may come later
		at = append(at, said[len(said)-1])
	}
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) > maxEvidence {
		from := min(len(at)-maxEvidence, max(0, slices.Index(at, offending)-1)) // begin one event before the offending one, because that is often its request
		at = at[from : from+maxEvidence]
	}
	return slices.DeleteFunc(at, func(i int) bool { return i < 0 || i >= len(events) }), offending
}

func describeDirection(k transcript.Kind) string {
	switch k {
	case transcript.Sent, transcript.Requested:
		return ">"
	case transcript.Received, transcript.Responded, transcript.Streamed:
		return "<"
	}
	return "!"
}

// quoteOffending quotes the offending event, and marks its offending part. If that part does not
// end within the first maxQuoted bytes of a frame, the quotation begins a little before the part.
func quoteOffending(e *transcript.Event, d *verdict.Deviation) verdict.Evidence {
	var mark *verdict.Span
	if e.Kind == transcript.Received || e.Kind == transcript.Sent {
		mark = findOffense(e, d)
	}
	start := 0
	if mark != nil && mark.To > maxQuoted {
		start = max(0, mark.From-maxQuoted/4)
		for start > 0 && !utf8.RuneStart(e.Raw[start]) {
			start--
		}
	}
	v := quote(e, maxQuoted, start)
	if mark != nil {
		v.Mark = &verdict.Span{From: mark.From - start, To: min(mark.To-start, len(v.Text))}
	}
	v.Offending = true
	return v
}

// quote quotes at most limit bytes of the event. If the event is a frame, the quotation begins at
// the offset start.
func quote(e *transcript.Event, limit, start int) verdict.Evidence {
	v := verdict.Evidence{Direction: describeDirection(e.Kind), Position: e.Seq, Size: e.Size}
	switch e.Kind {
	case transcript.Sent, transcript.Received:
		v.Text, v.Skipped = string(e.Raw[start:min(len(e.Raw), start+limit)]), int64(start)
	case transcript.Requested, transcript.Responded, transcript.Streamed:
		raw := e.Raw
		if e.Stream != nil {
			raw = e.Stream
		}
		v.Text = string(raw[:min(len(raw), limit)])
		v.Size = max(v.Size, int64(len(raw)))
	default:
		v.Text = describeEvent(e, limit)
		v.Size = int64(len(v.Text))
	}
	return v
}

// describeEvent describes an event that is not a message, with at most limit bytes of its output.
func describeEvent(e *transcript.Event, limit int) string {
	text := string(e.Kind)
	switch e.Kind {
	case transcript.Stderr:
		return "stderr: " + string(e.Raw[:min(len(e.Raw), limit)])
	case transcript.Remark:
		return e.Detail
	case transcript.InputClosed:
		text = "the client closed the server's stdin"
	case transcript.OutputClosed:
		text = "the server's output ended"
	case transcript.Signalled:
		return "the client sent the signal " + e.Detail
	case transcript.Exited:
		text = "the server's process ended"
	case transcript.Over:
		text = describeEnd(e.How)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// describeEnd describes how an exchange ended.
func describeEnd(how transcript.How) string {
	switch how {
	case transcript.Complete:
		return "the HTTP response is complete"
	case transcript.Broken:
		return "the connection broke"
	case transcript.Dropped:
		return "the client closed the connection"
	case transcript.Unreachable:
		return "the client could not connect"
	case transcript.Unreadable:
		return "the response is not HTTP"
	}
	return string(how)
}
