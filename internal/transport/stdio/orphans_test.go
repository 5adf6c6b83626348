package stdio

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A fakeTable is a processTable in which each kill can make other processes
// fork, exit and become orphans.
type fakeTable struct {
	procs map[int]processInfo
	marks map[int]string
	fails map[int]error // why a process can't be killed; nil if it ignores the kill
	step  func()        // called after each kill
	after func()        // called after each list of our children
	kills []int
	next  int
}

func newFakeTable() *fakeTable {
	return &fakeTable{procs: map[int]processInfo{}, marks: map[int]string{}, fails: map[int]error{}, step: func() {}, after: func() {}, next: 1 << 24}
}

// spawn adds a process in its own group and returns its pid.
func (f *fakeTable) spawn(parent int, mark string) int {
	f.next++
	f.procs[f.next] = processInfo{pid: f.next, parent: parent, group: f.next, start: uint64(f.next)}
	f.marks[f.next] = mark
	return f.next
}

// end makes a process a zombie and its children ours.
func (f *fakeTable) end(pid int) {
	r := f.procs[pid]
	r.zombie = true
	f.procs[pid] = r
	for child, r := range f.procs {
		if r.parent == pid {
			r.parent = os.Getpid()
			f.procs[child] = r
		}
	}
}

func (f *fakeTable) all() map[int]processInfo { return f.procs }

func (f *fakeTable) suspects() []processInfo {
	defer f.after()
	return childrenIn(f.procs, os.Getpid())
}

func childrenIn(all map[int]processInfo, parent int) (out []processInfo) {
	for _, r := range all {
		if r.parent == parent {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b processInfo) int { return a.pid - b.pid })
	return out
}

func (f *fakeTable) look(pid int) (processInfo, bool) { r, ok := f.procs[pid]; return r, ok }
func (f *fakeTable) markOf(pid int) string            { return f.marks[pid] }
func (f *fakeTable) reap(r processInfo)               { delete(f.procs, r.pid) }
func (f *fakeTable) commandLine(pid int) string       { return fmt.Sprintf("sleep\x00%d\x1b[2J", pid) }

func (f *fakeTable) kill(r processInfo) error {
	if err, fails := f.fails[r.pid]; fails {
		return err
	}
	f.kills = append(f.kills, r.pid)
	f.end(r.pid)
	f.step()
	return nil
}

// adoptingRegistry returns a registry as after Adopt, with living servers.
func adoptingRegistry(f *fakeTable, servers int) (*registry, []string) {
	r := newRegistry(f)
	r.adopting, r.alone, r.token, r.outsider = true, true, "TOKEN", "OUTSIDER"
	var names []string
	for range servers {
		names = append(names, r.newOwner())
	}
	return r, names
}

// TestOrphansEnd checks that retiring a server kills all its processes, even if they fork
// while they are being killed, that it kills no other process, and that in the end no
// process of any server is left.
func TestOrphansEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFakeTable()
		r, names := adoptingRegistry(f, rapid.IntRange(1, 4).Draw(t, "servers"))
		own := map[int]string{} // the owner of each process
		add := func(parent int, owner, mark string) {
			own[f.spawn(parent, mark)] = owner
		}
		for range rapid.IntRange(0, 20).Draw(t, "processes") {
			owner := rapid.SampledFrom(names).Draw(t, "owner")
			parent := os.Getpid()
			for pid, of := range own {
				if of == owner && rapid.Bool().Draw(t, "below another") {
					parent = pid
					break
				}
			}
			// A process without a mark is only known by its descent.
			mark := rapid.SampledFrom([]string{owner, "AROUND.1/" + owner, owner + "/WITHIN.2"}).Draw(t, "mark")
			if parent != os.Getpid() && rapid.Bool().Draw(t, "hides") {
				mark = ""
			}
			add(parent, owner, mark)
		}
		outsider, stranger := f.spawn(os.Getpid(), r.outsider), f.spawn(1, "")
		breeds := rapid.IntRange(0, 10).Draw(t, "breeds")
		f.step = func() {
			if breeds > 0 {
				breeds--
				owner := own[f.kills[len(f.kills)-1]]
				add(os.Getpid(), owner, owner)
			}
		}
		for _, ended := range rapid.Permutation(names).Draw(t, "order") {
			f.kills = nil
			r.retire(ended, processSet{})
			for _, pid := range f.kills {
				if own[pid] != ended {
					t.Fatalf("process %d of %q was killed when %q ended", pid, own[pid], ended)
				}
			}
			for pid, owner := range own {
				if _, there := f.procs[pid]; there && owner == ended {
					t.Fatalf("process %d of %q is left", pid, ended)
				}
			}
		}
		if len(f.procs) != 2 || f.procs[outsider].zombie || f.procs[stranger].zombie {
			t.Fatalf("of the others there are %v", f.procs)
		}
		if len(r.left) != 0 || len(r.ended) != 0 {
			t.Fatalf("left %v, remembered %v", r.left, r.ended)
		}
	})
}

