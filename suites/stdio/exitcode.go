package stdio

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// afterTerm is the code by which a program says that SIGTERM ended it.
const afterTerm = 143

// judgeExitCode notes that a process which ended as it was asked to has a code that
// says it failed. The specification names no code; who starts servers looks at
// it. That a signal ended it is no code.
func judgeExitCode(t *suite.T, c *client.Conversation, requirement, summary string, permitted ...int) {
	for _, e := range c.Record.From(0) {
		if e.Kind == transcript.Exited && e.ExitCode > 0 && !slices.Contains(permitted, e.ExitCode) {
			t.Deviates(c, verdict.Deviation{
				Requirement: requirement, Summary: summary,
				Permitted: "anything; by convention a program that succeeds exits with 0",
				Seen:      e.Detail, At: []int{e.Seq}, Weight: verdict.OnlyNote,
			})
		}
	}
}
