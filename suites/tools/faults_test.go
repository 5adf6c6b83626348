package tools_test

import (
	"sync"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	suite "github.com/mcp-conform/mcp-conform/suites/tools"
)

func TestDescriptions(t *testing.T) {
	bare, _ := faults.Lookup("legal/bare-tools")
	for _, m := range []suitetest.Misbehaviour{
		{Name: "described", Case: "tools.lists", Kept: []string{"tools.description.optional"}},
		{Name: "bare", Case: "tools.lists", Seams: func() refserver.Seams { return bare.Seams() }, Want: []string{"tools.description.optional: The server's tool has no description. (note)"}},
	} {
		m.Try(t, suite.Cases())
	}
}

func TestKnownChanges(t *testing.T) {
	tools := inventory.Fixture{Role: inventory.ChangesTools, Tool: "trigger-list-changed", Arguments: map[string]any{"list": "tools"}}
	note := inventory.Fixture{Role: inventory.ChangesResource, Tool: "update-resource", Arguments: map[string]any{"text": "changed {count}"}, Resource: "demo://note"}
	still := note
	still.Arguments = map[string]any{"text": "always the same"}
	fails := inventory.Fixture{Role: inventory.ChangesTools, Tool: "fail"}
	const known = "tools.call.known-effect"
	// first answers a method always with its first result.
	first := func(method string) func() refserver.Seams {
		var once sync.Once
		var result any
		return suitetest.HandleSeams(func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			if c.Method != method {
				return next(c)
			}
			once.Do(func() { result, _ = next(c) })
			return result, nil
		})
	}
	idle := suitetest.HandleSeams(func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		if c.Method == spec.MethodToolsCall {
			return map[string]any{"content": []any{}}, nil // it changes nothing
		}
		return next(c)
	})
	for _, m := range []suitetest.Misbehaviour{
		{Name: "both change", Fixtures: []inventory.Fixture{tools, note}, Kept: []string{known}},
		{Name: "no fixture is configured", Fixtures: nil},
		{Name: "a call that fails", Fixtures: []inventory.Fixture{fails}},
		{Name: "the same text again", Fixtures: []inventory.Fixture{still}, Kept: []string{known}},
		{
			Name: "the contents stay", Fixtures: []inventory.Fixture{note}, Seams: first(spec.MethodResourcesRead),
			Want: []string{known + ": The server's tool does not change the resource as it is known to. (warning)"},
		},
		{
			Name: "the list stays", Fixtures: []inventory.Fixture{tools}, Seams: idle,
			Want: []string{known + ": The server's tool does not change the tools as it is known to. (warning)"},
		},
	} {
		m.Case = "tools.known-changes"
		m.Try(t, suite.Cases())
	}
}

// TestProgressTokensOfCalls checks that calls of tools reveal a wrong progress token even if no
// configuration says that a tool reports progress.
func TestProgressTokensOfCalls(t *testing.T) {
	const fault = "progress.token-echo/text"
	f, ok := faults.Lookup(fault)
	if !ok {
		t.Fatalf("there is no fault %s", fault)
	}
	suitetest.TryWithRules(t, suite.Cases(), fault, "tools.calls", spec.V20251125, func() refserver.Seams { return f.Seams() },
		[]string{"progress.token-echo: The server changes a progressToken. (warning)"})
}
