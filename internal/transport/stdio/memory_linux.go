package stdio

import (
	"os"
	"strconv"
	"strings"
)

// resident returns the private memory, in bytes, of a process, its group and all their descendants.
// It returns false if the process has exited, or if the system does not provide the number.
// File-backed pages do not count: their number grows as code runs for the first time.
func resident(pid int) (int64, bool) {
	memory, _, known := usageOf(pid)
	return memory, known
}

// usageOf is like resident, and also counts the processes.
func usageOf(pid int) (memory int64, processes int, known bool) {
	all, f := system{}.all(), processSet{}
	roots := []int{pid}
	for other, r := range all {
		if r.group == pid {
			roots = append(roots, other)
		}
	}
	f.gather(all, roots...)
	if _, alive := f[pid]; !alive {
		return 0, 0, false
	}
	for one := range f {
		if n, ok := privateMemory(one); ok {
			memory, known = memory+n, true
		}
	}
	return memory, len(f), known
}

// privateMemory returns the private memory of one process. It reads /proc/PID/statm: the
// second field is the number of resident pages, the third how many of these
// are file-backed or shared.
func privateMemory(pid int) (int64, bool) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(line))
	if len(fields) < 3 {
		return 0, false
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	shared, wrong := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || wrong != nil || pages <= 0 {
		return 0, false
	}
	return (pages - shared) * int64(os.Getpagesize()), true
}
