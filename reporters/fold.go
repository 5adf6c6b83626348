package reporters

import "strings"

// Fold breaks a line of visible text between words, so that it takes no more
// columns than there are; what follows the first line is indented. Where
// columns is 0 there is no screen, and the line stays whole, for grep. A word
// that is wider than a line stays whole.
func Fold(line string, columns, indent int) []string {
	if columns <= 0 || width(line) <= columns {
		return []string{line}
	}
	return flow("", 0, words(line), columns, indent)
}

// glued stands for a space at which no line is broken: visible text has no such
// character.
const glued = "\x00"

// words parts a text at its spaces. A dot between two parts stays with the
// first.
func words(text string) []string {
	return strings.Split(strings.ReplaceAll(text, " · ", glued+"· "), " ")
}

// cells parts a text at the dots alone.
func cells(text string) []string {
	return words(strings.ReplaceAll(strings.ReplaceAll(text, " ", glued), glued+"·"+glued, " · "))
}

// flow writes words behind a beginning that takes a number of columns, coloured
// or not, and begins an indented line wherever the next word would not fit.
func flow(lead string, taken int, words []string, columns, indent int) []string {
	var out []string
	line, bare := lead, taken == 0
	for _, word := range words {
		word = strings.ReplaceAll(word, glued, " ")
		gap := " "
		if bare || strings.HasSuffix(line, "  ") && line == lead {
			gap = ""
		}
		if !bare && taken+len(gap)+width(word) > columns {
			out = append(out, strings.TrimRight(line, " "))
			line, taken, gap = strings.Repeat(" ", indent), indent, ""
		}
		line, taken, bare = line+gap+word, taken+len(gap)+width(word), false
	}
	return append(out, line)
}

// folding is where lines are broken; 0 where nobody said how wide the screen is.
func (c *Console) folding() int {
	if c.whole {
		return 0
	}
	return c.o.Width
}

// foldCells breaks a line of the sums, below its first column.
func (c *Console) foldCells(line string) []string {
	if c.folding() == 0 || width(line) <= c.folding() {
		return []string{line}
	}
	if !strings.Contains(line, " · ") {
		return Fold(line, c.folding(), 2)
	}
	return flow("", 0, cells(line), c.folding(), len("2025-11-25  "))
}
