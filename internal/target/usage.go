package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// A UsageError reports that the user's input does not name a server to judge. It makes the
// program exit with code 2. None of its strings contains a secret.
type UsageError struct {
	What   string // one sentence: what is wrong
	Where  string // file:line:column, or empty for the command line
	Advice string // what to do; may have several lines
}

// Error returns Where, What and, on separate lines, Advice.
func (e *UsageError) Error() string {
	text := e.What
	if e.Where != "" {
		text = e.Where + ": " + text
	}
	if e.Advice != "" {
		text += "\n" + e.Advice
	}
	return text
}

// maxJoined is the number of errors that JoinErrors keeps.
const maxJoined = 10

// JoinErrors returns an error that joins the errors, as errors.Join does, but only the first few of
// many: the last one then says how many it left out. The only error is returned as it is.
func JoinErrors(errs []error) error {
	switch n := len(errs); {
	case n == 1:
		return errs[0]
	case n <= maxJoined+1: // a line more is no longer than a line about it
		return errors.Join(errs...)
	default:
		return errors.Join(append(slices.Clone(errs[:maxJoined]), &UsageError{What: fmt.Sprintf("%d more errors like these", n-maxJoined)})...)
	}
}

func newUsageError(where, what string, advice ...string) *UsageError {
	return &UsageError{What: what, Where: where, Advice: strings.Join(advice, "\n")}
}

// messageWithoutPath returns the message of a file error without the path, which the caller's
// message already contains as the user gave it.
func messageWithoutPath(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "it does not exist"
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		return sys.Err.Error()
	}
	return err.Error()
}

func noTargetError() *UsageError {
	return newUsageError("", "no server is named: there is nothing to judge",
		"name its command, after -- when it has arguments:",
		"  mcp-conform run ./my-server",
		"  mcp-conform run -- npx -y some-server --flag",
		"(in a script, check whether the variable that should hold the command is empty;",
		"to judge the bundled reference server instead: mcp-conform run --reference)")
}
