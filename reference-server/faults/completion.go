package faults

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const noValues = `{"completion":{"values":[],"total":0,"hasMore":false}}`

// completionFaults are those in what is completed.
func completionFaults() []Fault {
	served := func(words string) refserver.Seams {
		return onErrors(spec.MethodComplete, words, func(*refserver.Error) (any, *refserver.Error) { return jsontext.Value(noValues), nil })
	}
	coded := func(words string, code spec.Code) refserver.Seams {
		return onErrors(spec.MethodComplete, words, func(err *refserver.Error) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: code, Message: err.Message}
		})
	}
	lacks := func(part string) func(c *refserver.Call) bool {
		return func(c *refserver.Call) bool { return session(c) && wire.At(c.Params, part) == nil }
	}
	answers := func(when func(c *refserver.Call) bool) refserver.Seams {
		return Handle(spec.MethodComplete, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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
	refuses := func(when func(c *refserver.Call) bool, code spec.Code) refserver.Seams {
		return refuse(spec.MethodComplete, when, code, "This can't be completed")
	}
	return []Fault{
		breaks("completion.capability.declared/missing", "values are given, and completions are not declared", undeclared("completions")),
		breaks("completion.unsupported-method-not-found/no-values", "completions are not declared, and a result without values is given", together(undeclared("completions"), answers(session))),
		breaks("completion.unsupported-method-not-found/invalid-params", "completions are not declared, and are refused with -32602",
			together(undeclared("completions"), refuses(session, spec.CodeInvalidParams))),
		breaks("completion.answered/unknown-method", "completion/complete is an unknown method", refuses(session, spec.CodeMethodNotFound)),
		breaks("completion.unknown-prompt/no-values", "unknown prompts have no values", served(unknown)),
		breaks("completion.unknown-prompt/internal-error", "unknown prompts get -32603", coded(unknown, spec.CodeInternal)),
		breaks("completion.missing-arguments/no-ref", "values are given without saying of what", answers(lacks("/ref"))),
		breaks("completion.missing-arguments/no-argument", "values are given without an argument", answers(lacks("/argument"))),
		breaks("completion.missing-arguments/no-name", "values are given for an argument without a name", answers(lacks("/argument/name"))),
		breaks("completion.missing-arguments/no-value", "values are given where nothing is to be completed", answers(lacks("/argument/value"))),
		breaks("completion.missing-arguments/internal-error", "a request without a reference gets -32603", refuses(lacks("/ref"), spec.CodeInternal)),
		breaks("completion.missing-arguments/any-reference", "values are given for references of any type", served("ref.type must be")),
		breaks("completion.validates-inputs/number", "a number is completed", answers(value(func(v jsontext.Value) bool { return v.Kind() == '0' }))),
		breaks("completion.ref.prompt/refused", "arguments of prompts can't be completed", refuses(about("ref/prompt"), spec.CodeInvalidParams)),
		breaks("completion.ref.template/refused", "variables of templates can't be completed", refuses(about("ref/resource"), spec.CodeInvalidParams)),
		breaks("completion.empty-value/refused", "nothing typed is refused", refuses(value(func(v jsontext.Value) bool { return string(v) == `""` }), spec.CodeInvalidParams)),
		breaks("completion.context.accepted/refused", "context is refused", refuses(func(c *refserver.Call) bool { return wire.At(c.Params, "/context") != nil }, spec.CodeInvalidParams)),
	}
}
