package stdio

import (
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// serviceTail is how much is kept of the end of what a service wrote.
const serviceTail = 16 << 10

// Service is a server process that is not spoken to over its streams. It has
// an input that stays open and empty, for some servers end with theirs; what
// it writes is kept as far as it may explain something.
type Service struct {
	process *process
	in, out *os.File
	exited  chan struct{} // the process that was started has ended
	done    chan struct{} // nothing is left
	stop    sync.Once

	mu     sync.Mutex
	tail   []byte
	detail string
	code   int
}

// StartService starts the command in a process group of its own. The error is
// a *StartError when it could not be started.
func StartService(c Command) (*Service, error) {
	near, far, err := pipes()
	if err != nil {
		return nil, err
	}
	// Both outputs go one way, so that their lines keep their order.
	closeAll(near.err, far.err)
	far.err = far.out
	p, err := alive.add(func() (peer, error) { return startProcess(c, far) })
	if err != nil {
		near.close()
		far.close()
		return nil, err
	}
	s := &Service{process: p.(*process), in: near.in, out: near.out, exited: make(chan struct{}), done: make(chan struct{})}
	heard := make(chan struct{})
	go s.listen(heard)
	go s.live(heard)
	return s, nil
}

func (s *Service) listen(heard chan struct{}) {
	defer close(heard)
	buf := make([]byte, 4<<10)
	for {
		n, err := s.out.Read(buf)
		s.mu.Lock()
		s.tail = append(s.tail, buf[:n]...)
		if over := len(s.tail) - serviceTail; over > 0 {
			s.tail = append(s.tail[:0], s.tail[over:]...)
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// live follows the process to its end and clears up after it.
func (s *Service) live(heard chan struct{}) {
	defer close(s.done)
	defer alive.remove(s.process)
	s.process.awaitExit()
	detail, code := s.process.clear()
	s.mu.Lock()
	s.detail, s.code = detail, code
	s.mu.Unlock()
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-heard:
	case <-timer.C: // a process that escaped holds it open
	}
	closeAll(s.in, s.out)
	<-heard
	close(s.exited)
}

// PID is that of the process that was started, and of its group.
func (s *Service) PID() int { return s.process.cmd.Process.Pid }

// Exited is closed when the process that was started has ended and the rest of
// its group was killed.
func (s *Service) Exited() <-chan struct{} { return s.exited }

// Ending tells how the process ended, once Exited is closed.
func (s *Service) Ending() (detail string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.detail, s.code
}

// Output returns the end of what came on its stdout and stderr so far.
func (s *Service) Output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.tail)
}

// Stop ends the process with all its descendants: SIGTERM to its group, where
// there is such a thing, SIGKILL when patience ends. It returns when nothing
// is left, and reports whether it had to kill.
func (s *Service) Stop(patience transport.Patience) (killed bool) {
	s.stop.Do(func() {
		s.Keep(s.PID()) // and so its descendants
		gone := s.process.signal("TERM", func() {}) && within(s.exited, patience.AfterTerm)
		if killed = !gone && !within(s.exited, 0); killed {
			s.process.kill()
		}
		within(s.done, killWithin)
	})
	return killed
}

// Members returns the processes that the service consists of at this moment:
// those of its group, their descendants, and after Adopt the orphans among them,
// also those of which the system does not say whose they are. It is empty where
// the system does not tell.
func (s *Service) Members() []int {
	all, members := system{}.all(), family{}
	roots := []int{s.PID()}
	for pid, r := range all {
		if r.group == s.PID() {
			roots = append(roots, pid)
		}
	}
	roots = append(roots, alive.orphansOf(s.process.owner)...)
	members.gather(all, roots...)
	return slices.Collect(maps.Keys(members))
}

// Keep notes members that are to end with the service, wherever they went.
func (s *Service) Keep(pids ...int) { s.process.keep(pids...) }
