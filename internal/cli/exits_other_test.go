//go:build !linux

package cli

import "os/exec"

func adopt() {}

// await waits for the end of cmd. What it took and left behind is found out
// on Linux only.
func await(cmd *exec.Cmd) ending {
	_ = cmd.Wait()
	return ending{code: cmd.ProcessState.ExitCode()}
}
