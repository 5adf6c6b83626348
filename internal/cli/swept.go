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
	if a.takeVariable(sweep.EndVariable) == "" {
		return
	}
	go func() { // runs until the program ends
		_, _ = io.Copy(io.Discard, a.In)
		a.cancel(errInterrupted)
	}()
}

// handOver returns a function that writes the handover (see sweep.Handover) for the sweep that
// started this run. If no sweep did, the function does nothing.
func (a *app) handOver() func() {
	path := a.takeVariable(sweep.HandoverVariable)
	if path == "" {
		return func() {}
	}
	return func() {
		h := sweep.Handover{Quote: a.quote}
		if a.pacer != nil {
			h.PauseEnd = a.pacer.PauseEnd()
		}
		_ = h.Write(path) // without the file, the sweep does not wait for the end of a pause, and knows no cause
	}
}

// takeVariable returns the value of an environment variable that a sweep set for this run, or "" if
// it did not, and hides the variable from the server.
func (a *app) takeVariable(name string) string {
	value := a.environmentVariable(name)
	if value != "" {
		a.Environ = slices.DeleteFunc(slices.Clone(a.Environ), func(one string) bool { return strings.HasPrefix(one, name+"=") })
	}
	return value
}
