package cli

import (
	"fmt"
	"io"
	"strings"
)

// row is one line of a list. A terminal shows the columns id, short and title; a file or a pipe
// gets all four.
type row struct{ id, short, long, title string }

// widestID is the largest width of the id column. Longer ids push the rest of
// their line to the right.
const widestID = 46

// printRows prints the rows. On a terminal it aligns them. Otherwise it separates the columns with
// tabs, for grep and cut, and all lists have the same four columns.
func printRows(w io.Writer, columns int, rows []row) {
	if columns > 0 {
		printAligned(w, columns, rows)
		return
	}
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join([]string{r.id, r.short, r.long, r.title}, "\t"))
	}
}

// printAligned aligns the columns, and cuts the lines to the width of the terminal if there is one.
func printAligned(w io.Writer, columns int, rows []row) {
	idWidth, shortWidth := 0, 0
	for _, r := range rows {
		idWidth = min(max(idWidth, len(r.id)), widestID)
		shortWidth = max(shortWidth, len(r.short))
	}
	for _, r := range rows {
		line := pad(r.id, idWidth) + pad(r.short, shortWidth) + r.title
		if columns > 0 {
			line = cutLine(line, columns)
		}
		fmt.Fprintln(w, line)
	}
}

// cutLine returns a line or, if it is longer than the given number of characters, its beginning
// with an ellipsis. The line must be safe for a terminal, and without secrets.
func cutLine(line string, columns int) string {
	if chars := []rune(line); len(chars) > columns {
		return string(chars[:max(0, columns-1)]) + "…"
	}
	return line
}

// pad pads the text of a cell and adds the space between columns. It returns "" for a column of
// width 0.
func pad(text string, width int) string {
	if width == 0 {
		return ""
	}
	return fmt.Sprintf("%-*s  ", width, text)
}
