package reporters

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// picture is a bar for each area and revision.
type picture struct {
	Width, Height int
	Heads, Labels []pictureText
	Bars          []pictureBar
}

type pictureText struct {
	X, Y int
	Text string
}

type pictureBar struct {
	Class               string
	X, Y, Width, Height int
	Text                string
}

// Measures of the picture, in pixels.
const (
	pictureName   = 150  // the column of names
	pictureWidth  = 1108 // of all, where there are several revisions
	widestColumn  = 320
	pictureGap    = 14
	pictureRow    = 24
	pictureHead   = 24
	pictureBarTop = 4 // within a row
	leastBar      = 4 // of what needs a look, however little it is
)

// drawn draws the verdicts of each area. The length of a bar is the same for
// all: it shows shares, and the table below it shows numbers.
func drawn(r *verdict.Report, areas []string) picture {
	column := min(widestColumn, (pictureWidth-pictureName)/max(1, len(r.Revisions)))
	p := picture{Width: pictureName + len(r.Revisions)*column, Height: pictureHead + len(areas)*pictureRow}
	for i, rev := range r.Revisions {
		p.Heads = append(p.Heads, pictureText{pictureName + i*column, pictureHead - 9, clip(string(rev), 24)})
	}
	for row, area := range areas {
		y := pictureHead + row*pictureRow
		p.Labels = append(p.Labels, pictureText{0, y + pictureRow - 8, clip(area, 20)})
		for i, rev := range r.Revisions {
			counts, total := counted(r, area, rev)
			p.bar(pictureName+i*column, y+pictureBarTop, column, counts, total, fmt.Sprintf("%s, %s", clip(area, 40), clip(string(rev), 24)))
		}
	}
	return p
}

// barOrder has first what needs a look, then what was kept, then what was not
// judged.
var barOrder = []verdict.Outcome{
	verdict.HarnessError, verdict.Broken, verdict.Unconfirmed, verdict.Flaky, verdict.Warning, verdict.Note, verdict.Kept, verdict.Blocked, verdict.NotObserved, verdict.NotApplicable,
}

func (p *picture) bar(x, y, column int, counts map[verdict.Outcome]int, total int, where string) {
	if total == 0 {
		return
	}
	length := column - pictureGap
	left, weight := length, total
	for _, o := range barOrder {
		n := counts[o]
		if n == 0 {
			continue
		}
		wide := max(left*n/weight, min(leastBar, left))
		if weight == n {
			wide = left
		}
		p.Bars = append(p.Bars, pictureBar{classOf(o), x, y, wide, pictureRow - 2*pictureBarTop, fmt.Sprintf("%s: %d of %d %s", where, n, total, o)})
		x, left, weight = x+wide, left-wide, weight-n
	}
}
