package sampling_test

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/sampling"
)

// TestToolThatAlwaysFails checks that a tool that fails whatever the client responds is not blamed
// for the response.
func TestToolThatAlwaysFails(t *testing.T) {
	suitetest.TryWithRules(t, sampling.Cases(), "fails", "sampling.answers", spec.V20251125, failing, nil)
}

// failing makes every tool that samples fail in the end.
func failing() refserver.Seams {
	return refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		result, err := next(c)
		if name, _ := wire.Text(wire.At(c.Params, "/name")); strings.HasPrefix(name, "ask-sampling") {
			return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "It failed."}}}, nil
		}
		return result, err
	}}
}
