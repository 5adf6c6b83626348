package reporters

import (
	"fmt"
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

// viewOf cuts the text of an event around the offending part. If it cuts, it
// adds the size of the event in bytes.
func viewOf(e *verdict.Evidence, columns int) eventView {
	size := max(e.Size, int64(len(e.Text))+e.Skipped)
	if width(Visible(head(e.Text, utf8.UTFMax*(columns+1)))) > columns {
		if e.Mark == nil && e.Skipped == 0 {
			short := *e
			short.Size, short.Text = size, abbreviate(e.Text)
			e = &short
		}
		e = elide(e, columns)
	}
	before, offends, after := splitAtMark(e, len(e.Text))
	if offends == "" && e.Skipped == 0 {
		return eventView{before: excerpt(e.Text, size, columns)}
	}
	most := utf8.UTFMax * (columns + 1) // enough bytes for any part
	v := eventView{Visible(tail(before, most)), Visible(head(offends, most)), Visible(head(after, most))}
	if size == int64(len(e.Text)) && len(e.Text) <= most && width(v.String()) <= columns {
		return v
	}
	suffix := fmt.Sprintf(" (%d bytes)", size)
	room := columns - width(suffix) - width("… ") - width("…")
	begins := len(before) <= most && e.Skipped == 0
	ends := max(len(offends), len(after)) <= most && e.Skipped+int64(len(e.Text)) == size
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
// say about themselves in each message, so that the rest can be seen.
func abbreviate(text string) string {
	for _, key := range []string{"clientInfo", "clientCapabilities", "serverInfo"} {
		_, after, _ := strings.Cut(text, metaPrefix+key+`":`)
		object, err := jsontext.NewDecoder(strings.NewReader(after)).ReadValue()
		if err == nil && object.Kind() == '{' && string(object) != "{}" {
			text = text[:len(text)-len(after)] + "{…}" + after[len(object):]
		}
	}
	return strings.ReplaceAll(text, metaPrefix, `"…/`)
}
