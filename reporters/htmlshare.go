package reporters

import "github.com/mcp-conform/mcp-conform/internal/verdict"

// pageShare shows the outcomes of an area in a revision, as a bar and as text.
type pageShare struct {
	Text, Numbers string
	Length        int
	Bars          []pageBar
}

// pageBar is a segment of a bar. pageShare.Length is the length of the whole
// bar in the same unit.
type pageBar struct {
	Class    string
	X, Width int
}

const (
	shareLength = 1000
	leastBar    = 25 // minimum length for an outcome that occurs
)

// barOrder begins with the outcomes that need attention and ends with those
// that were not judged.
var barOrder = []verdict.Outcome{
	verdict.HarnessError, verdict.Broken, verdict.Unconfirmed, verdict.Flaky, verdict.Warning, verdict.Note, verdict.Kept, verdict.Blocked, verdict.NotObserved, verdict.NotApplicable,
}

// newShare divides a bar of length shareLength in proportion to the counts.
func newShare(counts map[verdict.Outcome]int, total int) pageShare {
	s := pageShare{Length: shareLength}
	x, left, weight := 0, shareLength, total
	for _, o := range barOrder {
		n := counts[o]
		if n == 0 {
			continue
		}
		wide := max(left*n/weight, min(leastBar, left))
		if weight == n {
			wide = left
		}
		s.Bars = append(s.Bars, pageBar{classOf(o), x, wide})
		x, left, weight = x+wide, left-wide, weight-n
	}
	return s
}
