package stdio

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// markVariable is the environment variable that marks every server that a program starts after
// AdoptOrphans. The processes that the server starts inherit it. The mark identifies a process even
// after the process has moved to another session and its parents have exited. The value is a path
// of owner names, outermost first. An owner name stands for the server from which the process
// descends. A server may itself be a program that called AdoptOrphans, and each such program
// appends a name.
const markVariable = "MCP_CONFORM_SERVER"

// AdoptOrphans makes this program responsible for every process that its servers start, in any
// group or session: when a server has exited, all processes that it started are killed. On Linux,
// orphans become children of this process. To keep other children of the program from being killed
// too, start them in its own process group, or with the environment that OutsiderEnv returns. On
// Windows, job objects do this without AdoptOrphans.
func AdoptOrphans() {
	ours, possible := adopt()
	if !possible {
		return
	}
	alive.mu.Lock()
	defer alive.mu.Unlock()
	alive.adopting = ours
	alive.alone = ours && len(alive.table.suspects()) == 0
	alive.token, alive.outsider = rand.Text(), rand.Text()
}

// OutsiderEnv returns the environment for a command that is not a server, so that processes that
// the command leaves running are not killed. It returns env unchanged unless AdoptOrphans was
// called.
func OutsiderEnv(env []string) []string {
	alive.mu.Lock()
	defer alive.mu.Unlock()
	return alive.withMark(env, alive.outsider)
}

// TakeLeftovers describes the processes that could not be killed after their server had exited. It
// leaves out those that an earlier call has returned. It passes command lines to redact before it
// shortens and escapes them, because they may contain secrets.
func TakeLeftovers(redact func(string) string) []string {
	alive.mu.Lock()
	defer alive.mu.Unlock()
	return alive.takeLeftovers(redact)
}

// A leftover is a process that could not be killed.
type leftover struct {
	pid          int
	command, why string
}

const (
	maxLeft     = 10  // processes that are listed
	commandSize = 200 // bytes of a command line that are shown
)

// takeLeftovers implements TakeLeftovers; the caller holds the lock.
func (r *registry) takeLeftovers(redact func(string) string) (out []string) {
	for i, one := range r.left {
		if i == maxLeft {
			out = append(out, fmt.Sprintf("%d more processes that the server started could not be ended", len(r.left)-i))
			break
		}
		out = append(out, fmt.Sprintf("process %d (%s), which the server started, could not be ended: %s", one.pid, shownCommand(redact(one.command)), one.why))
	}
	r.left = nil
	return out
}

// newOwner returns a new owner name for a server that is about to start. The name goes into the
// mark of every process that descends from the server, see markVariable. newOwner returns "" if
// AdoptOrphans was not called. The caller holds the lock.
func (r *registry) newOwner() string {
	if r.token == "" {
		return ""
	}
	r.started++
	owner := r.token + "." + strconv.Itoa(r.started)
	r.owners[owner] = true
	return owner
}

// withMark returns env with name appended to its mark. If env is nil, it uses the environment of
// this program. If name is "", it returns env unchanged. The caller holds the lock.
func (r *registry) withMark(env []string, name string) []string {
	if name == "" {
		return env
	}
	if env == nil {
		env = os.Environ()
	}
	const prefix = markVariable + "="
	mark := prefix
	out := slices.DeleteFunc(slices.Clone(env), func(one string) bool {
		if strings.HasPrefix(one, prefix) {
			mark = one + "/"
			return true
		}
		return false
	})
	return append(out, mark+name)
}

// markIn returns the mark in an environment block of NUL-terminated variables.
func markIn(environ []byte) string {
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if mark, ok := bytes.CutPrefix(variable, []byte(markVariable+"=")); ok {
			return string(mark)
		}
	}
	return ""
}

// ownerOf returns the owner name that this program gave to the server from which the process
// descends. It returns r.outsider if the process descends from a command with the environment of
// OutsiderEnv, and "" if its mark has neither.
func (r *registry) ownerOf(one processInfo) string {
	for name := range strings.SplitSeq(r.table.markOf(one.pid), "/") {
		if name != "" && (name == r.outsider || strings.HasPrefix(name, r.token+".")) {
			return name
		}
	}
	return ""
}

// isDoomed reports whether the process must be killed, because its server has exited or KillAll was
// called. The caller must not pass the leader of a living server. A process without a readable mark
// is doomed once no server lives or KillAll was called. There are two exceptions: processes that
// may have existed before AdoptOrphans was called, and those in the process group of this program.
func (r *registry) isDoomed(one processInfo) bool {
	owner := r.ownerOf(one)
	switch {
	case one.zombie, owner != "" && owner == r.outsider, r.lost.has(one):
		return false
	case r.ended.has(one):
		return true
	case owner == "":
		return r.alone && one.group != ownGroup() && (r.closed || len(r.owners) == 0)
	default:
		return r.closed || !r.owners[owner]
	}
}

