package reporters

import (
	"io"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Entry renders a finding as the console lists it, a line each.
func Entry(f *verdict.Finding, o ConsoleOptions) []string {
	lines := NewConsole(io.Discard, o).entryLines(&entry{Finding: *f, revisions: []spec.Revision{f.Revision}})
	for i := range lines {
		lines[i] = defuse(lines[i])
	}
	return lines
}

// Exchange renders the events of a finding as the console does, without
// colours: a line each with an arrow, the offending one marked, cut to a
// number of columns. Where there are many, the last line says how many are
// left out.
func Exchange(events []verdict.Evidence, columns int) []string {
	return NewConsole(io.Discard, ConsoleOptions{Width: columns}).excerptLines(events, excerptMax)
}
