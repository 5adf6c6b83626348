package reporters

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// idMember matches message ids, progress tokens and request ids, which differ
// between otherwise equal messages.
var idMember = lazyregexp.New(`"(id|progressToken|requestId)"\s*:\s*("[^"\\]*"|-?[0-9]+)`)

// shapeOf returns the event without the parts that differ between similar
// events.
func shapeOf(e *verdict.Evidence) string {
	return e.Direction + idMember.ReplaceAllString(e.Text, `"$1":0`)
}

// foldRepetitions replaces repetitions of an event, or of a request and its response, with one
// folded event. Offending events are never folded.
func foldRepetitions(events []pageEvent) []pageEvent {
	var out []pageEvent
	for i := 0; i < len(events); {
		n, unit := 0, 0
		for _, unit = range []int{2, 1} {
			if n = countRepeats(events, i, unit); n > 0 {
				break
			}
		}
		if n == 0 {
			out = append(out, events[i])
			i++
			continue
		}
		out = append(out, events[i:i+unit]...)
		text := "the same message"
		if unit == 2 {
			text = "the same pair of messages"
		}
		from, to := i+unit, i+unit+n*unit
		like := slices.Clone(events[from:to])
		like[0].Gap = false
		out = append(out, pageEvent{Like: like, LikeText: fmt.Sprintf("%s %s more", text, describeTimes(n)), Gap: events[from].Gap})
		i = to
	}
	return out
}

func describeTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// countRepeats returns how many copies directly follow a group of events. The group consists of
// events[at] and the events after it; unit is the number of events in the group.
func countRepeats(events []pageEvent, at, unit int) int {
	if unit == 2 && (at+1 >= len(events) || events[at].Way != "out" || events[at+1].Way != "in") {
		return 0
	}
	n := 0
	for from := at + unit; from+unit <= len(events); from += unit {
		for i := range unit {
			e := &events[from+i]
			if e.Offending || !e.Text || e.Context != events[at+i].Context || e.shape != events[at+i].shape {
				return n
			}
		}
		n++
	}
	return n
}
