// Command odd runs the server of package oddservers whose name is the file name of the program, so
// that one build serves all of them. The tests run this program rather than the test binary: the
// test binary takes three times as long to start, and the tests start hundreds of servers.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/oddservers"
)

func main() { os.Exit(run(os.Args, os.Stderr)) }

// run returns the exit code of the server. The first argument is the path of the program.
func run(args []string, stderr io.Writer) int {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	serve := oddservers.Programs[name]
	if serve == nil {
		fmt.Fprintf(stderr, "there is no server %q\n", name)
		return 120
	}
	return serve(args[1:])
}
