package stdio

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// adopt makes orphans among our descendants our children.
func adopt() (orphansAreOurs, possible bool) {
	ours := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
	return ours, true
}

// system is the processTable of /proc.
type system struct{}

func (s system) all() map[int]relative {
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
		if r, ok := s.look(pid); ok {
			all[pid] = r
		}
	}
	return all
}

// suspects looks at our children where orphans become ours. The system lists
// them by the thread that is their parent; those of servers are asked for after
// each server, and the kernel gives orphans to the first thread that lives,
// which in a Go program is the main one. So the other threads' are looked at
// once, in the end. A kernel may be built without these files. The caller holds
// the registry's lock.
func (s system) suspects() []relative {
	if !alive.adopting {
		return ofUser(s.all())
	}
	self := strconv.Itoa(os.Getpid())
	threads := []string{self}
	if alive.closed {
		entries, _ := os.ReadDir("/proc/self/task")
		for _, e := range entries {
			if e.Name() != self {
				threads = append(threads, e.Name())
			}
		}
	}
	var out []relative
	for _, thread := range threads {
		list, err := os.ReadFile("/proc/self/task/" + thread + "/children")
		if errors.Is(err, fs.ErrNotExist) && thread == self {
			return childrenOf(os.Getpid(), s.all())
		}
		for _, field := range strings.Fields(string(list)) {
			pid, _ := strconv.Atoi(field)
			if r, ok := s.look(pid); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

func childrenOf(parent int, all map[int]relative) (out []relative) {
	for _, r := range all {
		if r.parent == parent {
			out = append(out, r)
		}
	}
	return out
}

// ofUser returns the processes whose environments we may read.
func ofUser(all map[int]relative) (out []relative) {
	for pid, r := range all {
		if unix.Access("/proc/"+strconv.Itoa(pid)+"/environ", unix.R_OK) == nil {
			out = append(out, r)
		}
	}
	return out
}

// look reads /proc/PID/stat: the fields after the name, which is in
// parentheses and may contain any character.
func (system) look(pid int) (relative, bool) {
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
	return relative{pid: pid, parent: parent, group: group, start: start, zombie: fields[0] == "Z" || fields[0] == "X"}, true
}

func (system) mark(pid int) string {
	environ, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return markIn(environ)
}

// kill signals by a descriptor: it stays that of the process that was looked
// at while it was open, even when the pid is used again.
func (s system) kill(r relative) error {
	fd, err := unix.PidfdOpen(r.pid, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
	}
	if now, ok := s.look(r.pid); !ok || now.start != r.start {
		return nil
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	} else {
		err = unix.Kill(r.pid, unix.SIGKILL)
	}
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

func (system) reap(r relative) { _, _ = unix.Wait4(r.pid, nil, unix.WNOHANG, nil) }

func (system) commandLine(pid int) string {
	folder := "/proc/" + strconv.Itoa(pid)
	line, _ := os.ReadFile(folder + "/cmdline")
	if len(line) == 0 {
		line, _ = os.ReadFile(folder + "/comm")
	}
	return string(line)
}
