package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes programs of the test binary, for the scripts to run: the
// tool itself, servers that misbehave, and what watches over a run.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mcp-conform": func() { os.Exit(Main(os.Args[1:], System())) },
		"odd":         func() { os.Exit(odd(os.Args[1:])) },
		"exits":       func() { os.Exit(exits(os.Args[1:])) },
	})
}

func TestScripts(t *testing.T) {
	groups, err := filepath.Glob(filepath.Join("testdata", "script", "*"))
	if err != nil || len(groups) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, dir := range groups {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			if testing.Short() && filepath.Base(dir) != "usage" {
				t.Skip("starts servers")
			}
			testscript.Run(t, testscript.Params{Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true})
		})
	}
}
