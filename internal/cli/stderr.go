package cli

import (
	"cmp"
	"fmt"

	"github.com/mcp-conform/mcp-conform/reporters"
)

// stderrLines bounds what is quoted of a server's stderr.
const stderrLines = 12

// quoteStderr shows the last lines that the server wrote to stderr, or to both
// its outputs where they say nothing to us.
func (a *app) quoteStderr(text string) {
	fmt.Fprintf(a.Err, "  the server's %s ends with:\n", a.outletName())
	for _, line := range a.stderrEnd(text) {
		fmt.Fprintf(a.Err, "    | %s\n", reporters.Visible(line))
	}
}

// outletName names what is kept of a server's outputs.
func (a *app) outletName() string { return cmp.Or(a.outlet, "stderr") }

// stderrEnd returns the last lines of a server's stderr, without secrets.
func (a *app) stderrEnd(text string) []string {
	all := lines(a.clear(text))
	return all[max(0, len(all)-stderrLines):]
}
