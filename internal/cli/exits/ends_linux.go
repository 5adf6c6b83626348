package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of orphaned descendants, whatever their
// process group.
func adoptOrphans() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
}

// await waits for cmd to end while reaping orphans, as process 1 would. Then it looks for surviving
// descendants, and kills them after 5 s.
func await(cmd *exec.Cmd) (e ending) {
	memory := samplePeakMemory(cmd.Process.Pid)
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return ending{survived: err}
		}
		if pid == cmd.Process.Pid {
			e = ending{code: status.ExitStatus(), memory: memory()}
			break
		}
	}
	// Processes that were killed may need some time to end.
	for deadline := time.Now().Add(5 * time.Second); ; <-time.After(5 * time.Millisecond) {
		for pid := 1; pid > 0; {
			pid, _ = unix.Wait4(-1, nil, unix.WNOHANG, nil)
		}
		e.orphans, e.survived = childProcesses()
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

// samplePeakMemory samples the memory of the process, without the servers that it starts.
// The returned function stops sampling and returns the maximum in MiB. The
// kernel's figure at reaping would include the servers.
func samplePeakMemory(pid int) func() int64 {
	var most int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
				var kib int64
				if _, err := fmt.Sscan(rest, &kib); err == nil {
					most = max(most, kib>>10)
				}
			}
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-done
		return most
	}
}

// childProcesses returns the child processes of this process.
func childProcesses() ([]string, error) {
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
