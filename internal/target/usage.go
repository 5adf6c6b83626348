package target

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// UsageError says that what the user gave names no server that could be
// judged. It ends the tool with exit code 2. None of its texts holds a secret.
type UsageError struct {
	What   string // one sentence: what is wrong
	Where  string // file:line:column, or empty for the command line
	Advice string // what to do; may have several lines
}

// Error returns where, what and, on lines of its own, the advice.
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

func usage(where, what string, advice ...string) *UsageError {
	return &UsageError{What: what, Where: where, Advice: strings.Join(advice, "\n")}
}

// reason returns what a file error says without the path, which the text
// around it names as the user gave it.
func reason(err error) string {
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

func noTarget() *UsageError {
	return usage("", "no server is named: there is nothing to judge",
		"name its command, after -- when it has arguments:",
		"  mcp-conform run ./my-server",
		"  mcp-conform run -- npx -y some-server --flag",
		"(in a script, look whether the variable that should hold the command is empty;",
		"to judge the bundled reference server instead: mcp-conform run --reference)")
}
