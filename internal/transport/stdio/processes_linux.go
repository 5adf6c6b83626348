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

// suspects returns our children where orphans become ours. After each server
// they are read from the list that the kernel keeps for the main thread, which
// is quick, but may omit a child while another ends. So in the end, and with a
// kernel that was built without this list, all processes are looked at. The
// caller holds the registry's lock.
func (s system) suspects() []relative {
	if !alive.adopting {
		return ofUser(s.all())
	}
	self := strconv.Itoa(os.Getpid())
	list, err := os.ReadFile("/proc/self/task/" + self + "/children")
	if alive.closed || errors.Is(err, fs.ErrNotExist) {
		return childrenOf(os.Getpid(), s.all())
	}
	var out []relative
	for _, field := range strings.Fields(string(list)) {
		pid, _ := strconv.Atoi(field)
		if r, ok := s.look(pid); ok {
			out = append(out, r)
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
// parentheses and may contain any character. A process whose main thread has
// ended before the others is said to be a zombie, but it keeps its children
// until the last thread has ended.
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
	threads, _ := strconv.Atoi(fields[17])
	start, _ := strconv.ParseUint(fields[19], 10, 64)
	ended := (fields[0] == "Z" || fields[0] == "X") && threads <= 1
	return relative{pid: pid, parent: parent, group: group, start: start, zombie: ended}, true
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
