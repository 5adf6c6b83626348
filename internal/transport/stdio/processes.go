package stdio

// processInfo is what the system reports about a process. Its pid and start time together identify
// it, because pids are reused.
type processInfo struct {
	pid, parent, group int
	start              uint64
	zombie             bool
}

// A processTable reads and kills processes. The implementation for each operating system is in
// processes_*.go.
type processTable interface {
	// all returns every visible process, by pid.
	all() map[int]processInfo
	// suspects returns processes that include every orphan of a server: the children of this
	// process if orphans become its children, otherwise all processes of its user.
	suspects() []processInfo
	// look returns the current state of one process.
	look(pid int) (processInfo, bool)
	// markOf returns the value of markVariable in the environment with which the
	// process was started, "" if there is none or it can't be read.
	markOf(pid int) string
	// kill kills the process; it does nothing if the process is gone.
	kill(processInfo) error
	// reap reaps a zombie that is our child.
	reap(processInfo)
	// commandLine returns the process's arguments, or at least its name.
	commandLine(pid int) string
}

// A processSet is a set of processes: the start time of each, by its pid.
type processSet map[int]uint64

// has reports whether f contains the process.
func (f processSet) has(r processInfo) bool {
	start, known := f[r.pid]
	return known && start == r.start
}

// gather adds the roots to f, and all descendants of the processes in f.
func (f processSet) gather(all map[int]processInfo, roots ...int) {
	for _, pid := range roots {
		if r, ok := all[pid]; ok {
			f[pid] = r.start
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, r := range all {
			if parent, ok := all[r.parent]; ok && f.has(parent) && !f.has(r) {
				f[pid], grown = r.start, true
			}
		}
	}
}
