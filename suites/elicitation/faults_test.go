package elicitation_test

import (
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/elicitation"
)

// TestSlowTools checks that a tool that takes long, or wants something first, after the user
// responded is not blamed for not handling the response.
func TestSlowTools(t *testing.T) {
	for _, x := range []struct {
		name  string
		seams func() refserver.Seams
	}{
		{"what follows when the user accepts takes long", slow(func(text string) bool {
			return text != "The user chose to decline." && text != "The user chose to cancel."
		})},
		{"all tools that ask take long", slow(func(string) bool { return true })},
		{"a visit is wanted first", wantsVisit},
	} {
		suitetest.TryWithRules(t, elicitation.Cases(), x.name, "elicitation.answers", spec.V20251125, x.seams, nil)
	}
}

// slow delays the response to calls of tools whose text satisfies when, beyond the client's
// timeout.
func slow(when func(text string) bool) func() refserver.Seams {
	return suitetest.HandleSeams(func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		result, err := next(c)
		text, _ := wire.Text(wire.At(wire.JSON(result), "/content/0/text"))
		if c.Method == spec.MethodToolsCall && err == nil && wire.At(wire.JSON(result), "/isError") == nil && when(text) {
			select {
			case <-time.After(20 * time.Second):
			case <-c.Context().Done():
			}
		}
		return result, err
	})
}

// wantsVisit makes a tool wait for the visit that the user agreed to.
func wantsVisit() refserver.Seams {
	return refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		result, err := next(c)
		if text, _ := wire.Text(wire.At(wire.JSON(result), "/content/0/text")); text == "The user chose to accept." {
			return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "Please go there first."}}}, nil
		}
		return result, err
	}}
}
