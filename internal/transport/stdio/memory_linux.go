package stdio

import (
	"os"
	"strconv"
	"strings"
)

// resident returns how much memory a process, the rest of its group and all that
// descends from them hold for themselves; false where the system does not tell.
// What is mapped from files is left out: it grows as code is first run.
func resident(pid int) (int64, bool) {
	all, f := system{}.all(), family{}
	roots := []int{pid}
	for other, r := range all {
		if r.group == pid {
			roots = append(roots, other)
		}
	}
	f.gather(all, roots...)
	if _, alive := f[pid]; !alive {
		return 0, false
	}
	total, told := int64(0), false
	for one := range f {
		if n, ok := own(one); ok {
			total, told = total+n, true
		}
	}
	return total, told
}

// own reads /proc/PID/statm: the second field is what is resident, the third
// what of it is of files or shared, both in pages.
func own(pid int) (int64, bool) {
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
