package reporters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// identifying contains the members of params that identify a request, and the member of the result
// of initialize on which the rest of a conversation depends. Other members are shortened to make
// room for these, because many clients and servers write the members in alphabetical order, such as
// arguments before name.
var identifying = map[string][]string{
	"params": {"protocolVersion", "name", "uri", "ref", "task", "taskId", "level", "cursor", "requestId", "progressToken"},
	"result": {"protocolVersion"},
}

// versionMember begins most messages. It is left out first, because it is the same in each of them.
const versionMember = `{"jsonrpc":"2.0",`

// A memberSpan is a member of params or result in the text of a message.
type memberSpan struct {
	identifies bool
	name       int // the offset of its name
	from, to   int // of its value
}

// elide removes versionMember from the text of an event and shortens the members of params or
// result that do not identify the message, so that the first columns of the text contain the
// identifying members, if that is possible. Where shorter values are not enough, it removes the
// members. It never changes a marked part.
func elide(e *verdict.Evidence, columns int) *verdict.Evidence {
	if e.Skipped > 0 || e.Direction != ">" && e.Mark != nil {
		return e
	}
	size := max(e.Size, int64(len(e.Text)))
	room := columns - width(fmt.Sprintf("… (%d bytes)", size))
	if short := elideMetadata(e, columns-width(fmt.Sprintf(" (%d bytes)", size))); short != nil {
		return short
	}
	members := membersOf(e.Text)
	last := 0
	for _, m := range members {
		if m.identifies {
			last = m.to
			if e.Text[m.from] == '{' && m.from < m.to {
				last = m.from + 1 // that the member is there matters more than what is in it
			}
		}
	}
	over := width(Visible(e.Text[:last])) - room
	if over <= 0 {
		return e
	}
	isMarked := func(from, to int) bool { return overlaps(e.Mark, from, to) }
	var head []elision
	if strings.HasPrefix(e.Text, versionMember) && !isMarked(0, len(versionMember)) {
		head = []elision{versionCut}
		over -= versionCut.saves()
	}
	others := slices.DeleteFunc(members, func(m memberSpan) bool { return m.identifies || m.to >= last || isMarked(m.name, m.to) })
	cuts, left := shortenValues(e.Text, others, over)
	if left > 0 {
		cuts, left = omitMembers(e.Text, others, over)
	}
	if left > 0 {
		return e
	}
	out := copyOf(e)
	cutOut(out, append(head, cuts...))
	return out
}

// overlaps reports whether a mark, which may be nil, has a byte of the given span.
func overlaps(mark *verdict.Span, from, to int) bool {
	return mark != nil && from < mark.To && mark.From < to
}

// elideMetadata shortens _meta in the text of a request, then other params, so that a reader sees
// the names of all params, and thus also which param is missing. Of _meta it first leaves out what
// every request has (see ordinaryMembers). It returns nil if the text then still takes more columns
// than room.
func elideMetadata(e *verdict.Evidence, room int) *verdict.Evidence {
	if e.Direction != ">" || endOfValue(e.Text, 0) != len(e.Text) {
		return nil
	}
	out := copyOf(e)
	isMetadata := func(m memberSpan) bool { return strings.HasPrefix(out.Text[m.name:], `"_meta"`) }
	if !slices.ContainsFunc(membersOf(out.Text), isMetadata) {
		return nil
	}
	isTooWide := func() bool { return width(Visible(out.Text)) > room }
	if isTooWide() && strings.HasPrefix(out.Text, versionMember) && !overlaps(out.Mark, 0, len(versionMember)) {
		cutOut(out, []elision{versionCut})
	}
	if isTooWide() {
		cutOut(out, ordinaryMembers(out))
	}
	for _, shortens := range []func(m memberSpan) bool{
		isMetadata,
		func(m memberSpan) bool { return !m.identifies && !isMetadata(m) },
		func(m memberSpan) bool { return m.identifies },
	} {
		members := slices.DeleteFunc(membersOf(out.Text), func(m memberSpan) bool { return !shortens(m) || overlaps(out.Mark, m.name, m.to) })
		cuts, _ := shortenValues(out.Text, members, width(Visible(out.Text))-room)
		cutOut(out, cuts)
		if !isTooWide() {
			return out
		}
	}
	if out.Mark != nil {
		return out // the caller shows the part around the mark
	}
	return nil
}

// An elision replaces a part of a text by an ellipsis and the text in the field closes, which ends
// the JSON value that is shortened.
type elision struct {
	from, to int
	closes   string
}

// versionCut omits versionMember.
var versionCut = elision{from: 1, to: len(versionMember)}

// appendCut appends a cut, or extends the last one if the cut begins at its end.
func appendCut(cuts []elision, from, to int) []elision {
	if n := len(cuts); n > 0 && cuts[n-1].to == from {
		cuts[n-1].to = to
		return cuts
	}
	return append(cuts, elision{from: from, to: to})
}

// saves returns the minimum number of columns by which the elision shortens a text.
func (c *elision) saves() int { return c.to - c.from - 1 - len(c.closes) }

// splits reports whether the elision would remove a part of a mark, which may be nil. An elision
// inside the mark does not.
func (c *elision) splits(mark *verdict.Span) bool {
	return overlaps(mark, c.from, c.to) && (c.from < mark.From || mark.To < c.to)
}

