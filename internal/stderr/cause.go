// Package stderr finds in the output of a program why it ended.
package stderr

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

// causes match the lines of stderr in which language runtimes, npm and shells say why a program
// ended. The first entry that matches any line is used. If several lines match it, the first one is
// the cause, or the last one if last is set, because some runtimes print nested errors with the
// innermost one at the end.
var causes = []struct {
	line *lazyregexp.Regexp
	last bool
}{
	{lazyregexp.New(`^Caused by: `), true},                                              // Java
	{lazyregexp.New(`^Exception in thread |^Unhandled exception\.? `), false},           // Java, .NET
	{lazyregexp.New(`^(panic|fatal error): |^thread '.*' panicked at`), false},          // Go, Rust
	{lazyregexp.New(`^(Uncaught )?([\w.]*(Error|Exception|Exit)\b[^:]{0,40}): `), true}, // Python, Node
	{lazyregexp.New(`^npm (error|ERR!) (code [A-Z]+|[^ca]|[ca][^oh])`), false},
	{lazyregexp.New(`(?i)(: not found|no such file or directory|permission denied|address already in use)$`), false},
}

// stackFrame matches a line of a stack trace: a frame, a marker under quoted source code, or a line
// that begins or ends the trace.
var stackFrame = lazyregexp.New(`^\s+(at|in|from|File|\^+|~+)\b|^\s*[\^~]+\s*$|^\s*\.\.\. |^goroutine \d+|^\s+\S+\.go:\d+|^node:internal|^Node\.js v|^Traceback|^stack backtrace|^note: run with`)

// Searched is the number of bytes at the end of a program's stderr that a caller should pass to
// Cause.
const Searched = 16 << 10

// maxCause is the maximum number of lines that Cause returns.
const maxCause = 3

// Cause returns the lines of a program's stderr that say why it ended, at most maxCause and
// without the stack trace, or nil if no line says why.
func Cause(text string) []string {
	all := strings.Split(text, "\n")
	for _, c := range causes {
		at := -1
		for i, line := range all {
			if c.line.MatchString(strings.TrimSpace(line)) && !stackFrame.MatchString(line) {
				if at = i; !c.last {
					break
				}
			}
		}
		if at < 0 {
			continue
		}
		rest := all[at+1:]
		if end := slices.IndexFunc(rest, func(line string) bool { return strings.TrimSpace(line) == "" || stackFrame.MatchString(line) }); end >= 0 {
			rest = rest[:end]
		}
		return append([]string{all[at]}, rest[:min(len(rest), maxCause-1)]...)
	}
	return nil
}
