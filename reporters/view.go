package reporters

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// eventView is the text of an event, visible and cut to a number of columns: the
// offending part and the text around it. If no part offends, before contains
// all of the text.
type eventView struct{ before, offends, after string }

// String returns the concatenated parts.
func (v eventView) String() string { return v.before + v.offends + v.after }

// fold breaks the text into lines, none wider than columns.
func (v eventView) fold(columns int) []eventView {
	var out []eventView
	from, to := len(v.before), len(v.before)+len(v.offends)
	text := v.String()
	for at := 0; at < len(text) || len(out) == 0; {
		end := at + len(fit(text[at:], columns))
		lo, hi := min(max(from, at), end), min(max(to, at), end)
		out = append(out, eventView{text[at:lo], text[lo:hi], text[hi:end]})
		if end == at {
			break // no column for the next character
		}
		at = end
	}
	return out
}

// viewOf cuts the text of an event around the offending part. If it cuts, it
// adds the size of the event in bytes.
func viewOf(e *verdict.Evidence, columns int) eventView {
	size := max(e.Size, int64(len(e.Text))+e.Skipped)
	complete := e.Skipped+int64(len(e.Text)) == size // the text has the end of the event
	if width(Visible(head(e.Text, utf8.UTFMax*(columns+1)))) > columns {
		e = elide(elideHead(abbreviate(e), columns), columns)
	}
	before, offends, after := splitAtMark(e, len(e.Text))
	if offends == "" && e.Skipped == 0 {
		return eventView{before: excerpt(e.Text, size, complete, columns)}
	}
	most := utf8.UTFMax * (columns + 1) // enough bytes for any part
	v := eventView{Visible(tail(before, most)), Visible(head(offends, most)), Visible(head(after, most))}
	if size == int64(len(e.Text)) && len(e.Text) <= most && width(v.String()) <= columns {
		return v
	}
	suffix := fmt.Sprintf(" (%d bytes)", size)
	room := columns - width(suffix) - width("… ") - width("…")
	begins := len(before) <= most && e.Skipped == 0
	ends := max(len(offends), len(after)) <= most && complete
	if cut := fit(v.offends, room); cut != v.offends {
		v.offends, v.after, ends = cut, "", false
	}
	room -= width(v.offends)
	// The text before the offending part gets one third of the remaining columns, or more if the
	// text after it is short.
	if cut := fitEnd(v.before, max(room/3, room-width(v.after))); cut != v.before {
		v.before, begins = cut, false
	}
	if cut := fit(v.after, room-width(v.before)); cut != v.after {
		v.after, ends = cut, false
	}
	if !begins {
		v.before = "… " + v.before
	}
	if !ends {
		v.after += "…"
	}
	v.after += suffix
	return v
}

// metaPrefix begins the keys that every message of the stateless era has in its _meta.
const metaPrefix = `"io.modelcontextprotocol/`

// abbreviate shortens the keys that begin with metaPrefix, and leaves out what client and server
// say about themselves in each message, so that the rest can be seen. It shortens no marked message
// of the server.
func abbreviate(e *verdict.Evidence) *verdict.Evidence {
	if e.Skipped > 0 || e.Direction == "<" && e.Mark != nil {
		return e
	}
	out := copyOf(e)
	var cuts []elision
	for from := 0; ; {
		at := strings.Index(e.Text[from:], metaPrefix)
		if at < 0 {
			break
		}
		name := from + at
		from = name + len(metaPrefix)
		cuts = append(cuts, elision{from: name + 1, to: from - 1})
		key, after, _ := strings.Cut(e.Text[from:], `":`)
		if key != "clientInfo" && key != "clientCapabilities" && key != "serverInfo" {
			continue
		}
		object, err := jsontext.NewDecoder(strings.NewReader(after)).ReadValue()
		if begins := len(e.Text) - len(after); err == nil && object.Kind() == '{' && string(object) != "{}" && len(object) > 5 {
			from = begins + len(object)
			cuts = append(cuts, elision{from: begins + 1, to: from, closes: "}"})
		}
	}
	cutOut(out, slices.DeleteFunc(cuts, func(c elision) bool { return c.splits(e.Mark) }))
	return out
}

// copyOf returns a copy of an event that may be changed, with its size.
func copyOf(e *verdict.Evidence) *verdict.Evidence {
	out := *e
	out.Size = max(e.Size, int64(len(e.Text))+e.Skipped)
	if e.Mark != nil {
		mark := *e.Mark
		out.Mark = &mark
	}
	return &out
}
