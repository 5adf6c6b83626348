package stdio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// adopt reports that orphans are not ours, because on macOS launchd inherits them. They are found
// by their mark.
func adopt() (orphansAreOurs, possible bool) { return false, true }

// A system is the processTable that reads sysctl.
type system struct{}

// szomb is the state of a zombie, SZOMB in <sys/proc.h>.
const szomb = 5

func infoOf(p *unix.KinfoProc) processInfo {
	return processInfo{
		pid: int(p.Proc.P_pid), parent: int(p.Eproc.Ppid), group: int(p.Eproc.Pgid),
		start:  uint64(p.Proc.P_starttime.Nano()), //nolint:gosec // it is after 1970
		zombie: p.Proc.P_stat == szomb,
	}
}

func (system) all() map[int]processInfo {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid())
	if err != nil {
		return nil
	}
	all := make(map[int]processInfo, len(list))
	for i := range list {
		r := infoOf(&list[i])
		all[r.pid] = r
	}
	return all
}

func (s system) suspects() []processInfo {
	var out []processInfo
	for _, r := range s.all() {
		out = append(out, r)
	}
	return out
}

func (system) look(pid int) (processInfo, bool) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid {
		return processInfo{}, false
	}
	return infoOf(p), true
}

// arguments returns the number of arguments with which a process was started,
// and a list of NUL-terminated strings: those arguments, then the environment.
// macOS omits the environment of its own programs.
func arguments(pid int) (count int, list []byte) {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(raw) < 4 {
		return 0, nil
	}
	count = int(binary.NativeEndian.Uint32(raw))
	_, list, _ = bytes.Cut(raw[4:], []byte{0})
	return count, bytes.TrimLeft(list, "\x00")
}

func (system) markOf(pid int) string {
	_, list := arguments(pid)
	return markIn(list)
}

func (s system) kill(r processInfo) error {
	if now, ok := s.look(r.pid); !ok || now.start != r.start {
		return nil
	}
	if err := unix.Kill(r.pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

func (system) reap(r processInfo) { _, _ = unix.Wait4(r.pid, nil, unix.WNOHANG, nil) }

func (system) commandLine(pid int) string {
	count, list := arguments(pid)
	end := 0
	for range count {
		i := bytes.IndexByte(list[end:], 0)
		if i < 0 {
			return string(list)
		}
		end += i + 1
	}
	return string(list[:end])
}
