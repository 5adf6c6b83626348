package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// completionShapeFaults returns the faults in the shape of completions.
func completionShapeFaults() []*Fault {
	const shape, complete = "completion.result-schema/", spec.MethodComplete
	completion := func(e edit) *refserver.Seams { return EditResult(complete, editMember("completion", e)) }
	return []*Fault{
		newFault(shape+"bare-values", "values are in the result itself, without the member completion", EditResult(complete, replaceObject(`{"values":["a"]}`))),
		newFault(shape+"array", "the member completion is an array", EditResult(complete, setValue("completion", []any{"a"}))),
		newFault(shape+"no-values", "completion results lack values", completion(omitMembers("values"))),
		newFault(shape+"values-null", "the values of a completion are null", completion(setValue("values", nil))),
		newFault(shape+"values-objects", "the values of a completion are objects", completion(setValue("values", rawJSON(`[{"value":"a","label":"A"}]`)))),
		newFault(shape+"values-numbers", "the values of a completion are numbers", completion(setValue("values", []any{1, 2}))),
		newFault(shape+"total-text", "the total of a completion is a string", completion(setValue("total", "3"))),
		newFault(shape+"total-null", "the total of a completion is null", completion(setValue("total", nil))),
		newFault(shape+"has-more-text", "the hasMore of a completion is a string", completion(setValue("hasMore", "no"))),
		newFault("completion.values.max-100/101", "completion returns 101 values", setCompletion(101, 101, false)),
		newFault("completion.values.max-100/thousand", "completion returns 1,000 values", setCompletion(1000, 2000, true)),
	}
}
