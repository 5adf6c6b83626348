package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcp-conform/mcp-conform/reporters"
)

// stderrLines bounds what is quoted of a server's stderr.
const stderrLines = 12

// quoteStderr shows the last lines that the server wrote to stderr, or to both
// its outputs where they say nothing to us.
func (a *app) quoteStderr(text string) {
	lines := strings.Split(strings.TrimRight(a.clear(text), "\n"), "\n")
	lines = lines[max(0, len(lines)-stderrLines):]
	fmt.Fprintf(a.Err, "  the server's %s ends with:\n", cmp.Or(a.outlet, "stderr"))
	for _, line := range lines {
		fmt.Fprintf(a.Err, "    | %s\n", reporters.Visible(line))
	}
}
