package stdio

// relative is what the system says about a process. Its pid and start together
// identify it: a process with the same pid and another start is another one.
type relative struct {
	pid, parent, group int
	start              uint64
	zombie             bool
}

// processTable reads and ends processes; the system's is in processes_*.go.
type processTable interface {
	// all returns every process that can be seen, by its pid.
	all() map[int]relative
	// suspects returns the processes among which every orphan of a server is:
	// our children where orphans become ours, else all of our user.
	suspects() []relative
	// look returns what is known of one process now.
	look(pid int) (relative, bool)
	// mark returns the value of markVariable in the environment with which the
	// process was started, "" where there is none or it can't be read.
	mark(pid int) string
	// kill kills the process, unless it is gone; it returns why it can't.
	kill(relative) error
	// reap removes a zombie that is our child.
	reap(relative)
	// commandLine returns the process's arguments, or at least its name.
	commandLine(pid int) string
}

// family is processes: the time of the start of each, by its pid.
type family map[int]uint64

// has reports whether the process is one of f.
func (f family) has(r relative) bool {
	start, known := f[r.pid]
	return known && start == r.start
}

// gather adds to f the roots, and all descendants of those in f.
func (f family) gather(all map[int]relative, roots ...int) {
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
