package tools_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites/tools"
)

func TestDescriptions(t *testing.T) {
	bare, _ := faults.Lookup("legal/bare-tools")
	for _, m := range []suitetest.Misbehaviour{
		{Name: "described", Case: "tools.lists", Kept: []string{"tools.description.optional"}},
		{Name: "bare", Case: "tools.lists", Seams: func() refserver.Seams { return bare.Seams() }, Want: []string{"tools.description.optional: A tool has no description. (note)"}},
	} {
		m.Try(t, tools.Cases())
	}
}
