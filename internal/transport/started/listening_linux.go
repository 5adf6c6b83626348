package started

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// watchExits returns a channel that is closed when all processes in pids have exited. These are the
// processes that listened when the server became ready; the command that was started may outlive
// them, as npm and file watchers do. The channel is nil if the processes can't be watched. stop
// ends the watch.
func watchExits(pids []int) (ended <-chan struct{}, stop func()) {
	var watched []*os.File
	stop = func() {
		for _, f := range watched {
			_ = f.Close()
		}
	}
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil || unix.SetNonblock(fd, true) != nil {
			stop()
			return nil, func() {}
		}
		watched = append(watched, os.NewFile(uintptr(fd), "pidfd"))
	}
	if len(watched) == 0 {
		return nil, stop
	}
	c := make(chan struct{})
	go func() {
		if !slices.ContainsFunc(watched, func(f *os.File) bool { return !waitForExit(f) }) {
			close(c)
		}
	}()
	return c, stop
}

// waitForExit waits until the process of a pidfd exits. It returns false if the file is closed
// first.
func waitForExit(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	return conn.Read(hasExited) == nil
}

// hasExited reports whether the process of a pidfd has exited.
func hasExited(fd uintptr) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // a descriptor fits
		if errors.Is(err, unix.EINTR) {                                             // a signal came; the Go runtime sends some to preempt goroutines
			continue
		}
		return err != nil || n > 0
	}
}
