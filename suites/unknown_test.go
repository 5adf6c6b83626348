package suites_test

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites"
)

// TestRequestsWithUnknownNamesAreAnswered checks that a missing response counts as a failure even if
// the server answers all other requests: a request with an unknown name runs no code of the server's
// author, which could take any time.
func TestRequestsWithUnknownNamesAreAnswered(t *testing.T) {
	for id, method := range map[string]string{
		"tools.unknown": spec.MethodToolsCall, "prompts.unknown": spec.MethodPromptsGet, "resources.unknown": spec.MethodResourcesRead,
	} {
		seams := suitetest.HandleSeams(func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			name, _ := wire.Text(wire.At(c.Params, "/name"))
			uri, _ := wire.Text(wire.At(c.Params, "/uri"))
			if c.Method == method && strings.Contains(name+uri, "no-such") {
				return nil, refserver.NoResponse
			}
			return next(c)
		})
		suitetest.TryWithRules(t, suites.Cases(), id, id, spec.V20251125, seams, []string{"base.request-answered: The server does not answer a request. (broken)"})
	}
}
