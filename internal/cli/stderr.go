package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/stderr"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// stderrLines limits the number of quoted lines of a server's stderr.
const stderrLines = 12

// quoteStderr prints the lines of a server's stderr that say why it ended, or the last lines if no
// line says why. For a server that was started for a URL, text has both stdout and stderr.
// quoteStderr also keeps one line in a.quote, for the sweep that started this run, if one did: the
// first line that says why, or else the last line.
func (a *app) quoteStderr(text string) {
	shown, what := a.stderrEnd(text), "ends with"
	cause := stderr.Cause(a.redact(text))
	if cause != nil {
		shown, what = cause, "says"
	}
	head, said := fmt.Sprintf("the server's %s %s:", a.serverOutputName(), what), ""
	fmt.Fprintf(a.Err, "  %s\n", head)
	for _, line := range shown {
		line = reporters.Visible(line)
		fmt.Fprintf(a.Err, "    | %s\n", line)
		if line = strings.TrimSpace(line); line != "" && (cause == nil || said == "") {
			said = line
		}
	}
	if said != "" {
		a.quote = head + " " + said
	}
}

// serverOutputName returns the name of the server's kept output.
func (a *app) serverOutputName() string { return cmp.Or(a.outputName, "stderr") }

// stderrEnd returns the last lines of a server's stderr, with secrets removed.
func (a *app) stderrEnd(text string) []string {
	all := splitLines(a.redact(text))
	return all[max(0, len(all)-stderrLines):]
}
