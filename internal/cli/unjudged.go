package cli

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// unjudged writes the reports of a run that ended with err before it had a
// report, each with the reason and no verdict: otherwise a CI would show the
// files of an earlier run, or none. It returns err.
//
// Where the user has to change the command line (exit code 2), only files that
// are there already are replaced: a mistyped command makes none.
func (a *app) unjudged(files []reportFile, about verdict.Report, err error) error {
	text, notices := a.explained(err)
	if a.exitOf(err) == ExitUsage {
		files = slices.DeleteFunc(slices.Clone(files), func(f reportFile) bool {
			info, err := os.Stat(f.path)
			return f.path == "" || err != nil || info.Size() == 0
		})
	}
	if len(files) == 0 {
		return err
	}
	about.Format, about.Tool, about.Version = verdict.ReportFormat, "mcp-conform", version()
	about.Incomplete, about.Notices = text, notices
	about.Stats.Took = time.Since(about.Stats.Started)
	about.Redact(a.clear)
	if failed := a.writeReports(files, &about); failed != nil {
		a.failures(failed)
	}
	return err
}

// explained returns what an error says, and what to do about it.
func (a *app) explained(err error) (text string, notices []string) {
	text = err.Error()
	var unreachable *engine.UnreachableError
	switch {
	case errors.As(err, new(*target.UsageError)):
		text, advice, _ := strings.Cut(text, "\n")
		return text, lines(advice)
	case errors.As(err, &unreachable):
		notices = lines(unreachable.Advice)
		for _, line := range a.stderrEnd(unreachable.Stderr) {
			notices = append(notices, a.outletName()+": "+line)
		}
	}
	return text, notices
}

// lines splits a text into its lines; an empty one has none.
func lines(text string) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
