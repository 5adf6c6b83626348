package reporters

import (
	"io"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Entry renders a finding as the console lists it, one string for each line.
func Entry(f *verdict.Finding, o ConsoleOptions) []string {
	lines := NewConsole(io.Discard, o).entryLines(&entry{Finding: *f, revisions: []spec.Revision{f.Revision}})
	for i := range lines {
		lines[i] = escapeCICommands(lines[i])
	}
	return lines
}

// Exchange renders the events of a finding as the console does, without
// colours: one line each with an arrow, the offending one marked, cut to a
// number of columns. If there are too many events, the last line says how many
// are omitted.
func Exchange(events []verdict.Evidence, columns int) []string {
	return NewConsole(io.Discard, ConsoleOptions{Width: columns}).excerptLines(events, excerptMax)
}
