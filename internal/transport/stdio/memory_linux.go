package stdio

import (
	"os"
	"strconv"
	"strings"
)

// residentMemory returns the private memory, in bytes, of a process, its group and all their
// descendants. It returns false if the process has exited, or if the system does not provide the
// number. File-backed pages do not count, because their number grows as code runs for the first
// time.
func residentMemory(pid int) (int64, bool) {
	return sumOf(treeOf(pid), privateMemory)
}

// usageOf returns the memory, in bytes, and the number of the processes that residentMemory
// measures. The memory is an upper bound, which is cheap to determine: the sum of all resident
// pages of each process. If that sum exceeds limit, and limit is not 0, usageOf returns the sum of
// the processes' proportional shares instead, in which memory that several processes share counts
// once.
func usageOf(pid int, limit int64) (memory int64, processes int, known bool) {
	tree := treeOf(pid)
	memory, known = sumOf(tree, residentPages)
	if known && limit > 0 && memory > limit {
		memory, known = sumOf(tree, proportionalMemory)
	}
	return memory, len(tree), known
}

// treeOf returns a process, its group and all their descendants, or nil if the process has exited.
func treeOf(pid int) processSet {
	all, tree := system{}.all(), processSet{}
	roots := []int{pid}
	for other, r := range all {
		if r.group == pid {
			roots = append(roots, other)
		}
	}
	tree.gather(all, roots...)
	if _, alive := tree[pid]; !alive {
		return nil
	}
	return tree
}

// sumOf adds up the memory of the processes, as far as it is known. It returns false if the memory
// of no process is known.
func sumOf(tree processSet, memoryOf func(pid int) (int64, bool)) (memory int64, known bool) {
	for one := range tree {
		if n, ok := memoryOf(one); ok {
			memory, known = memory+n, true
		}
	}
	return memory, known
}

// proportionalMemory returns the memory of one process without file-backed pages. Of the pages that
// it shares with others it counts a proportional share (see proc_pid_smaps_rollup(5)).
func proportionalMemory(pid int) (memory int64, known bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return privateMemory(pid)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && (fields[0] == "Pss_Anon:" || fields[0] == "Pss_Shmem:") {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return privateMemory(pid)
			}
			memory, known = memory+n<<10, true
		}
	}
	if !known {
		return privateMemory(pid) // an older kernel
	}
	return memory, true
}

// residentPages returns the size of all resident pages of one process.
func residentPages(pid int) (int64, bool) {
	pages, _, ok := readPages(pid)
	return pages * int64(os.Getpagesize()), ok
}

// privateMemory returns the resident memory of one process without file-backed and shared pages.
func privateMemory(pid int) (int64, bool) {
	pages, shared, ok := readPages(pid)
	return (pages - shared) * int64(os.Getpagesize()), ok
}

// readPages returns the number of resident pages of a process, and how many of these are
// file-backed or shared.
func readPages(pid int) (pages, shared int64, ok bool) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, 0, false
	}
	fields := strings.Fields(string(line))
	if len(fields) < 3 {
		return 0, 0, false
	}
	pages, err = strconv.ParseInt(fields[1], 10, 64)
	shared, wrong := strconv.ParseInt(fields[2], 10, 64)
	return pages, shared, err == nil && wrong == nil && pages > 0
}
