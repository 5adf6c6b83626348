package stdio

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// adopting: orphans among the descendants of our servers become our children.
var adopting atomic.Bool

// Adopt makes this process the parent of every descendant whose own parent
// ends, in whatever process group it is, so that none of them is lost sight of:
// when no server is alive any more, those that are left are killed. It is for
// a program that starts nothing but servers.
func Adopt() {
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil {
		adopting.Store(true)
	}
}

// family is processes, by their ids, with the times of their starts: a process
// with the same id and another start is somebody else.
type family map[int]uint64

// relative is what the system tells of a process.
type relative struct {
	parent, group int
	start         uint64
	zombie        bool
}

// processes returns all that can be seen.
func processes() map[int]relative {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	all := map[int]relative{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if r, ok := look(pid); ok {
			all[pid] = r
		}
	}
	return all
}

// look reads /proc/PID/stat: the fields behind the name, which stands in
// parentheses and may hold any character.
func look(pid int) (relative, bool) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return relative{}, false
	}
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) < 20 {
		return relative{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	group, _ := strconv.Atoi(fields[2])
	start, _ := strconv.ParseUint(fields[19], 10, 64)
	return relative{parent: parent, group: group, start: start, zombie: fields[0] == "Z" || fields[0] == "X"}, true
}

// gather adds to f all that lives below the roots and below those in f.
func (f family) gather(all map[int]relative, roots ...int) {
	for _, pid := range roots {
		if r, ok := all[pid]; ok {
			f[pid] = r.start
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, r := range all {
			if start, known := f[r.parent]; known && all[r.parent].start == start && f[pid] != r.start {
				f[pid], grown = r.start, true
			}
		}
	}
}

// kill kills those that are still who they were, and reaps those that are our
// own children.
func (f family) kill(except int) {
	pause := time.Millisecond
	for waited := time.Duration(0); waited < goneWithin; waited += pause {
		left := false
		for pid, start := range f {
			r, ok := look(pid)
			if pid == except || !ok || r.start != start {
				continue
			}
			if r.zombie {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
				continue
			}
			left = true
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if !left {
			return
		}
		<-time.After(pause)
	}
}

// orphans are our children that were not started as servers. It is for who
// holds the lock, so that none of them is a server that is just starting.
func (r *registry) orphans(all map[int]relative) []int {
	if !adopting.Load() {
		return nil
	}
	var out []int
	for pid, other := range all {
		if other.parent == os.Getpid() && !r.leads(pid) {
			out = append(out, pid)
		}
	}
	return out
}

// killOrphans kills our children that were not started as servers, and what
// lives below them; it is for who holds the lock.
func (r *registry) killOrphans() {
	if !adopting.Load() {
		return
	}
	all, f := processes(), family{}
	f.gather(all, r.orphans(all)...)
	f.kill(0)
}

// Members returns the processes that the service consists of at this moment:
// those of its group, their descendants, and with Adopt the orphans among them,
// which may be another service's. It is empty where the system does not tell.
func (s *Service) Members() []int {
	all := processes()
	roots := []int{s.PID()}
	for pid, r := range all {
		if r.group == s.PID() {
			roots = append(roots, pid)
		}
	}
	alive.mu.Lock()
	roots = append(roots, alive.orphans(all)...)
	alive.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.gather(all, s.PID())
	members := maps.Clone(s.known)
	members.gather(all, roots...)
	return slices.Collect(maps.Keys(members))
}

// Keep takes note of members that are to end with the service, wherever they
// went.
func (s *Service) Keep(pids ...int) {
	all := processes()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.gather(all, pids...)
}
