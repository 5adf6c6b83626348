package stdio

import (
	"errors"
	"os/exec"

	"golang.org/x/sys/unix"
)

// awaitExit waits for the leader to exit but does not reap it, because while the leader is a
// zombie, no other group can get this group's id, so signals to the group cannot reach unrelated
// processes.
func (g *group) awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// reap reaps the leader. It blocks until the leader has exited, even if the
// system did not allow awaitExit to wait.
func (g *group) reap(cmd *exec.Cmd) { _ = cmd.Wait() }

// reapAdopted reaps members of the group that became our children; see AdoptOrphans.
func (g *group) reapAdopted() {
	for {
		if pid, err := unix.Wait4(-g.id, nil, unix.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}
