package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/sweep"
)

// cancelAtStdinEnd makes the end of stdin cancel this run, if a sweep started the run. Stdin ends
// when the sweep ends, even if the sweep is killed.
func (a *app) cancelAtStdinEnd() {
	if a.environmentVariable(sweep.EndVariable) == "" {
		return
	}
	a.Environ = slices.DeleteFunc(slices.Clone(a.Environ), func(one string) bool { return strings.HasPrefix(one, sweep.EndVariable+"=") })
	go func() { // runs until the program ends
		_, _ = io.Copy(io.Discard, a.In)
		a.cancel(errInterrupted)
	}()
}

// handOverPause hides from the server the variable that names a file for the pause that its host
// demands. It returns a function that writes the file for the sweep that started this run.
func (a *app) handOverPause() func() {
	path := a.environmentVariable(sweep.PauseVariable)
	if path == "" {
		return func() {}
	}
	a.Environ = slices.DeleteFunc(slices.Clone(a.Environ), func(one string) bool { return strings.HasPrefix(one, sweep.PauseVariable+"=") })
	return func() {
		if a.pacer != nil {
			_ = sweep.WritePause(path, a.pacer.PauseEnd()) // without the file, the sweep does not wait
		}
	}
}
