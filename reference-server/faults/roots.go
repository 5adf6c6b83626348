package faults

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func rootsFaults() []Fault {
	const older, newer = "roots.requires-client-capability-2024-11-05/", "roots.requires-client-capability-2025-06-18/"
	const change, gone = "roots.change.handled/", "roots.unavailable.handled/"
	unprompted := asksWhere(lacks("roots"), spec.MethodRootsList, nil)
	changed := single(func(m *wire.Message) bool { return m.Method == spec.MethodRootsChanged })
	return []Fault{
		breaks(older+"unprompted", "the roots are asked for whatever the client has declared", unprompted),
		breaks(older+"by-tool", "a tool asks for the roots whatever the client has declared", toolAsks("ask-roots", lacks("roots"), spec.MethodRootsList, nil)).in(spec.V20250326),
		breaks(newer+"unprompted", "the roots are asked for whatever the client has declared", unprompted),
		breaks(newer+"by-tool", "a tool asks for the roots whatever the client has declared", toolAsks("ask-roots", lacks("roots"), spec.MethodRootsList, nil)),

		breaks(change+"dies", "that the roots change ends the process", incoming(changed, diesOf(1))),
		breaksAfresh(change+"deaf", "after the roots changed nothing is answered any more", func() refserver.Seams { return deafAfter(changed) }),
		breaks("roots.change.asks-again/never", "the roots are asked for once, and never again", incoming(changed, swallows)),
		breaksAfresh(gone+"error-dies", "roots that can't be told end the process", onReply(spec.MethodRootsList, isFailure, diesOf(1))),
		breaksAfresh(gone+"none-dies", "a client without roots ends the process", onReply(spec.MethodRootsList, func(m *wire.Message) bool {
			return m.Has("result") && len(wire.Elements(wire.At(m.Result(), "/roots"))) == 0
		}, diesOf(1))),
		breaksAfresh(gone+"error-hangs", "roots that can't be told are waited for, for ever", func() refserver.Seams {
			return together(onReply(spec.MethodRootsList, isFailure, swallows)(), refserver.Seams{RequestTimeout: patient})
		}).in(spec.V20250326, spec.V20250618, spec.V20251125),
		breaksAfresh(gone+"no-folder-dies", "a root that does not exist ends the process", onReply(spec.MethodRootsList, saying("/roots/0/uri", "file:///mcp-conform/there/is/no/such/folder"), diesOf(1))),
		breaksAfresh("roots.change.asks-again/tool-remembers", "a tool asks for the roots once, and has the same when they have changed", func() refserver.Seams {
			return together(incoming(changed, swallows), rememberedRoots())
		}).in(callable()...),
	}
}

// rememberedRoots has the tool that asks for the roots ask once a session.
func rememberedRoots() refserver.Seams {
	var results sync.Map
	return calling("ask-roots", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if result, ok := results.Load(c.Session); ok {
			return result, nil
		}
		result, err := next(c)
		if err == nil {
			kept := plain(result)
			marksKept(kept)
			results.Store(c.Session, kept)
			return kept, nil
		}
		return result, err
	})
}

// rootsShapeFaults are the faults in the shape of roots/list.
func rootsShapeFaults() []Fault {
	return []Fault{
		breaks("roots.request.schema/array", "the params of roots/list are an array", asksWhenReady(spec.MethodRootsList, raw("[]"))),
		breaks("roots.request.schema/meta-array", "the _meta of roots/list is an array", asksWhenReady(spec.MethodRootsList, raw(`{"_meta":[]}`))),
	}
}
