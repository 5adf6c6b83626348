package reporters

import (
	"os"
	"runtime"

	"golang.org/x/term"
)

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// ColorWanted reports whether output to f may contain colours: f is a terminal
// that supports them, and env (os.Getenv) has no NO_COLOR.
func ColorWanted(f *os.File, env func(string) string) bool {
	return colorAllowed(runtime.GOOS, env) && IsTerminal(f)
}

func colorAllowed(goos string, env func(string) string) bool {
	if env("NO_COLOR") != "" || env("TERM") == "dumb" {
		return false
	}
	// The old console of Windows prints escape sequences as text. Newer
	// terminals set one of these variables.
	return goos != "windows" || env("WT_SESSION") != "" || env("TERM") != ""
}
