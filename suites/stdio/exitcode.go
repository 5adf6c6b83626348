package stdio

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// afterTerm is the conventional exit code of a program ended by SIGTERM.
const afterTerm = 143

// judgeExitCode notes a process that ended as requested, but with an exit code that says that it
// failed. The specification defines no exit codes, but programs that start servers look at them. A
// process that was ended by a signal has no exit code.
func judgeExitCode(t *suite.T, c *client.Conversation, requirement, summary string, permitted ...int) {
	for _, e := range c.Record.From(0) {
		if e.Kind == transcript.Exited && e.ExitCode > 0 && !slices.Contains(permitted, e.ExitCode) {
			t.Report(c, verdict.Deviation{
				Requirement: requirement, Summary: summary,
				Permitted: "anything; by convention a program that succeeds exits with 0",
				Seen:      e.Detail, At: []int{e.Seq}, Weight: verdict.OnlyNote,
			})
		}
	}
}
