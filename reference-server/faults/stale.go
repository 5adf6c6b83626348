package faults

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// staleFaults keep what they should make anew, or use up what they should keep.
func staleFaults() []Fault {
	swallowsChange := incoming(single(func(m *wire.Message) bool { return m.Method == spec.MethodRootsChanged }), swallows)
	return []Fault{
		breaksAfresh("prompts.get.own-arguments/remembered", "a prompt is made once, and then returned whatever its arguments are", func() refserver.Seams {
			return remembering(spec.MethodPromptsGet, func(c *refserver.Call) string { return string(wire.At(c.Params, "/name")) })
		}),
		breaksAfresh("resources.templates.listed-again/used-up", "the list of templates is used up by the first that asks for it", func() refserver.Seams {
			var listed sync.Map
			return Handle(spec.MethodResourcesTemplates, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if _, again := listed.LoadOrStore(c.Session, true); again {
					return jsontext.Value(`{"resourceTemplates":[]}`), nil
				}
				return next(c)
			})
		}),
		breaksAfresh("roots.change.asks-again/tool-remembers", "a tool asks for the roots once, and has the same when they have changed", func() refserver.Seams {
			return together(swallowsChange, rememberedRoots())
		}).in(callable()...),
	}
}

// legalStale are the legal variations in what is kept.
func legalStale() []Fault {
	return []Fault{
		legalAfresh("prompts-remembered", "a prompt is made once for the same arguments", func() refserver.Seams {
			return together(EditResult(spec.MethodPromptsGet, marksKept),
				remembering(spec.MethodPromptsGet, func(c *refserver.Call) string { return string(c.Params) }))
		}),
		legalAfresh("roots-remembered", "a tool asks for the roots once, and the server asks anew when they have changed", rememberedRoots),
	}
}

// remembering answers requests of a session that have the same key with the
// first result.
func remembering(method string, key func(c *refserver.Call) string) refserver.Seams {
	type place struct {
		session *refserver.Session
		key     string
	}
	var results sync.Map
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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

// marksKept says in a result that it is kept.
func marksKept(r map[string]any) { r["_meta"] = map[string]any{"com.example/kept": true} }
