//go:build unix

package stdio

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// A group is a process group, led by the server.
type group struct {
	id      int
	cleared bool
}

// start starts cmd as the leader of a new group. (A parent-death signal would
// not help: it is sent when the thread that started the child ends, and
// threads end at any time.)
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

// goneWithin bounds the wait for killed processes to leave the group. Zombies stay in it
// forever if process 1 does not reap them, as in many containers.
const goneWithin = 250 * time.Millisecond

func (g *group) clear(cmd *exec.Cmd) {
	g.kill() // before reaping: the leader's id can't be reused yet, see awaitExit
	g.cleared = true
	g.reap(cmd)
	pause := time.Millisecond
	for waited := time.Duration(0); waited < goneWithin; waited += pause {
		g.reapAdopted()
		if syscall.Kill(-g.id, 0) != nil {
			return // no process is left that we may signal
		}
		<-time.After(pause)
	}
}

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// ownGroup returns the process group of this program.
func ownGroup() int { return syscall.Getpgrp() }
