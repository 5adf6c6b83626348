//go:build unix && !linux

package stdio

import "os/exec"

// awaitExit reaps the leader too: there is no waiting without reaping here.
// While any process of the group is left its id stays taken.
func (g *group) awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func (g *group) reap(*exec.Cmd) {}

func (g *group) reapAdopted() {}
