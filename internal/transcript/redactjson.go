package transcript

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// RedactFrame removes secrets from a frame. If the frame is JSON, it keeps the structure and all
// bytes except the secrets. Any other frame is treated as text.
func (r *Redactor) RedactFrame(raw []byte) []byte {
	if f := wire.Parse(raw); !f.IsReadable() {
		return r.redactText(raw)
	}
	// Bytes after the JSON value, such as a comma or another message, are treated as text.
	start := len(raw) - len(bytes.TrimLeft(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")), " \t\r\n"))
	w := &jsonRedactor{r: r, raw: raw, base: int64(start), done: start}
	w.dec = jsontext.NewDecoder(bytes.NewBuffer(raw[start:]), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if !w.copyValue(place{}) {
		return r.redactText(raw)
	}
	end := int(w.base + w.dec.InputOffset())
	out := slices.Concat(raw[:start], w.out, raw[w.done:end])
	if rest := raw[end:]; len(bytes.TrimSpace(rest)) > 0 {
		if out = append(out, r.redactText(rest)...); !bytes.Equal(r.known.RedactBytes(out), out) {
			return r.redactText(raw) // a secret spans the end of the value
		}
		return out
	}
	return append(out, raw[end:]...)
}

// place describes the position of a value in a message.
type place struct {
	name   string // the name of the member that has the value; "" in arrays and at the top level
	secret bool   // the strings and numbers of the value are secrets
	schema bool   // the value is the JSON Schema of a secret
	names  bool   // the value maps names to schemas, like the properties of a JSON Schema
	number bool   // the numbers of the value are not secrets
}

// isID reports whether the value is an id or token that links messages.
func (at place) isID() bool {
	return at.name == "id" || at.name == "requestId" || at.name == "progressToken"
}

// jsonRedactor copies a JSON value and replaces the secrets in it.
type jsonRedactor struct {
	r    *Redactor
	raw  []byte
	dec  *jsontext.Decoder
	base int64 // offset in raw where the decoder began
	done int   // offset up to which raw is copied
	out  []byte
}

// readToken reads a token. For a string or a number, raw[from:to] is the token. For any other
// token, both from and to are the offset of the token's end in raw.
func (w *jsonRedactor) readToken() (tok jsontext.Token, from, to int, ok bool) {
	tok, err := w.dec.ReadToken()
	if err != nil {
		return tok, 0, 0, false
	}
	tok = tok.Clone()
	to = int(w.base + w.dec.InputOffset())
	from = to
	switch tok.Kind() {
	case '"', '0':
		// The separators before the token are not part of it.
		from = w.done + bytes.IndexAny(w.raw[w.done:to], `"-0123456789`)
	}
	return tok, from, to, true
}

// replaceUpTo copies the bytes of raw that have not been copied and precede raw[from:to], and then
// writes replaced instead of raw[from:to].
func (w *jsonRedactor) replaceUpTo(from, to int, replaced []byte) {
	w.out = append(append(w.out, w.raw[w.done:from]...), replaced...)
	w.done = to
}

// copyValue copies one value. It returns false if the value is unreadable.
func (w *jsonRedactor) copyValue(at place) bool {
	w.copyRead()
	switch w.dec.PeekKind() {
	case '{':
		return w.copyObject(at)
	case '[':
		if _, _, _, ok := w.readToken(); !ok {
			return false
		}
		w.copyRead()
		at.name = ""
		for w.dec.PeekKind() != ']' {
			if !w.copyValue(at) {
				return false
			}
		}
		_, _, _, ok := w.readToken()
		w.copyRead()
		return ok
	}
	tok, from, to, ok := w.readToken()
	if !ok {
		return false
	}
	switch tok.Kind() {
	case '"':
		w.replaceUpTo(from, to, w.r.redactString(w.raw[from:to], tok.String(), at))
	case '0':
		w.replaceUpTo(from, to, w.r.redactNumber(w.raw[from:to], at))
	}
	w.copyRead()
	return true
}

// copyRead copies everything up to the decoder's position.
func (w *jsonRedactor) copyRead() {
	to := int(w.base + w.dec.InputOffset())
	if to > w.done {
		w.replaceUpTo(to, to, nil)
	}
}

func (w *jsonRedactor) copyObject(at place) bool {
	if _, _, _, ok := w.readToken(); !ok {
		return false
	}
	w.copyRead()
	// In {"name":"token","value":"…"}, the value is secret.
	announced := false
	for w.dec.PeekKind() != '}' {
		tok, from, to, ok := w.readToken()
		if !ok {
			return false
		}
		name := tok.String()
		w.replaceUpTo(from, to, w.r.redactString(w.raw[from:to], name, place{}))
		inner := at.memberPlace(name)
		inner.secret = inner.secret || announced && name == "value"
		if name == "name" || name == "key" || name == "header" {
			w.copyRead()
			if w.dec.PeekKind() == '"' {
				value, from, to, ok := w.readToken()
				if !ok {
					return false
				}
				announced = announced || redact.IsSecretMember(value.String())
				w.replaceUpTo(from, to, w.r.redactString(w.raw[from:to], value.String(), inner))
				continue
			}
		}
		if !w.copyValue(inner) {
			return false
		}
	}
	_, _, _, ok := w.readToken()
	w.copyRead()
	return ok
}

// memberPlace returns the place of the member with this name.
func (at place) memberPlace(name string) place {
	inner := place{name: name, secret: at.secret}
	switch {
	case at.names:
		inner.schema = redact.IsSecretMember(name)
		inner.secret = false
	case at.schema:
		inner.secret = slices.Contains([]string{"default", "const", "examples"}, name)
	case redact.IsSecretMember(name):
		inner.secret = true
		inner.number = strings.HasSuffix(strings.ToLower(name), "tokens") // a count
	case slices.Contains([]string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}, name):
		inner.names = true
	}
	return inner
}

// redactString removes secrets from a JSON string. It keeps the bytes of the other parts where it
// can.
func (r *Redactor) redactString(raw []byte, text string, at place) []byte {
	if (at.secret || at.schema) && text != "" {
		return wire.Quote(redact.Mark)
	}
	clean := r.known.RedactBytes([]byte(text))
	// Prefer the original bytes, which may contain invalid UTF-8 or other escapes, if removing the
	// secrets from them directly also yields the text in clean.
	inner := slices.Concat([]byte{'"'}, r.known.RedactBytes(raw[1:len(raw)-1]), []byte{'"'})
	if same, ok := wire.Text(inner); ok && same == string(clean) {
		raw, text = inner, same
	}
	if !at.isID() { // two ids must not become equal
		clean = r.redactText(clean)
	}
	if string(clean) != text {
		return wire.Quote(string(clean))
	}
	return raw
}

// redactNumber returns a JSON number, or 0 in place of a secret one. In ids, the digits of a secret
// become nines, so that different ids are less likely to become equal.
func (r *Redactor) redactNumber(raw []byte, at place) []byte {
	if at.isID() {
		out := bytes.Clone(raw)
		for _, s := range r.known.Spans(raw) {
			for i := s.From; i < s.To; i++ {
				out[i] = '9'
			}
		}
		return out
	}
	if (at.secret || at.schema) && !at.number || len(r.known.Spans(raw)) > 0 {
		return []byte("0")
	}
	return raw
}
