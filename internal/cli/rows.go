package cli

import (
	"fmt"
	"io"
	"strings"
)

// row is one line of a list. The short column stands on every screen, the
// long one only where there is no screen: in a file or a pipe.
type row struct{ id, short, long, title string }

// widestID is where the columns after the ids begin at the latest; longer ids
// push the rest of their line.
const widestID = 46

// printRows prints the rows: in columns, cut to the width of a screen, or,
// where there is none, whole with tabs between the columns, for grep and cut.
// Then all lists have the same four columns, so that a column keeps its number.
func printRows(w io.Writer, columns int, rows []row) {
	idWidth, shortWidth := 0, 0
	for _, r := range rows {
		idWidth = min(max(idWidth, len(r.id)), widestID)
		shortWidth = max(shortWidth, len(r.short))
	}
	for _, r := range rows {
		if columns > 0 {
			fmt.Fprintln(w, cut(pad(r.id, idWidth)+pad(r.short, shortWidth)+r.title, columns))
		} else {
			fmt.Fprintln(w, strings.Join([]string{r.id, r.short, r.long, r.title}, "\t"))
		}
	}
}

// cut shortens a line of our own making to a number of characters.
func cut(line string, columns int) string {
	if chars := []rune(line); len(chars) > columns {
		return string(chars[:max(0, columns-1)]) + "…"
	}
	return line
}

// pad fills a cell of a column, and adds what parts it from the next.
func pad(text string, width int) string {
	if width == 0 {
		return ""
	}
	return fmt.Sprintf("%-*s  ", width, text)
}
