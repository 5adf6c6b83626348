package transcript

import (
	"bytes"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// Redactor removes secrets from events: those that it knows wherever they are,
// and those that their place gives away, such as the value of a member named
// token, or of an Authorization header. A JSON text stays one, with the same
// members, kinds of values, and ids.
type Redactor struct {
	known *redact.Secrets
}

// NewRedactor returns a redactor that knows these secrets, nil for none.
func NewRedactor(known *redact.Secrets) *Redactor { return &Redactor{known} }

// text returns free text without secrets.
func (r *Redactor) text(b []byte) []byte { return redact.Shapes(r.known.Bytes(b)) }

// Events returns the events without secrets. Those that had none are the same;
// the others are copies.
func (r *Redactor) Events(events []*Event) []*Event {
	out := slices.Clone(events)
	r.stderr(out)
	for i, e := range out {
		raw, detail := e.Raw, string(r.text([]byte(e.Detail)))
		switch {
		case e.Stream != nil:
			out[i] = e.withStream(r.stream(e), detail)
			continue
		case e.Kind == Requested || e.Kind == Responded:
			raw = r.head(raw)
		case (e.Kind == Sent || e.Kind == Received) && !e.Cut():
			raw = r.Frame(e.Raw)
		default:
			raw = r.text(raw)
		}
		out[i] = e.with(raw, detail)
	}
	return out
}

// Known returns the text without the secrets that the redactor knows.
func (r *Redactor) Known(text string) string { return r.known.Text(text) }

// with returns e with other contents.
func (e *Event) with(raw []byte, detail string) *Event {
	if bytes.Equal(raw, e.Raw) && detail == e.Detail {
		return e
	}
	changed := *e
	changed.Raw, changed.Detail = raw, detail
	changed.Size = max(e.Size+int64(len(raw)-len(e.Raw)), int64(len(raw)))
	changed.parse()
	return &changed
}

// withStream returns e with another piece of an event stream.
func (e *Event) withStream(stream []byte, detail string) *Event {
	if bytes.Equal(stream, e.Stream) && detail == e.Detail {
		return e
	}
	changed := *e
	changed.Stream, changed.Detail = stream, detail
	changed.parse()
	changed.Size = max(e.Size+int64(len(changed.Raw)-len(e.Raw)), int64(len(changed.Raw)))
	return &changed
}

// stderr takes out known secrets that lie across the pieces of stderr, which
// end where the server's writes, or our reads, happened to end.
func (r *Redactor) stderr(events []*Event) {
	var whole []byte
	var pieces []int
	for i, e := range events {
		if e.Kind == Stderr {
			whole = append(whole, e.Raw...)
			pieces = append(pieces, i)
		}
	}
	if len(pieces) < 2 {
		return
	}
	spans := r.known.Spans(whole)
	if len(spans) == 0 {
		return
	}
	at := 0
	for _, i := range pieces {
		var raw []byte
		for range events[i].Raw {
			for len(spans) > 0 && at >= spans[0].To {
				spans = spans[1:]
			}
			switch {
			case len(spans) == 0 || at < spans[0].From:
				raw = append(raw, whole[at])
			case at == spans[0].From:
				raw = append(raw, redact.Mark...)
			}
			at++
		}
		events[i] = events[i].with(raw, events[i].Detail)
	}
}
