package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// codeFaults returns the faults in error codes, params and trace context of 2026-07-28.
func codeFaults() []*Fault {
	const params, reserved, meaning, retired, trace = "base.invalid-params-2026-07-28/", "base.error-code-reserved-range/", "base.error-code-defined-meaning/", "base.error-code-retired/", "base.meta-trace-context/"
	complete := not(both(lacksMeta(spec.MetaVersion), lacksMeta(spec.MetaClientCapabilities)))
	recode := func(method string, code spec.Code) *refserver.Seams {
		return editStatelessErrors(spec.CodeInvalidParams, both(ofMethods(method), complete), func(e *refserver.Error) { e.Code = code })
	}
	unnamed := func(c *refserver.Call) bool {
		return ofMethods(spec.MethodToolsCall, spec.MethodPromptsGet)(c) && wire.At(c.Params, "/name") == nil || c.Method == spec.MethodResourcesRead && wire.At(c.Params, "/uri") == nil
	}
	traced := func(key, value string) *refserver.Seams {
		return editStatelessResult(ofMethods(spec.MethodToolsCall, spec.MethodResourcesRead), editMember("_meta", setValue(key, value)))
	}
	return []*Fault{
		newFault(params+"internal-error", "missing params get -32603", editStatelessErrors(spec.CodeInvalidParams, unnamed, func(e *refserver.Error) { e.Code = spec.CodeInternal })),
		newFault(params+"served", "prompts/get without a name is served", WrapHandler(spec.MethodPromptsGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if isStatelessCall(c) && unnamed(c) {
				return map[string]any{"resultType": "complete", "messages": []any{}}, nil
			}
			return next(c)
		})),
		newFault(reserved+"own", "a resource that does not exist gets -32050", recode(spec.MethodResourcesRead, -32050)),
		newFault(reserved+"next", "an unknown tool gets -32023", recode(spec.MethodToolsCall, -32023)),
		newFault(meaning+"header-mismatch", "an unknown prompt gets -32020", recode(spec.MethodPromptsGet, spec.CodeHeaderMismatch)),
		newFault(meaning+"unsupported-version", "an unknown tool gets -32022", recode(spec.MethodToolsCall, spec.CodeUnsupported)),
		newFault(retired+"resource", "a resource that does not exist gets -32002", recode(spec.MethodResourcesRead, spec.CodeResourceNotFound)),
		newFault(retired+"elicitation", "an undeclared capability gets -32042", editStatelessErrors(spec.CodeMissingClientCap, always, func(e *refserver.Error) {
			e.Code, e.Data = spec.CodeURLElicitation, map[string]any{"elicitations": []any{}}
		})),
		newFault(trace+"short", "results have a traceparent whose ids are too short", traced("traceparent", "00-1-2-01")),
		newFault(trace+"capitals", "results have a traceparent in upper case", traced("traceparent", "00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01")),
		newFault(trace+"baggage", "results have baggage that is a sentence", traced("baggage", "from alice")),
	}
}
