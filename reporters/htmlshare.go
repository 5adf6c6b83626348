package reporters

import "github.com/mcp-conform/mcp-conform/internal/verdict"

// pageShare shows how the requirements of an area ended in a revision, as a bar
// and in words.
type pageShare struct {
	Text, Numbers string
	Length        int
	Bars          []pageBar
}

// pageBar is a part of a bar, in units of which the bar has pageShare.Length.
type pageBar struct {
	Class    string
	X, Width int
}

const (
	shareLength = 1000
	leastBar    = 25 // of each outcome, however rare it is
)

// barOrder begins with what needs a look, and ends with what was not judged.
var barOrder = []verdict.Outcome{
	verdict.HarnessError, verdict.Broken, verdict.Unconfirmed, verdict.Flaky, verdict.Warning, verdict.Note, verdict.Kept, verdict.Blocked, verdict.NotObserved, verdict.NotApplicable,
}

// newShare divides a bar of shareLength in proportion to the counts.
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
