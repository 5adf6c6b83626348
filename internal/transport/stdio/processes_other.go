//go:build !linux && !darwin

package stdio

// adopt does nothing, because orphans can't be adopted here. On Windows a job object holds all
// processes that a server starts; on other systems only the server's process group is known.
func adopt() (orphansAreOurs, possible bool) { return false, false }

// A system is the processTable of an operating system for which none is implemented. It finds no
// processes.
type system struct{}

func (system) all() map[int]processInfo     { return nil }
func (system) suspects() []processInfo      { return nil }
func (system) look(int) (processInfo, bool) { return processInfo{}, false }
func (system) markOf(int) string            { return "" }
func (system) kill(processInfo) error       { return nil }
func (system) reap(processInfo)             {}
func (system) commandLine(int) string       { return "" }
