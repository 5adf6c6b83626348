//go:build !linux && !darwin

package stdio

// adopt finds nothing to do: on Windows a job object keeps all that a server
// starts together, and elsewhere only its process group is known.
func adopt() (orphansAreOurs, possible bool) { return false, false }

// system is the processTable of a system that is not asked.
type system struct{}

func (system) all() map[int]relative     { return nil }
func (system) suspects() []relative      { return nil }
func (system) look(int) (relative, bool) { return relative{}, false }
func (system) mark(int) string           { return "" }
func (system) kill(relative) error       { return nil }
func (system) reap(relative)             {}
func (system) commandLine(int) string    { return "" }
