package cli

import (
	"cmp"
	"fmt"

	"github.com/mcp-conform/mcp-conform/reporters"
)

// stderrLines bounds what is quoted of a server's stderr.
const stderrLines = 12

// quoteStderr shows the lines of a server's stderr that say why it ended; the
// last lines where none does. Where its outputs say nothing to us, it is both.
func (a *app) quoteStderr(text string) {
	shown, what := a.stderrEnd(text), "ends with"
	if cause := causeIn(a.clear(text)); cause != nil {
		shown, what = cause, "says"
	}
	fmt.Fprintf(a.Err, "  the server's %s %s:\n", a.outletName(), what)
	for _, line := range shown {
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
