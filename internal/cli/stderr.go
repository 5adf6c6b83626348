package cli

import (
	"cmp"
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/stderr"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// stderrLines limits the number of quoted lines of a server's stderr.
const stderrLines = 12

// quoteStderr prints the lines of a server's stderr that say why it ended, or the last lines if no
// line says why. For a server that was started for a URL, text has both stdout and stderr. A sweep
// finds the cause in these lines.
func (a *app) quoteStderr(text string) {
	shown, what := a.stderrEnd(text), "ends with"
	if cause := stderr.Cause(a.redact(text)); cause != nil {
		shown, what = cause, "says"
	}
	fmt.Fprintf(a.Err, "  the server's %s %s:\n", a.serverOutputName(), what)
	for _, line := range shown {
		fmt.Fprintf(a.Err, "    | %s\n", reporters.Visible(line))
	}
}

// serverOutputName returns the name of the server's kept output.
func (a *app) serverOutputName() string { return cmp.Or(a.outputName, "stderr") }

// stderrEnd returns the last lines of a server's stderr, with secrets removed.
func (a *app) stderrEnd(text string) []string {
	all := splitLines(a.redact(text))
	return all[max(0, len(all)-stderrLines):]
}
