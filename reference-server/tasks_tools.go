package refserver

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// The outcomes of the background tool.
const (
	endsWell      = "result"
	endsIsError   = "isError"
	endsWithError = "error"
)

// taskTools returns the tools that require a task.
func taskTools() []*tool {
	return []*tool{{
		name: "background", title: "Work in the background", since: spec.V20251125, until: spec.V20251125, tasks: taskRequired,
		description: "Works for a while, then ends as its arguments say: with a result, with a result that says isError, or with a JSON-RPC error. " +
			"It can only be called as a task.",
		input: []argument{
			{name: "durationMs", kind: "integer", description: "How long it takes, in milliseconds", defaultValue: 100, max: 60_000},
			{name: "end", kind: "string", description: "How it ends", defaultValue: endsWell, oneOf: []string{endsWell, endsIsError, endsWithError}},
		},
		run: runBackground,
	}}
}

func runBackground(c *Call, a values) object {
	result := runSlow(c, values{"durationMs": a["durationMs"], "steps": 1})
	switch a["end"] {
	case endsIsError:
		return errorResult("The work in the background has failed, as its arguments say.")
	case endsWithError:
		c.failWith(&Error{Code: spec.CodeInternal, Message: "The work in the background ended with an error, as its arguments say"})
	}
	return result
}
