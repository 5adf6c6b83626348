package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// adopt makes this process the parent of every descendant whose own parent
// ends, in whatever process group it is.
func adopt() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
}

// await waits for the end of cmd, reaps what it leaves behind in the meantime
// as process 1 would, and then looks who is still alive.
func await(cmd *exec.Cmd) (e ending) {
	for {
		var status unix.WaitStatus
		var usage unix.Rusage
		pid, err := unix.Wait4(-1, &status, 0, &usage)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return ending{survived: err}
		}
		if pid == cmd.Process.Pid {
			e = ending{code: status.ExitStatus(), memory: usage.Maxrss >> 10}
			break
		}
	}
	// Those that are dying need not have died yet.
	for deadline := time.Now().Add(5 * time.Second); ; <-time.After(5 * time.Millisecond) {
		for pid := 1; pid > 0; {
			pid, _ = unix.Wait4(-1, nil, unix.WNOHANG, nil)
		}
		e.orphans, e.survived = children()
		if len(e.orphans) == 0 || time.Now().After(deadline) {
			break
		}
	}
	for _, o := range e.orphans {
		var pid int
		if _, err := fmt.Sscan(o, &pid); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return e
}

// children returns the processes whose parent is this one.
func children() ([]string, error) {
	var out []string
	tasks, err := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		list, readErr := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if readErr != nil && !errors.Is(readErr, os.ErrNotExist) {
			err = readErr
		}
		for _, pid := range strings.Fields(string(list)) {
			line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			out = append(out, pid+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out, err
}
