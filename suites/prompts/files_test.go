package prompts_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites/prompts"
)

// TestFilesOverHTTP checks that local file names are also tried with a server at a loopback address,
// which can read them.
func TestFilesOverHTTP(t *testing.T) {
	const validates = "prompts.security.validate-inputs-and-outputs"
	fault, ok := faults.Lookup(validates + "/path")
	if !ok {
		t.Fatal("the fault is gone")
	}
	for _, m := range []suitetest.Misbehaviour{
		{Name: "all is well", Kept: []string{validates}},
		{
			Name: "a file shown", Seams: fault.Seams,
			Want: []string{validates + ": The server's prompt shows a file named in its argument. (note)"},
		},
	} {
		m.Case, m.Transport = "prompts.files", spec.StreamableHTTP
		m.Try(t, prompts.Cases())
	}
}
