package elicitation_test

import (
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites/elicitation"
)

func TestFaults(t *testing.T) {
	const (
		declined = "elicitation.response.all-actions-handled-2025-06-18: The server does not answer a call after the user declines. (warning)"
		mode     = "elicitation.mode.supported-only: The server elicits in a mode that the client did not declare. (broken)"
	)
	for _, x := range []struct {
		name, judge string
		seams       func() refserver.Seams
		want        []string
	}{
		{"all is well: asked", "elicitation.asked", nothing, nil},
		{"all is well: one mode", "elicitation.one-mode", nothing, nil},
		{"all is well: answers", "elicitation.answers", nothing, nil},
		{"a page for a client that shows forms", "elicitation.one-mode", fault(t, "elicitation.mode.supported-only/page"), []string{mode}},
		{"declining is not noticed", "elicitation.answers", fault(t, "elicitation.response.all-actions-handled-2025-06-18/decline-hangs"), []string{declined}},
		{"what follows when the user accepts takes long", "elicitation.answers", slow(func(text string) bool {
			return text != "The user chose to decline." && text != "The user chose to cancel."
		}), nil},
		{"all tools that ask take long", "elicitation.answers", slow(func(string) bool { return true }), nil},
		{"a visit is wanted first", "elicitation.answers", wantsVisit, nil},
	} {
		suitetest.TryRuled(t, elicitation.Cases(), x.name, x.judge, spec.V20251125, x.seams, x.want)
	}
}

func nothing() refserver.Seams { return refserver.Seams{} }

func fault(t *testing.T, id string) func() refserver.Seams {
	t.Helper()
	f, ok := faults.Lookup(id)
	if !ok {
		t.Fatalf("there is no fault %s", id)
	}
	return f.Seams
}

// slow delays the response to calls of tools whose text satisfies when, beyond the client's
// timeout.
func slow(when func(text string) bool) func() refserver.Seams {
	return suitetest.Handles(func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
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
