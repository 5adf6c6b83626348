package faults

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// memoize returns the first result that a session gets for a key, for all later requests of that
// session that have that key.
func memoize(method string, key func(c *refserver.Call) string) *refserver.Seams {
	type place struct {
		session *refserver.Session
		key     string
	}
	var results sync.Map
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		at := place{c.Session, key(c)}
		if result, ok := results.Load(at); ok {
			return result, nil
		}
		result, err := next(c)
		if err == nil {
			results.Store(at, result)
		}
		return result, err
	})
}

// markMemoized marks a result in its _meta as memoized.
func markMemoized(r map[string]any) { r["_meta"] = map[string]any{"com.example/kept": true} }

// memoizedPromptFaults returns the faults that memoize results without regard to the
// arguments.
func memoizedPromptFaults() []*Fault {
	return []*Fault{
		newFaultWithState("prompts.get.own-arguments/remembered", "prompts/get returns the first result whatever the arguments", func() *refserver.Seams {
			return memoize(spec.MethodPromptsGet, func(c *refserver.Call) string { return string(wire.At(c.Params, "/name")) })
		}),
	}
}

// legalMemoizedPrompts returns the legal variations that memoize results, with all params as the
// key.
func legalMemoizedPrompts() []*Fault {
	return []*Fault{
		newVariationWithState("prompts-remembered", "prompts/get returns the same result for the same arguments", func() *refserver.Seams {
			return combineSeams(EditResult(spec.MethodPromptsGet, markMemoized),
				memoize(spec.MethodPromptsGet, func(c *refserver.Call) string { return string(c.Params) }))
		}),
	}
}
