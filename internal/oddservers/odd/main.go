// Command odd runs the server of package oddservers that has the name of the program, so that one
// build serves all of them. It is not the test binary that runs them, because that takes three times as
// long to start, and the tests start hundreds of servers.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/oddservers"
)

func main() {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	serve := oddservers.Programs[name]
	if serve == nil {
		fmt.Fprintf(os.Stderr, "there is no server %q\n", name)
		os.Exit(120)
	}
	os.Exit(serve(os.Args[1:]))
}
