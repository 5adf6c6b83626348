package reporters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// ordinaryHeaders begin the lines of an HTTP request that every request has. They are left out
// first.
var ordinaryHeaders = []string{
	"host:", "user-agent:", "accept-encoding:", "connection:", "content-length:",
	"content-type: application/json", "accept: application/json, text/event-stream",
}

// elideHead leaves out ordinaryHeaders in the head of an HTTP request until it fits, then, if a
// header is marked, all others.
func elideHead(e *verdict.Evidence, columns int) *verdict.Evidence {
	first, _, _ := strings.Cut(e.Text, "\n")
	if e.Direction != ">" || e.Skipped > 0 || !strings.HasSuffix(strings.TrimSuffix(first, "\r"), " HTTP/1.1") {
		return e
	}
	out := copyOf(e)
	room := columns - width(fmt.Sprintf(" (%d bytes)", out.Size))
	for _, leavesOut := range []func(line string) bool{
		isOrdinaryHeader,
		func(string) bool { return e.Mark != nil },
	} {
		over := width(Visible(out.Text)) - room
		var cuts []elision
		at := 0
		for line := range strings.Lines(out.Text) {
			from, to := at, at+len(line)
			at = to
			line = strings.TrimPrefix(line, "…")
			if n := len(cuts); line == "" && n > 0 && cuts[n-1].to == from { // the place of an earlier cut
				cuts[n-1].to = to
			}
			if line == "" || over <= 0 || from == 0 || overlaps(out.Mark, from, to) || !leavesOut(line) {
				continue
			}
			over -= width(Visible(line))
			before := len(cuts)
			cuts = appendCut(cuts, from, to)
			over += len(cuts) - before // each cut shows an ellipsis
		}
		cutOut(out, cuts)
	}
	return out
}

// isOrdinaryHeader reports whether a line of a head has one of the ordinaryHeaders.
func isOrdinaryHeader(line string) bool {
	text := strings.ToLower(strings.TrimRight(line, "\r\n"))
	return slices.ContainsFunc(ordinaryHeaders, func(h string) bool { return text == h || strings.HasSuffix(h, ":") && strings.HasPrefix(text, h) })
}
