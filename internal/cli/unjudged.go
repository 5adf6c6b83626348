package cli

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// writeUnjudged writes the reports of a run that ended with err before it had a report, and returns
// err. Each report contains the reason and no verdict. Without these reports, a CI job would show
// the files of an earlier run, or no files.
//
// If the user has to change the command line (exit code 2), writeUnjudged only replaces existing
// files that are not empty, so that a mistyped command creates no files.
func (a *app) writeUnjudged(files []reportFile, about verdict.Report, err error) error {
	text, notices := a.explainError(err)
	if a.exitCodeOfError(err) == ExitUsage {
		files = slices.DeleteFunc(slices.Clone(files), func(f reportFile) bool {
			info, err := os.Stat(f.path)
			return f.path == "" || err != nil || info.Size() == 0
		})
	}
	if len(files) == 0 {
		return err
	}
	about.Incomplete, about.Notices = text, notices
	about.Stats.Took = time.Since(about.Stats.Started)
	about.Redact(a.redact)
	if failed := a.writeReports(files, &about); failed != nil {
		a.printFailures(failed)
	}
	return err
}

// explainError returns the text of an error, and notices with advice and the server's stderr.
func (a *app) explainError(err error) (text string, notices []string) {
	text, advice, stderr := errorParts(err)
	notices = splitLines(advice)
	for _, line := range a.stderrEnd(stderr) {
		notices = append(notices, a.serverOutputName()+": "+line)
	}
	return text, notices
}

// splitLines splits text into lines, without empty lines at the end. It returns nil for empty text.
func splitLines(text string) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
