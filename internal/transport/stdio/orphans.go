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

// markVariable is in the environment of every server that an adopting program
// starts, and so in that of all processes the server starts: by it a process
// that went into another session, and whose parents have ended, is known again.
// Its value is a path, for a server may be such a program itself: the names
// that the programs gave, the outermost first.
const markVariable = "MCP_CONFORM_SERVER"

// Adopt makes this program answer for every process that its servers start, in
// whatever group or session it is: when a server has ended, all of them are
// killed. On Linux orphans become this process's children, so it is for a
// program whose other children, if any, are in its own process group or have an
// environment of OutsiderEnv. On Windows job objects do this without Adopt.
func Adopt() {
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

// OutsiderEnv returns the environment for a command that is not a server: what
// it leaves running is not killed. It is env itself unless Adopt was called.
func OutsiderEnv(env []string) []string {
	alive.mu.Lock()
	defer alive.mu.Unlock()
	return alive.marked(env, alive.outsider)
}

// LeftBehind names the processes that servers started and that could not be
// killed since it was last called. Command lines pass redact before they are
// cut, for they may hold secrets; then they are escaped.
func LeftBehind(redact func(string) string) []string {
	alive.mu.Lock()
	defer alive.mu.Unlock()
	return alive.takeLeft(redact)
}

// leftover is a process that could not be killed.
type leftover struct {
	pid          int
	command, why string
}

const (
	mostLeft    = 10  // processes that are named
	commandSize = 200 // bytes of a command line that are shown
)

// takeLeft is LeftBehind; the caller holds the lock.
func (r *registry) takeLeft(redact func(string) string) (out []string) {
	for i, one := range r.left {
		if i == mostLeft {
			out = append(out, fmt.Sprintf("%d more processes that the server started could not be ended", len(r.left)-i))
			break
		}
		out = append(out, fmt.Sprintf("process %d (%s), which the server started, could not be ended: %s", one.pid, shownCommand(redact(one.command)), one.why))
	}
	r.left = nil
	return out
}

// newOwner names a server that is about to start; "" without Adopt. The caller
// holds the lock.
func (r *registry) newOwner() string {
	if r.token == "" {
		return ""
	}
	r.started++
	owner := r.token + "." + strconv.Itoa(r.started)
	r.owners[owner] = true
	return owner
}

// marked returns env, or our own environment where that is nil, with the name
// added to its mark. The caller holds the lock.
func (r *registry) marked(env []string, name string) []string {
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

// markIn returns the mark in an environment, whose variables a NUL ends.
func markIn(environ []byte) string {
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if mark, ok := bytes.CutPrefix(variable, []byte(markVariable+"=")); ok {
			return string(mark)
		}
	}
	return ""
}

// ownerOf returns the name that this program gave to the server that started
// the process, or to an outsider; "" where the process does not have one.
func (r *registry) ownerOf(one relative) string {
	for name := range strings.SplitSeq(r.table.mark(one.pid), "/") {
		if name != "" && (name == r.outsider || strings.HasPrefix(name, r.token+".")) {
			return name
		}
	}
	return ""
}

// doomed reports whether the process, which no living server leads, belongs to
// one that has ended. A process that hides its mark and where it comes from
// belongs to the last server that ends.
func (r *registry) doomed(one relative) bool {
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

// orphans returns the processes that may be left over from servers, without
// those that lead one. The caller holds the lock.
func (r *registry) orphans() []relative {
	leaders := map[int]bool{}
	for p := range r.peers {
		if p, ok := p.(*process); ok {
			leaders[p.cmd.Process.Pid] = true
		}
	}
	return slices.DeleteFunc(r.table.suspects(), func(one relative) bool { return leaders[one.pid] || one.pid == os.Getpid() })
}

// orphansOf returns the orphans that are the server's, or may be.
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
	// orphansWithin bounds the time in which the orphans of a server are
	// killed: one that hangs inside the system does not end, and some multiply.
	orphansWithin = 5 * time.Second
	// orphanPause is the first pause between two looks at those that are dying.
	orphanPause = 200 * time.Microsecond
	longPause   = 10 * time.Millisecond
)

// endOrphans kills what belongs to servers that have ended, and returns when
// nothing of it is left: the children of one that was killed are seen in the
// next pass. It names what it can't kill, see LeftBehind.
func (r *registry) endOrphans() {
	deadline := time.Now().Add(orphansWithin)
	killed := family{}
	for pass, pause := 0, orphanPause; ; pass++ {
		left, fresh := r.pass(killed, pass == 0, time.Now().After(deadline))
		switch {
		case left == 0:
			return
		case fresh: // they may multiply: there is no time to lose
			pause = orphanPause
		default:
			<-time.After(pause)
			pause = min(2*pause, longPause)
		}
	}
}

// pass kills each orphan of ended servers, and notes it in killed. It returns
// how many of them are still alive, and whether there was one that was not
// killed before. In the last pass those that are left are given up.
func (r *registry) pass(killed family, first, last bool) (left int, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.token == "" {
		return 0, false
	}
	if r.closed && !last {
		left = r.dying() // before the orphans are listed: a server that ends in between leaves new ones
	}
	var doomed []relative
	for _, one := range r.orphans() {
		switch {
		case one.zombie && one.parent == os.Getpid() && one.group != ownGroup():
			r.table.reap(one)
		case r.doomed(one):
			doomed = append(doomed, one)
		}
	}
	if first && len(doomed) > 0 { // what descends from them may have lost its mark
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
		r.ended = family{}
	}
	return left, fresh
}

// dying returns how many servers have not ended yet: what they started becomes
// an orphan when they do. The caller holds the lock.
func (r *registry) dying() (n int) {
	for p := range r.peers {
		if p, ok := p.(*process); ok {
			if one, ok := r.table.look(p.cmd.Process.Pid); ok && !one.zombie {
				n++
			}
		}
	}
	return n
}

// giveUp notes a process that can't be killed. The caller holds the lock.
func (r *registry) giveUp(one relative, why string) {
	r.lost[one.pid] = one.start
	command := strings.TrimSpace(strings.ReplaceAll(r.table.commandLine(one.pid), "\x00", " "))
	r.left = append(r.left, leftover{one.pid, command[:min(len(command), mostCommand)], why})
}

// mostCommand bounds what is kept of a command line.
const mostCommand = 16 << 10

// shownCommand returns a command line, bounded and escaped.
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

// retire says that the server has ended, as all in known is to. The caller does
// not hold the lock.
func (r *registry) retire(owner string, known family) {
	r.mu.Lock()
	delete(r.owners, owner)
	for pid, start := range known {
		r.ended[pid] = start
	}
	r.mu.Unlock()
	r.endOrphans()
}
