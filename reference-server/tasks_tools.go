package refserver

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// The ends of the background tool.
const (
	endsWell      = "result"
	endsIsError   = "isError"
	endsWithError = "error"
)

// taskTools are the tools that make sense as tasks only.
func taskTools() []*tool {
	return []*tool{{
		name: "background", title: "Work in the background", since: spec.V20251125, tasks: taskRequired,
		description: "Works for a while, then ends as it is told to: with a result, with a result that says isError, or with a JSON-RPC error. " +
			"It can only be called as a task.",
		input: []argument{
			{name: "durationMs", kind: "integer", description: "How long it takes, in milliseconds", standard: 100, max: 60_000},
			{name: "end", kind: "string", description: "How it ends", standard: endsWell, oneOf: []string{endsWell, endsIsError, endsWithError}},
		},
		run: background,
	}}
}

func background(c *Call, a values) object {
	result := slow(c, values{"durationMs": a["durationMs"], "steps": 1})
	switch a["end"] {
	case endsIsError:
		return failed("The work in the background has failed, as it was told to.")
	case endsWithError:
		c.raise(&Error{Code: spec.CodeInternal, Message: "The work in the background ended with an error, as it was told to"})
	}
	return result
}
