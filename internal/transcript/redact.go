package transcript

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// Redacted stands where a secret was. It is legal wherever a secret may stand:
// in a URI, in a name, in base64.
const Redacted = "REDACTED"

// leastSecret is the length in bytes below which a part of a known secret is
// not looked for: a record without the word "key" could not be read.
const leastSecret = 6

// Redactor takes secrets out of events: those that it knows wherever they
// stand, and those that their place gives away, such as the value of a member
// named token, or of an Authorization header. A JSON text stays one, with the
// same members, kinds of values, and ids.
type Redactor struct {
	known [][]byte // longest first
}

// NewRedactor returns a redactor that knows these secrets. Of a secret of
// several lines each line is one.
func NewRedactor(secrets []string) *Redactor {
	var all []string
	for _, s := range secrets {
		all = append(all, s)
		if strings.Contains(s, "\n") {
			for line := range strings.Lines(s) {
				all = append(all, strings.TrimSpace(line))
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	r := &Redactor{}
	for _, s := range slices.Compact(all) {
		if len(s) >= leastSecret {
			r.known = append(r.known, []byte(s))
		}
	}
	return r
}

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
func (r *Redactor) Known(text string) string { return string(r.replaceKnown([]byte(text))) }

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
	secret := make([]bool, len(whole))
	begins := make([]bool, len(whole)+1)
	found := false
	for _, s := range r.known {
		for at := 0; ; {
			i := bytes.Index(whole[at:], s)
			if i < 0 {
				break
			}
			begins[at+i], found = true, true
			for j := range s {
				secret[at+i+j] = true
			}
			at += i + 1
		}
	}
	if !found {
		return
	}
	at := 0
	for _, i := range pieces {
		var raw []byte
		for range events[i].Raw {
			switch {
			case !secret[at]:
				raw = append(raw, whole[at])
			case begins[at] && (at == 0 || !secret[at-1]):
				raw = append(raw, Redacted...)
			}
			at++
		}
		events[i] = events[i].with(raw, events[i].Detail)
	}
}

// replaceKnown replaces the known secrets in text.
func (r *Redactor) replaceKnown(text []byte) []byte {
	for _, s := range r.known {
		if bytes.Contains(text, s) {
			text = bytes.ReplaceAll(text, s, []byte(Redacted))
		}
	}
	return text
}
