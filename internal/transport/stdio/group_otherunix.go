//go:build unix && !linux

package stdio

import "os/exec"

// awaitExit also reaps the leader, because these systems can't wait without reaping. The group's id
// stays in use as long as any process of the group exists.
func (g *group) awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func (g *group) reap(*exec.Cmd) {}

func (g *group) reapAdopted() {}