// orphans returns the processes that servers may have left running, without
// the leaders of living servers. The caller holds the lock.
func (r *registry) orphans() []processInfo {
	leaders := map[int]bool{}
	for p := range r.peers {
		if p, ok := p.(*process); ok {
			leaders[p.cmd.Process.Pid] = true
		}
	}
	return slices.DeleteFunc(r.table.suspects(), func(one processInfo) bool { return leaders[one.pid] || one.pid == os.Getpid() })
}

// orphansOf returns the orphans that certainly or possibly descend from the server with this owner
// name.
func (r *registry) orphansOf(owner string) (pids []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.token == "" {
		return nil
	}
	for _, one := range r.orphans() {
		if of := r.ownerOf(one); of == owner || of == "" && r.alone {
			pids = append(pids, one.pid)
		}
	}
	return pids
}

const (
	// orphansWithin bounds the time for killing the orphans of a server, because a process that
	// hangs in a system call does not end, and some keep forking.
	orphansWithin = 5 * time.Second
	// orphanPause is the first pause between two checks for dying processes, and longPause the
	// longest.
	orphanPause = 200 * time.Microsecond
	longPause   = 10 * time.Millisecond
)

// endOrphans kills the processes of servers that have exited, and returns when no such process is
// left. It works in passes, each of which finds the children of processes killed in the pass
// before. TakeLeftovers lists the processes that it can't kill.
func (r *registry) endOrphans() {
	deadline := time.Now().Add(orphansWithin)
	killed := processSet{}
	for pass, pause := 0, orphanPause; ; pass++ {
		left, fresh := r.killOrphans(killed, pass == 0, time.Now().After(deadline))
		switch {
		case left == 0:
			return
		case fresh: // they may be forking: don't wait
			pause = orphanPause
		default:
			<-time.After(pause)
			pause = min(2*pause, longPause)
		}
	}
}

// killOrphans kills each orphan of exited servers, and adds it to killed. It returns the number of
// orphans (and, after KillAll, of servers) that are still alive, and whether it killed an orphan
// that was not in killed before. The arguments first and last are set in the first and the last
// pass; the last pass gives up on the orphans that are still alive.
func (r *registry) killOrphans(killed processSet, first, last bool) (left int, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.token == "" {
		return 0, false
	}
	if r.closed && !last {
		left = r.countRunning() // before listing the orphans: a server that exits in between leaves new ones
	}
	var doomed []processInfo
	for _, one := range r.orphans() {
		switch {
		case one.zombie && one.parent == os.Getpid() && one.group != ownGroup():
			r.table.reap(one)
		case r.isDoomed(one):
			doomed = append(doomed, one)
		}
	}
	if first && len(doomed) > 0 { // their descendants may have cleared the mark
		all := r.table.all()
		for _, one := range doomed {
			r.ended[one.pid] = one.start
		}
		r.ended.gather(all)
	}
	for _, one := range doomed {
		if !killed.has(one) {
			killed[one.pid], fresh = one.start, true
		}
		switch err := r.table.kill(one); {
		case err != nil:
			r.giveUp(one, err.Error())
		case last:
			r.giveUp(one, "it was killed, and has not ended")
		default:
			left++
		}
	}
	if left == 0 && len(r.owners) == 0 {
		r.ended = processSet{}
	}
	return left, fresh
}

// countRunning returns how many servers have not exited yet. When one of them exits, the processes
// that it started become orphans. The caller holds the lock.
func (r *registry) countRunning() (n int) {
	for p := range r.peers {
		if p, ok := p.(*process); ok {
			if one, ok := r.table.look(p.cmd.Process.Pid); ok && !one.zombie {
				n++
			}
		}
	}
	return n
}

// giveUp records a process that can't be killed. The caller holds the lock.
func (r *registry) giveUp(one processInfo, why string) {
	r.lost[one.pid] = one.start
	command := strings.TrimSpace(strings.ReplaceAll(r.table.commandLine(one.pid), "\x00", " "))
	r.left = append(r.left, leftover{one.pid, command[:min(len(command), maxCommand)], why})
}

// maxCommand bounds, in bytes, how much of a command line is kept.
const maxCommand = 16 << 10

// shownCommand returns a command line, shortened and escaped.
func shownCommand(line string) string {
	if len(line) > commandSize {
		cut := commandSize
		for cut > 0 && !utf8.RuneStart(line[cut]) {
			cut--
		}
		line = line[:cut] + "…"
	}
	quoted := strconv.QuoteToGraphic(line)
	return quoted[1 : len(quoted)-1]
}

// retire records that the server with this owner name has exited, and kills its orphans. Among
// these are all processes in known, whatever their marks. The caller must not hold the lock.
func (r *registry) retire(owner string, known processSet) {
	r.mu.Lock()
	delete(r.owners, owner)
	for pid, start := range known {
		r.ended[pid] = start
	}
	r.mu.Unlock()
	r.endOrphans()
}
