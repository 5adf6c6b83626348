//go:build !linux

package stdio

// Adopt does nothing here: only groups of processes are ended.
func Adopt() {}

// family is processes beyond the group, of which nothing is known here.
type family struct{}

func (family) kill(int) {}

func (*registry) killOrphans() {}

// Members returns nothing: who descends from whom is not told here.
func (*Service) Members() []int { return nil }

// Keep does nothing here.
func (*Service) Keep(...int) {}
