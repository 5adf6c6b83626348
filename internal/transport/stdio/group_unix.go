//go:build unix

package stdio

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// group is a process group, led by the server.
type group struct {
	id      int
	cleared bool
}

// start starts cmd as the leader of a new group. (A parent-death signal is no
// help here: it goes by the thread that started the child, and threads end.)
func (g *group) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.id = cmd.Process.Pid
	return nil
}

var signals = map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT}

func (g *group) signal(name string, before func()) bool {
	sig, ok := signals[name]
	if !ok || g.cleared {
		return false
	}
	before()
	return syscall.Kill(-g.id, sig) == nil
}

func (g *group) kill() {
	if !g.cleared {
		_ = syscall.Kill(-g.id, syscall.SIGKILL)
	}
}

// goneWithin bounds the wait for killed processes to leave the group. They
// stay in it for ever as zombies where process 1 does not reap, as in many
// containers.
const goneWithin = 250 * time.Millisecond

func (g *group) clear(cmd *exec.Cmd) {
	g.kill() // while the leader's id can't be another's, see awaitExit
	g.cleared = true
	g.reap(cmd)
	pause := time.Millisecond
	for waited := time.Duration(0); waited < goneWithin; waited += pause {
		g.reapAdopted()
		if syscall.Kill(-g.id, 0) != nil {
			return // nobody is left whom we could reach
		}
		<-time.After(pause)
	}
}

func brokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// ownGroup returns the process group of this program.
func ownGroup() int { return syscall.Getpgrp() }
