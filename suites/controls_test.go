package suites_test

import (
	"slices"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites"
)

// TestRefusalsWithFailingControls checks that a refusal shows nothing if the server refuses ordinary
// requests too.
func TestRefusalsWithFailingControls(t *testing.T) {
	panics := func(methods ...string) func() refserver.Seams {
		return suitetest.HandleSeams(func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			if slices.Contains(methods, c.Method) {
				text := "index out of range [12]"
				if name, ok := wire.Text(wire.At(c.Params, "/name")); ok && c.Method != spec.MethodToolsCall {
					text = "panic in " + name + ": " + text
				}
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: text}
			}
			return next(c)
		})
	}
	unreachable := suitetest.HandleSeams(func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		if result, err := next(c); c.Method != spec.MethodToolsCall || err != nil {
			return result, err
		}
		return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "getaddrinfo ENOTFOUND api.example"}}}, nil
	})
	const same = "gives the same response to"
	listless := suitetest.HandleSeams(func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		if c.Method == spec.MethodToolsList {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "unknown tenant"}
		}
		return next(c)
	})
	for _, u := range []suitetest.UnclearServer{
		{
			Name: "lists that fail in both eras", Case: "stateless.initialize", Revision: spec.V20260728, Seams: listless, May: []string{"tools.list.answered"},
		},
		{
			Name: "tools that always panic, given wrong arguments", Case: "tools.wrong-arguments", Seams: panics(spec.MethodToolsCall),
			Reasons: map[string]string{
				"tools.call.validates-inputs": same, "tools.call.invalid-arguments-is-execution-error-2025-11-25": same,
			},
		},
		{
			Name: "tools that reach nobody", Case: "tools.wrong-arguments", Seams: unreachable,
			Reasons: map[string]string{"tools.call.validates-inputs": "ENOTFOUND"},
		},
		{
			Name: "tools that always panic, an unknown one", Case: "tools.unknown", Seams: panics(spec.MethodToolsCall),
			Reasons: map[string]string{"tools.call.unknown-tool-error": same, "tools.call.unknown-tool-code": same, "tools.name.case-sensitive": same},
		},
		{
			Name: "tools that always panic, malformed calls", Case: "tools.malformed-calls", Seams: panics(spec.MethodToolsCall),
			Reasons: map[string]string{"tools.call.malformed-request-error": same},
		},
		{
			Name: "prompts that always panic", Case: "prompts.wrong-arguments", Seams: panics(spec.MethodPromptsGet),
			Reasons: map[string]string{"prompts.get.missing-required-argument": same},
		},
		{
			Name: "prompts that always panic, an unknown one", Case: "prompts.unknown", Seams: panics(spec.MethodPromptsGet),
			Reasons: map[string]string{"prompts.get.unknown-name": same},
		},
		{
			Name: "resources that can't be read", Case: "resources.unknown", Revision: spec.V20250618, Seams: panics(spec.MethodResourcesRead),
			Reasons: map[string]string{"resources.read.not-found-code-2024-11-05": same},
		},
		{
			Name: "resources that can't be read, without a URI", Case: "resources.bad-uris", Seams: panics(spec.MethodResourcesRead),
			Reasons: map[string]string{"resources.read.missing-uri-param": same, "resources.read.validates-uri": same},
		},
		{
			Name: "completion that always panics", Case: "completion.malformed", Seams: panics(spec.MethodComplete), May: []string{"completion.ref.prompt"},
			Reasons: map[string]string{"completion.missing-arguments": same},
		},
	} {
		u.Try(t, suites.Cases())
	}
}
