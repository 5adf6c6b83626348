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

// adopt makes this process the parent of orphans among its descendants.
func adopt() (orphansAreOurs, possible bool) {
	ours := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
	return ours, true
}

// A system is the processTable that reads /proc.
type system struct{}

func (s system) all() map[int]processInfo {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	all := map[int]processInfo{}
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

// suspects returns this process's children if orphans become its children, and otherwise every
// process with a readable environment. Until KillAll is called, suspects finds the children in the
// kernel's list for the main thread, which is fast but may miss a child while another exits. After
// that, or if the kernel was built without the list, it finds them by reading all processes. The
// caller holds the registry's lock.
func (s system) suspects() []processInfo {
	if !alive.adopting {
		return readableProcesses(s.all())
	}
	self := strconv.Itoa(os.Getpid())
	list, err := os.ReadFile("/proc/self/task/" + self + "/children")
	if alive.closed || errors.Is(err, fs.ErrNotExist) {
		return childrenOf(os.Getpid(), s.all())
	}
	var out []processInfo
	for _, field := range strings.Fields(string(list)) {
		pid, _ := strconv.Atoi(field)
		if r, ok := s.look(pid); ok {
			out = append(out, r)
		}
	}
	return out
}

func childrenOf(parent int, all map[int]processInfo) (out []processInfo) {
	for _, r := range all {
		if r.parent == parent {
			out = append(out, r)
		}
	}
	return out
}

// readableProcesses returns the processes whose environments we may read.
func readableProcesses(all map[int]processInfo) (out []processInfo) {
	for pid, r := range all {
		if unix.Access("/proc/"+strconv.Itoa(pid)+"/environ", unix.R_OK) == nil {
			out = append(out, r)
		}
	}
	return out
}

// look reads the fields of /proc/PID/stat after the name, which is in parentheses and may contain
// any character. The kernel reports a process as a zombie once its main thread has ended, but the
// process keeps its children until its last thread ends. look therefore reports a zombie only if no
// other thread is left.
func (system) look(pid int) (processInfo, bool) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return processInfo{}, false
	}
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) < 20 {
		return processInfo{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	group, _ := strconv.Atoi(fields[2])
	threads, _ := strconv.Atoi(fields[17])
	start, _ := strconv.ParseUint(fields[19], 10, 64)
	ended := (fields[0] == "Z" || fields[0] == "X") && threads <= 1
	return processInfo{pid: pid, parent: parent, group: group, start: start, zombie: ended}, true
}

func (system) markOf(pid int) string {
	environ, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return markIn(environ)
}

// kill signals through a pidfd, which keeps referring to the same process even
// if the pid is reused after look has checked it.
func (s system) kill(r processInfo) error {
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

func (system) reap(r processInfo) { _, _ = unix.Wait4(r.pid, nil, unix.WNOHANG, nil) }

func (system) commandLine(pid int) string {
	folder := "/proc/" + strconv.Itoa(pid)
	line, _ := os.ReadFile(folder + "/cmdline")
	if len(line) == 0 {
		line, _ = os.ReadFile(folder + "/comm")
	}
	return string(line)
}
