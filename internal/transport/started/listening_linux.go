package started

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
)

// gone returns a channel that is closed when no process is left that listened
// for the service when it was ready: the command that was started may outlive
// them, as npm and what restarts on a change of files do. It is nil where that
// can't be told. Stop ends the watch.
func gone(service *stdio.Service, all []listener) (ended <-chan struct{}, stop func()) {
	var watched []*os.File
	stop = func() {
		for _, f := range watched {
			_ = f.Close()
		}
	}
	for _, l := range all {
		for _, pid := range l.pids {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil || unix.SetNonblock(fd, true) != nil {
				stop()
				return nil, func() {}
			}
			watched = append(watched, os.NewFile(uintptr(fd), "pidfd"))
			if !service.Owns(pid) { // it is looked up with the descriptor open: the id can't be another's
				stop()
				return nil, func() {}
			}
		}
	}
	if len(watched) == 0 {
		return nil, stop
	}
	c := make(chan struct{})
	go func() {
		if !slices.ContainsFunc(watched, func(f *os.File) bool { return !exited(f) }) {
			close(c)
		}
	}()
	return c, stop
}

// exited waits for the end of the process behind a pidfd; it reports false
// when the file was closed before.
func exited(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	return conn.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // a descriptor fits
		return err != nil || n > 0
	}) == nil
}
