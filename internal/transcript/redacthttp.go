package transcript

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// linkingHeaders are headers whose values link exchanges. Only known secrets are removed from them,
// because redaction must not make two different values equal.
var linkingHeaders = []string{"mcp-session-id", "last-event-id"}

// redactHead removes secrets from the lines of a head.
func (r *Redactor) redactHead(raw []byte) []byte {
	var out []byte
	name := ""
	for i, line := range bytes.SplitAfter(raw, []byte("\n")) {
		text := bytes.TrimRight(line, "\r\n")
		end := line[len(text):]
		switch {
		case i == 0:
			text = r.redactText(text)
		case len(text) > 0 && (text[0] == ' ' || text[0] == '\t'): // obsolete line folding
			text = slices.Concat(text[:1], r.redactField(name, text[1:]))
		default:
			head, value, ok := bytes.Cut(text, []byte(":"))
			if !ok {
				text, name = r.redactText(text), ""
				break
			}
			name = strings.TrimSpace(string(head))
			blank := value[:len(value)-len(bytes.TrimLeft(value, " \t"))]
			text = slices.Concat(r.known.RedactBytes(head), []byte(":"), blank, r.redactField(name, value[len(blank):]))
		}
		out = append(append(out, text...), end...)
	}
	return out
}

// redactField removes secrets from the value of a header.
func (r *Redactor) redactField(name string, value []byte) []byte {
	name = strings.ToLower(name)
	switch {
	case len(value) == 0:
		return value
	case slices.Contains(linkingHeaders, name):
		return r.known.RedactBytes(value)
	case !redact.IsSecretMember(name):
		return r.redactText(value)
	}
	if strings.HasSuffix(name, "authorization") { // the scheme is not secret
		if scheme, _, ok := bytes.Cut(value, []byte(" ")); ok && !bytes.ContainsAny(scheme, "=:,;") && bytes.Equal(r.redactText(scheme), scheme) {
			return append(bytes.Clone(scheme), " "+redact.Mark...)
		}
	}
	return []byte(redact.Mark)
}

// redactStream removes secrets from a chunk of an event stream. It keeps the lines and their line
// endings, unless a secret spans several lines.
func (r *Redactor) redactStream(e *Event) []byte {
	ev := ParseStream(e.Stream)
	if ev.ByteOrderMark {
		return e.Stream
	}
	data := r.RedactFrame(ev.Data)
	if e.IsCut() {
		data = r.redactText(ev.Data)
	}
	parts, changed := bytes.Split(data, []byte("\n")), !bytes.Equal(data, ev.Data)
	var out []byte
	for l := range StreamLines(e.Stream) {
		text := l.Text
		switch {
		case l.Field == "data" && !changed:
		case l.Field == "data" && len(parts) == 0: // a secret of several lines became one line
			continue
		case l.Field == "data":
			text, parts = l.withValue(parts[0]), parts[1:]
		case l.Field == "id":
			text = r.known.RedactBytes(text)
		default:
			text = r.redactText(text)
		}
		out = append(append(out, text...), l.End...)
	}
	return out
}

// withValue returns the text of the line with another field value.
func (l *StreamLine) withValue(value []byte) []byte {
	if bytes.Equal(value, l.Value) {
		return l.Text
	}
	head := l.Text[:len(l.Text)-len(l.Value)]
	if !bytes.HasSuffix(head, []byte(" ")) && (!bytes.Contains(head, []byte(":")) || bytes.HasPrefix(value, []byte(" "))) {
		head = []byte(l.Field + ": ")
	}
	return slices.Concat(head, value)
}
