package transcript

import (
	"bytes"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// Redactor removes secrets from events: known secrets everywhere, and values whose place
// marks them as secret, such as a member named token or an Authorization header. JSON stays
// JSON with the same structure and types of values. Ids that link messages change only where they
// contain a known secret.
type Redactor struct {
	known *redact.Secrets
}

// NewRedactor returns a redactor for these known secrets, which may be nil.
func NewRedactor(known *redact.Secrets) *Redactor { return &Redactor{known} }

// redactText removes secrets from free text.
func (r *Redactor) redactText(b []byte) []byte { return redact.Shapes(r.known.RedactBytes(b)) }

// RedactEvents returns the events without secrets. Events that change are copied, the others are
// returned as they are.
func (r *Redactor) RedactEvents(events []*Event) []*Event {
	out := slices.Clone(events)
	r.redactStderr(out)
	for i, e := range out {
		raw, detail := e.Raw, string(r.redactText([]byte(e.Detail)))
		switch {
		case e.Stream != nil:
			out[i] = e.withStream(r.redactStream(e), detail)
			continue
		case e.Kind == Requested || e.Kind == Responded:
			raw = r.redactHead(raw)
		case (e.Kind == Sent || e.Kind == Received) && !e.IsCut():
			raw = r.RedactFrame(e.Raw)
		default:
			raw = r.redactText(raw)
		}
		out[i] = e.withRaw(raw, detail)
	}
	return out
}

// RedactKnown returns text without the known secrets.
func (r *Redactor) RedactKnown(text string) string { return r.known.RedactText(text) }

// withRaw returns e itself if Raw and Detail are unchanged, and otherwise a copy with the new
// values.
func (e *Event) withRaw(raw []byte, detail string) *Event {
	if bytes.Equal(raw, e.Raw) && detail == e.Detail {
		return e
	}
	changed := *e
	changed.Raw, changed.Detail = raw, detail
	changed.Size = max(e.Size+int64(len(raw)-len(e.Raw)), int64(len(raw)))
	changed.parse()
	return &changed
}

// withStream is like withRaw for an event with a stream chunk.
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

// redactStderr removes known secrets that span several chunks of stderr. The chunks may end
// anywhere, because they depend on the writes of the server and on the reads.
func (r *Redactor) redactStderr(events []*Event) {
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
		events[i] = events[i].withRaw(raw, events[i].Detail)
	}
}
