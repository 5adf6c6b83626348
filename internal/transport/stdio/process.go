package stdio

import (
	"fmt"
	"os/exec"
	"sync"
)

// process is a server that is a process. Its group has its id.
type process struct {
	cmd   *exec.Cmd
	group group // see group_*.go

	owner string // its name, in the marks of what it starts; "" without Adopt

	mu    sync.Mutex
	gone  bool   // the server has ended: its id may be another's soon
	known family // descendants that end with it, whatever their marks
}

// startProcess starts the command in a process group of its own and closes
// far. Its caller is registry.add.
func startProcess(c Command, far farEnds) (peer, error) {
	path, err := locate(c)
	if err != nil {
		return nil, err
	}
	owner := alive.newOwner()
	cmd := &exec.Cmd{
		Path: path, Args: c.Argv, Dir: c.Dir, Env: alive.marked(c.Env, owner),
		Stdin: far.in, Stdout: far.out, Stderr: far.err,
	}
	p := &process{cmd: cmd, owner: owner, known: family{}}
	if err := p.group.start(cmd); err != nil {
		delete(alive.owners, owner)
		return nil, explain(c, path, err)
	}
	far.close()
	return p, nil
}

func (p *process) name() string { return fmt.Sprintf("pid %d: %s", p.cmd.Process.Pid, p.cmd.Args[0]) }

func (p *process) awaitExit() {
	p.group.awaitExit(p.cmd)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
}

func (p *process) signal(name string, before func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.gone && p.group.signal(name, before)
}

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.group.kill()
}

// keep notes processes, and all that descend from them, that are to end with
// the server, wherever they went.
func (p *process) keep(pids ...int) {
	if p.owner == "" {
		return
	}
	all := system{}.all()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		p.known.gather(all, pids...)
	}
}

func (p *process) clear() (string, int) {
	p.mu.Lock()
	p.group.clear(p.cmd)
	state := p.cmd.ProcessState
	p.mu.Unlock()
	if p.owner != "" {
		alive.retire(p.owner, p.known) // which does not change any more
	}
	return state.String(), state.ExitCode()
}
