package faults

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func rootsFaults() []*Fault {
	const older, newer = "roots.requires-client-capability-2024-11-05/", "roots.requires-client-capability-2025-06-18/"
	const change, gone = "roots.change.handled/", "roots.unavailable.handled/"
	unprompted := requestIf(doesNotDeclare("roots"), spec.MethodRootsList, nil)
	changed := singleMessage(func(m *wire.Message) bool { return m.Method == spec.MethodRootsChanged })
	return []*Fault{
		newFault(older+"unprompted", "the server sends roots/list although roots are not declared", unprompted),
		newFault(older+"by-tool", "a tool sends roots/list although roots are not declared", sendFromTool("ask-roots", doesNotDeclare("roots"), spec.MethodRootsList, nil)).inRevisions(spec.V20250326),
		newFault(newer+"unprompted", "the server sends roots/list although roots are not declared", unprompted),
		newFault(newer+"by-tool", "a tool sends roots/list although roots are not declared", sendFromTool("ask-roots", doesNotDeclare("roots"), spec.MethodRootsList, nil)),

		newFault(change+"dies", "notifications/roots/list_changed ends the process", onIncoming(changed, exitWith(1))),
		newFaultWithState(change+"deaf", "after notifications/roots/list_changed the server responds to nothing", func() *refserver.Seams { return silentAfter(changed) }),
		newFault("roots.change.asks-again/never", "the server sends roots/list only once, whatever changes", onIncoming(changed, dropFrame)),
		newFaultWithState(gone+"error-dies", "an error response to roots/list ends the process", onClientResponse(spec.MethodRootsList, isErrorResponse, exitWith(1))),
		newFaultWithState(gone+"none-dies", "an empty list of roots ends the process", onClientResponse(spec.MethodRootsList, func(m *wire.Message) bool {
			return m.Has("result") && len(wire.Elements(wire.At(m.Result(), "/roots"))) == 0
		}, exitWith(1))),
		newFaultWithState(gone+"error-hangs", "after an error response to roots/list the server waits for ever", func() *refserver.Seams {
			return combineSeams(onClientResponse(spec.MethodRootsList, isErrorResponse, dropFrame)(), &refserver.Seams{RequestTimeout: noTimeout})
		}).inRevisions(spec.V20250326, spec.V20250618, spec.V20251125),
		newFaultWithState(gone+"no-folder-dies", "a root that does not exist ends the process", onClientResponse(spec.MethodRootsList, resultHasText("/roots/0/uri", "file:///mcp-conform/there/is/no/such/folder"), exitWith(1))),
		newFaultWithState("roots.change.asks-again/tool-remembers", "a tool keeps the first result of roots/list after the roots changed", func() *refserver.Seams {
			return combineSeams(onIncoming(changed, dropFrame), memoizeRoots())
		}).inRevisions(revisionsWithReadOnlyHint()...),
	}
}

// memoizeRoots makes the tool ask-roots send roots/list only once in each session.
func memoizeRoots() *refserver.Seams {
	var results sync.Map
	return wrapTool("ask-roots", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if result, ok := results.Load(c.Session); ok {
			return result, nil
		}
		result, err := next(c)
		if err == nil {
			kept := decodeObject(result)
			markMemoized(kept)
			results.Store(c.Session, kept)
			return kept, nil
		}
		return result, err
	})
}

// rootsShapeFaults returns the faults in the shape of roots/list.
func rootsShapeFaults() []*Fault {
	return []*Fault{
		newFault("roots.request.schema/array", "the params of roots/list are an array", requestOnInitialized(spec.MethodRootsList, rawJSON("[]"))),
		newFault("roots.request.schema/meta-array", "the _meta of roots/list is an array", requestOnInitialized(spec.MethodRootsList, rawJSON(`{"_meta":[]}`))),
	}
}
