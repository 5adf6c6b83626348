package faults

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const noValues = `{"completion":{"values":[],"total":0,"hasMore":false}}`

// completionFaults returns the faults in handling completion/complete.
func completionFaults() []*Fault {
	served := func(words string) *refserver.Seams {
		return onErrors(spec.MethodComplete, words, func(*refserver.Error) (any, *refserver.Error) { return jsontext.Value(noValues), nil })
	}
	coded := func(words string, code spec.Code) *refserver.Seams {
		return onErrors(spec.MethodComplete, words, func(err *refserver.Error) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: code, Message: err.Message}
		})
	}
	lacks := func(part string) func(c *refserver.Call) bool {
		return func(c *refserver.Call) bool { return isInitialized(c) && wire.At(c.Params, part) == nil }
	}
	answers := func(when func(c *refserver.Call) bool) *refserver.Seams {
		return WrapHandler(spec.MethodComplete, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if when(c) {
				return jsontext.Value(noValues), nil
			}
			return next(c)
		})
	}
	about := func(kind string) func(c *refserver.Call) bool {
		return func(c *refserver.Call) bool { return string(wire.At(c.Params, "/ref/type")) == `"`+kind+`"` }
	}
	value := func(fits func(v jsontext.Value) bool) func(c *refserver.Call) bool {
		return func(c *refserver.Call) bool { return fits(wire.At(c.Params, "/argument/value")) }
	}
	const unknown = "no such prompt"
	refuses := func(when func(c *refserver.Call) bool, code spec.Code) *refserver.Seams {
		return refuseCalls(spec.MethodComplete, when, code, "This can't be completed")
	}
	return []*Fault{
		newFault("completion.capability.declared/missing", "the server completes values but does not declare completions", withholdCapabilities("completions")),
		newFault("completion.unsupported-method-not-found/no-values", "the server does not declare completions, and returns no values", combineSeams(withholdCapabilities("completions"), answers(isInitialized))),
		newFault("completion.unsupported-method-not-found/invalid-params", "the server does not declare completions, and refuses them with -32602",
			combineSeams(withholdCapabilities("completions"), refuses(isInitialized, spec.CodeInvalidParams))),
		newFault("completion.answered/unknown-method", "completion/complete gets -32601", refuses(isInitialized, spec.CodeMethodNotFound)),
		newFault("completion.unknown-prompt/no-values", "completion for an unknown prompt returns no values instead of an error", served(unknown)),
		newFault("completion.unknown-prompt/internal-error", "completion for an unknown prompt gets -32603", coded(unknown, spec.CodeInternal)),
		newFault("completion.missing-arguments/no-ref", "completion without ref returns values", answers(lacks("/ref"))),
		newFault("completion.missing-arguments/no-argument", "completion without argument returns values", answers(lacks("/argument"))),
		newFault("completion.missing-arguments/no-name", "completion without argument.name returns values", answers(lacks("/argument/name"))),
		newFault("completion.missing-arguments/no-value", "completion without argument.value returns values", answers(lacks("/argument/value"))),
		newFault("completion.missing-arguments/internal-error", "completion without ref gets -32603", refuses(lacks("/ref"), spec.CodeInternal)),
		newFault("completion.missing-arguments/any-reference", "completion with a ref of unknown type returns values", served("ref.type must be")),
		newFault("completion.validates-inputs/number", "completion of a number returns values", answers(value(func(v jsontext.Value) bool { return v.Kind() == '0' }))),
		newFault("completion.ref.prompt/refused", "completion of a prompt argument gets -32602", refuses(about("ref/prompt"), spec.CodeInvalidParams)),
		newFault("completion.ref.template/refused", "completion of a template variable gets -32602", refuses(about("ref/resource"), spec.CodeInvalidParams)),
		newFault("completion.empty-value/refused", "completion of an empty value gets -32602", refuses(value(func(v jsontext.Value) bool { return string(v) == `""` }), spec.CodeInvalidParams)),
		newFault("completion.context.accepted/refused", "completion with a context gets -32602", refuses(func(c *refserver.Call) bool { return wire.At(c.Params, "/context") != nil }, spec.CodeInvalidParams)),
	}
}

// completionCountFaults returns the faults in total and hasMore of completions.
func completionCountFaults() []*Fault {
	return []*Fault{
		newFault("completion.total.not-below-values/zero", "the total of a completion is 0 although it has values", setCompletion(2, 0, false)),
		newFault("completion.total.not-below-values/left", "the total of a completion is the number of remaining values", setCompletion(3, 1, true)),
		newFault("completion.has-more.consistent/denied", "hasMore is false although total exceeds the number of values", setCompletion(2, 10, false)),
		newFault("completion.has-more.consistent/claimed", "hasMore is true although all values are returned", setCompletion(2, 2, true)),
	}
}

// setCompletion replaces the values of every completion with the strings from "0" to count-1, and
// sets total and hasMore.
func setCompletion(count, total int, hasMore bool) *refserver.Seams {
	return EditResult(spec.MethodComplete, editMember("completion", func(m map[string]any) {
		values := make([]any, count)
		for i := range values {
			values[i] = strconv.Itoa(i)
		}
		m["values"], m["total"], m["hasMore"] = values, total, hasMore
	}))
}
