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

	mu   sync.Mutex
	gone bool // the server has ended: its id may be another's soon
}

// startProcess starts the command in a process group of its own and closes
// far.
func startProcess(c Command, far farEnds) (peer, error) {
	path, err := locate(c)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: path, Args: c.Argv, Dir: c.Dir, Env: c.Env,
		Stdin: far.in, Stdout: far.out, Stderr: far.err,
	}
	p := &process{cmd: cmd}
	if err := p.group.start(cmd); err != nil {
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

func (p *process) clear() (string, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.group.clear(p.cmd)
	state := p.cmd.ProcessState
	return state.String(), state.ExitCode()
}
