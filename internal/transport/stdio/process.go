package stdio

import (
	"fmt"
	"os/exec"
	"sync"
)

// A process is a server that runs as a process. Its pid is its group's id.
type process struct {
	cmd   *exec.Cmd
	group group // see group_*.go

	owner string // its owner name, see newOwner; "" without AdoptOrphans

	mu    sync.Mutex
	gone  bool       // the server has exited: its pid may soon be reused
	known processSet // processes that must end with the server, whatever their marks
}

// startProcess starts the command in its own process group, and closes this process's copies of the
// far ends. If it fails, these stay open. It is only called within registry.add, which holds the
// lock.
func startProcess(c Command, far farEnds) (peer, error) {
	path, err := Locate(c)
	if err != nil {
		return nil, err
	}
	owner := alive.newOwner()
	cmd := &exec.Cmd{
		Path: path, Args: c.Argv, Dir: c.Dir, Env: alive.withMark(c.Env, owner),
		Stdin: far.in, Stdout: far.out, Stderr: far.err,
	}
	p := &process{cmd: cmd, owner: owner, known: processSet{}}
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

// track records processes that must end with the server, together with all their descendants, even
// if they move to another group or session. It does nothing unless AdoptOrphans was called before
// the server was started.
func (p *process) track(pids ...int) {
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
		alive.retire(p.owner, p.known) // known no longer changes
	}
	return state.String(), state.ExitCode()
}
