package stdio

import (
	"errors"
	"os/exec"

	"golang.org/x/sys/unix"
)

// awaitExit leaves the ended leader a zombie: until it is reaped the group's
// id is its own, and signals to the group can hit nobody else.
func (g *group) awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// reap returns after the leader's end, also where awaitExit was not allowed
// to wait for it.
func (g *group) reap(cmd *exec.Cmd) { _ = cmd.Wait() }

// reapAdopted reaps members of the group that became our children, see Adopt.
func (g *group) reapAdopted() {
	for {
		if pid, err := unix.Wait4(-g.id, nil, unix.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}
