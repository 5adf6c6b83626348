package faults

import (
	"strconv"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// completionShapeFaults are the faults in completions.
func completionShapeFaults() []Fault {
	const shape, complete = "completion.result-schema/", spec.MethodComplete
	completion := func(e edit) refserver.Seams { return EditResult(complete, inside("completion", e)) }
	return []Fault{
		breaks(shape+"bare-values", "completions stand in the result itself", EditResult(complete, becomes(`{"values":["a"]}`))),
		breaks(shape+"array", "a completion is an array", EditResult(complete, put("completion", []any{"a"}))),
		breaks(shape+"no-values", "completions have no values", completion(leaveOut("values"))),
		breaks(shape+"values-null", "the values of completions are null", completion(put("values", nil))),
		breaks(shape+"values-objects", "the values of completions are objects", completion(put("values", raw(`[{"value":"a","label":"A"}]`)))),
		breaks(shape+"values-numbers", "the values of completions are numbers", completion(put("values", []any{1, 2}))),
		breaks(shape+"total-text", "the total of completions is a string", completion(put("total", "3"))),
		breaks(shape+"total-null", "the total of completions is null", completion(put("total", nil))),
		breaks(shape+"has-more-text", "completions say hasMore as a string", completion(put("hasMore", "no"))),
		breaks("completion.values.max-100/101", "completions hold 101 values", completed(101, 101, false)),
		breaks("completion.values.max-100/thousand", "completions hold a thousand values", completed(1000, 2000, true)),
	}
}

// completedFaults are the faults in the numbers of completions.
func completedFaults() []Fault {
	return []Fault{
		breaks("completion.total.not-below-values/zero", "the total of completions is 0 while there are values", completed(2, 0, false)),
		breaks("completion.total.not-below-values/left", "the total of completions is how many are left", completed(3, 1, true)),
		breaks("completion.has-more.consistent/denied", "there are more completions than are given, and hasMore is false", completed(2, 10, false)),
		breaks("completion.has-more.consistent/claimed", "all completions are given, and hasMore is true", completed(2, 2, true)),
	}
}

// completed makes every completion hold so many values, and say how many there are.
func completed(count, total int, hasMore bool) refserver.Seams {
	return EditResult(spec.MethodComplete, inside("completion", func(m map[string]any) {
		values := make([]any, count)
		for i := range values {
			values[i] = strconv.Itoa(i)
		}
		m["values"], m["total"], m["hasMore"] = values, total, hasMore
	}))
}