// TestOrphansOfAServerThatEndsMeanwhile checks that KillAll leaves no process
// of a server that exits just after the orphans were listed.
func TestOrphansOfAServerThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFakeTable()
	r, names := adoptingRegistry(f, 1)
	leader := f.spawn(os.Getpid(), names[0])
	child := f.spawn(leader, names[0])
	r.peers[&process{cmd: &exec.Cmd{Process: &os.Process{Pid: leader}}}] = struct{}{}
	r.closed = true
	f.after = func() {
		f.end(leader)
		delete(f.procs, leader)
		f.after = func() {}
	}
	r.endOrphans()
	if _, there := f.procs[child]; there {
		t.Error("the child of the server is left")
	}
}

// TestUnmarkedOrphans checks that a process that cleared its environment is killed with the
// last server, unless it may not belong to any server.
func TestUnmarkedOrphans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		group int
		alone bool
		want  bool
	}{
		"of a server":                         {group: 1 << 20, alone: true, want: true},
		"in this program's group":             {group: ownGroup(), alone: true},
		"there may be children of the caller": {group: 1 << 20},
	} {
		f := newFakeTable()
		r, names := adoptingRegistry(f, 2)
		r.alone = c.alone
		pid := f.spawn(os.Getpid(), "")
		one := f.procs[pid]
		one.group = c.group
		f.procs[pid] = one
		r.retire(names[0], processSet{})
		if len(f.kills) > 0 {
			t.Errorf("%s: killed while a server lived that it may belong to", name)
		}
		r.retire(names[1], processSet{})
		if got := len(f.kills) > 0; got != c.want {
			t.Errorf("%s: killed is %v", name, got)
		}
	}
}

// TestUnkillableOrphansAreNamed checks that orphans that can't be killed are listed once
// each, with their escaped command lines, and that the others are killed.
func TestUnkillableOrphansAreNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeTable()
		r, names := adoptingRegistry(f, 2)
		forbidden, deaf := f.spawn(os.Getpid(), names[0]), f.spawn(os.Getpid(), names[0])
		f.fails[forbidden], f.fails[deaf] = syscall.EPERM, nil
		other := f.spawn(os.Getpid(), names[0])
		r.retire(names[0], processSet{})
		r.retire(names[1], processSet{})
		if diff := cmp.Diff([]string{
			fmt.Sprintf(`process %d (sleep %d\x1b[2j), which the server started, could not be ended: operation not permitted`, forbidden, forbidden),
			fmt.Sprintf(`process %d (sleep %d\x1b[2j), which the server started, could not be ended: it was killed, and has not ended`, deaf, deaf),
		}, r.takeLeftovers(strings.ToLower)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if _, there := f.procs[other]; there {
			t.Error("the one that could be killed is left")
		}
	})
	if got := shownCommand(strings.Repeat("ä", 500)); len(got) > commandSize+len("…") || strings.ContainsRune(got, '�') {
		t.Errorf("a long command line is shown as %q", got)
	}
}

// TestMarks checks that a program that has a mark itself appends to it.
func TestMarks(t *testing.T) {
	t.Parallel()
	r, _ := adoptingRegistry(newFakeTable(), 0)
	env := []string{"A=1", markVariable + "=OUTER.7", "B=2"}
	if diff := cmp.Diff([]string{"A=1", "B=2", markVariable + "=OUTER.7/TOKEN.1"}, r.withMark(env, r.newOwner())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if env[1] != markVariable+"=OUTER.7" {
		t.Error("the environment was changed in place")
	}
	if diff := cmp.Diff(env, newRegistry(newFakeTable()).withMark(env, "")); diff != "" {
		t.Errorf("without Adopt: -want +got:\n%s", diff)
	}
	if got := markIn([]byte("A=1\x00" + markVariable + "=X/Y.1\x00B=2\x00")); got != "X/Y.1" {
		t.Errorf("the mark is %q", got)
	}
}
