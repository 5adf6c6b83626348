//go:build !linux

package stdio

// residentMemory returns false: it is only implemented for Linux.
func residentMemory(int) (int64, bool) { return 0, false }

// usageOf returns false: it is only implemented for Linux.
func usageOf(int, int64) (memory int64, processes int, known bool) { return 0, 0, false }