// cutOut applies elisions, which must be in the order of the text, to an event, and moves the mark
// of the event accordingly.
func cutOut(e *verdict.Evidence, cuts []elision) {
	for _, c := range slices.Backward(cuts) {
		kept := "…" + c.closes
		e.Text = e.Text[:c.from] + kept + e.Text[c.to:]
		shift := c.to - c.from - len(kept)
		switch {
		case e.Mark == nil:
		case c.to <= e.Mark.From:
			e.Mark.From, e.Mark.To = e.Mark.From-shift, e.Mark.To-shift
		case c.to <= e.Mark.To:
			e.Mark.To -= shift
		}
	}
}

// ordinaryMembers returns elisions of the members of _meta, in an abbreviated request, that matter
// least. If a part of _meta is marked, these are all other members. Otherwise they are those that
// every request of the stateless era has: the client's capabilities and name. If one of these is
// missing or not an object, which may be why the request is quoted, it returns none.
func ordinaryMembers(e *verdict.Evidence) []elision {
	var cuts []elision
	ordinary := 0
	for _, m := range membersOf(e.Text) {
		if !strings.HasPrefix(e.Text[m.name:], `"_meta"`) || e.Text[m.from] != '{' {
			continue
		}
		isMarked := overlaps(e.Mark, m.from+1, m.to)
		eachMember(e.Text, m.from, func(name string, at, from, to int) {
			isOrdinary := (name == "…/clientCapabilities" || name == "…/clientInfo") && e.Text[from] == '{'
			if to < 0 || overlaps(e.Mark, at, to) || !isOrdinary && !isMarked {
				return
			}
			ordinary++
			if to < m.to && e.Text[to] == ',' {
				to++
			}
			cuts = appendCut(cuts, at, to)
		})
		if !isMarked && ordinary != 2 {
			return nil
		}
	}
	return cuts
}

// shortenValues shortens the values of members, the longest first, until the given number of
// columns is saved. It returns the elisions, and how many columns remain to be saved.
func shortenValues(text string, members []memberSpan, over int) (cuts []elision, left int) {
	for _, m := range slices.SortedStableFunc(slices.Values(members), func(a, b memberSpan) int { return cmp.Compare(b.to-b.from, a.to-a.from) }) {
		if over <= 0 {
			break
		}
		c := elision{from: max(m.from+1, m.to-over-2), to: m.to, closes: text[max(m.from, m.to-1):m.to]}
		for c.from > m.from+1 && !utf8.RuneStart(text[c.from]) {
			c.from--
		}
		if c.saves() > 0 {
			cuts = append(cuts, c)
			over -= c.saves()
		}
	}
	slices.SortFunc(cuts, func(a, b elision) int { return cmp.Compare(a.from, b.from) })
	return cuts, over
}

// omitMembers is like shortenValues, but leaves out all of the members. Members that follow each
// other become one ellipsis.
func omitMembers(text string, members []memberSpan, over int) (cuts []elision, left int) {
	for _, m := range members {
		to := m.to + len(text[m.to:]) - len(strings.TrimLeft(text[m.to:], ", "))
		if n := len(cuts); n > 0 && cuts[n-1].to == m.name {
			over += cuts[n-1].saves()
			cuts[n-1].to = to
		} else {
			cuts = append(cuts, elision{from: m.name, to: to})
		}
		over -= cuts[len(cuts)-1].saves()
	}
	return cuts, over
}

// membersOf returns those members of params and result whose values end within the text of a
// message. The message need not be valid JSON.
func membersOf(text string) []memberSpan {
	var out []memberSpan
	eachMember(text, strings.IndexByte(text, '{'), func(name string, _, from, to int) {
		keys, known := identifying[name]
		if !known || text[from] != '{' {
			return
		}
		eachMember(text, from, func(name string, at, from, to int) {
			if to >= 0 {
				out = append(out, memberSpan{slices.Contains(keys, name), at, from, to})
			}
		})
	})
	return out
}

// eachMember calls f for each member of the object that begins at the given offset, with the offset
// of its name and the span of its value. If the text ends within the value, to is -1. An ellipsis may
// be in the place of members.
func eachMember(text string, object int, f func(name string, at, from, to int)) {
	if object < 0 {
		return
	}
	for i := object + 1; i < len(text); {
		i += len(text[i:]) - len(strings.TrimLeft(text[i:], " \t\r\n,…"))
		end := endOfValue(text, i)
		if end < 0 || text[i] != '"' {
			return
		}
		name := text[i+1 : end-1]
		from := end + len(text[end:]) - len(strings.TrimLeft(text[end:], " \t\r\n:"))
		if from >= len(text) {
			return
		}
		to := endOfValue(text, from)
		f(name, i, from, to)
		if to < 0 {
			return
		}
		i = to
	}
}

// endOfValue returns the offset after the JSON value that begins at the given offset, or -1 if the
// text ends within it.
func endOfValue(text string, from int) int {
	depth, quoted := 0, false
	for i := from; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			if !quoted && depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case depth == 0 && (c == ',' || c == ' ' || c == '\n'):
			return i
		}
	}
	return -1
}
