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

// printRows prints the rows in columns: whole, or cut to the width of a screen.
func printRows(w io.Writer, columns int, rows []row) {
	idWidth, shortWidth, longWidth := 0, 0, 0
	for _, r := range rows {
		idWidth = max(idWidth, len(r.id))
		shortWidth = max(shortWidth, len(r.short))
		longWidth = max(longWidth, len(r.long))
	}
	if columns > 0 {
		idWidth, longWidth = min(idWidth, widestID), 0
	}
	for _, r := range rows {
		line := pad(r.id, idWidth) + pad(r.short, shortWidth)
		if columns > 0 {
			fmt.Fprintln(w, cut(line+r.title, columns))
			continue
		}
		fmt.Fprintln(w, strings.TrimRight(line+pad(r.long, longWidth)+r.title, " "))
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
