package reporters

import (
	"os"
	"runtime"

	"golang.org/x/term"
)

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// ColorWanted reports whether what goes to f may carry colours: f is a
// terminal that understands them, and env (os.Getenv) has no NO_COLOR.
func ColorWanted(f *os.File, env func(string) string) bool {
	return colorAllowed(runtime.GOOS, env) && IsTerminal(f)
}

func colorAllowed(goos string, env func(string) string) bool {
	if env("NO_COLOR") != "" || env("TERM") == "dumb" {
		return false
	}
	// The old console of Windows shows escape sequences as they are; the
	// newer terminals there announce themselves.
	return goos != "windows" || env("WT_SESSION") != "" || env("TERM") != ""
}
