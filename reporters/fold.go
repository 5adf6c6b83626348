package reporters

import "strings"

// WrapLine wraps a line of visible text between words at a number of columns, and
// indents the lines after the first. If columns is 0, the output is not a
// terminal and the line stays whole, for grep. A word that is wider than a line
// is not broken.
func WrapLine(line string, columns, indent int) []string {
	if columns <= 0 || width(line) <= columns {
		return []string{line}
	}
	return appendWrapped("", 0, splitWords(line), columns, indent)
}

// glued represents a space at which a line must not be broken. Visible text
// does not contain this character.
const glued = "\x00"

// splitWords splits text at its spaces. The dot in " · ", which separates two parts of the text,
// stays with the first part.
func splitWords(text string) []string {
	return strings.Split(strings.ReplaceAll(text, " · ", glued+"· "), " ")
}

// splitAtDots splits text only at the dots between its parts.
func splitAtDots(text string) []string {
	return splitWords(strings.ReplaceAll(strings.ReplaceAll(text, " ", glued), glued+"·"+glued, " · "))
}

// appendWrapped appends words to lead, which may contain colours and takes the given number of
// columns. It begins a new line, indented, when the next word does not fit.
func appendWrapped(lead string, taken int, words []string, columns, indent int) []string {
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

// foldWidth returns the width at which lines are wrapped, or 0 if no width is
// known.
func (c *Console) foldWidth() int {
	if c.whole {
		return 0
	}
	return c.o.Width
}

// foldCells wraps a line of the totals, and aligns the following lines with its second column.
func (c *Console) foldCells(line string) []string {
	if c.foldWidth() == 0 || width(line) <= c.foldWidth() {
		return []string{line}
	}
	if !strings.Contains(line, " · ") {
		return WrapLine(line, c.foldWidth(), 2)
	}
	return appendWrapped("", 0, splitAtDots(line), c.foldWidth(), len("2025-11-25  "))
}
