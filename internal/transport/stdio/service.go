package stdio

import (
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// serviceTail is how many bytes at the end of a service's output are kept.
const serviceTail = 16 << 10

// A Service is a server process that is reached over the network, not over its stdin and stdout.
// Its stdin stays open and empty, because some servers exit at the end of stdin. The end of its
// output is kept, because it may explain a failure.
type Service struct {
	process *process
	in      io.WriteCloser
	out     io.ReadCloser
	exited  chan struct{} // closed when the process has ended, and the rest of its group was killed
	done    chan struct{} // closed when run has returned: nothing is left to clean up
	stop    sync.Once

	mu     sync.Mutex
	tail   []byte
	detail string
	code   int
}

// StartService starts the command in its own process group. The error is a
// *StartError if it could not be started.
func StartService(c Command) (*Service, error) {
	near, far, err := newSystemPipes()
	if err != nil {
		return nil, err
	}
	// stdout and stderr share one pipe, so that their lines keep their order.
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
	go s.run(heard)
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

// run waits for the process to exit and cleans up.
func (s *Service) run(heard chan struct{}) {
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
	case <-timer.C: // a process outside the group holds the pipe open
	}
	closeAll(s.in, s.out)
	<-heard
	close(s.exited)
}

// PID returns the id of the process that was started, and of its group.
func (s *Service) PID() int { return s.process.cmd.Process.Pid }

// Exited returns a channel that is closed when the process that was started
// has exited and the rest of its group was killed.
func (s *Service) Exited() <-chan struct{} { return s.exited }

// Ending returns how the process exited, once Exited is closed.
func (s *Service) Ending() (detail string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.detail, s.code
}

// Output returns the end of what the service has written to stdout and stderr
// so far.
func (s *Service) Output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.tail)
}

// Stop ends the process with its group and, after AdoptOrphans, with all its descendants: it sends
// SIGTERM to the group, where the system has that signal, and SIGKILL when patience ends. It
// returns when all of them are gone, or at the latest killWithin after SIGKILL, and reports whether
// it had to kill.
func (s *Service) Stop(patience transport.Patience) (killed bool) {
	s.stop.Do(func() {
		s.Track(s.PID()) // this also keeps records of all its descendants
		gone := s.process.signal("TERM", func() {}) && awaitWithin(s.exited, patience.AfterTerm)
		if killed = !gone && !awaitWithin(s.exited, 0); killed {
			s.process.kill()
		}
		awaitWithin(s.done, killWithin)
	})
	return killed
}

// Members returns the processes that the service currently consists of: those of its group, their
// descendants and, after AdoptOrphans, its orphans, including those without a readable mark, which
// may belong to another server. It returns an empty list if the system does not list processes.
func (s *Service) Members() []int {
	all, members := system{}.all(), processSet{}
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

// Usage returns the memory, in bytes, and the number of the service's processes: those of its group
// and all their descendants. If limit is 0, or if an upper bound of the memory does not exceed
// limit, Usage returns that upper bound, which is cheap to determine. Otherwise memory that several
// processes share counts once. Usage returns false if the service has exited, or if the system does
// not report these numbers.
func (s *Service) Usage(limit int64) (memory int64, processes int, known bool) {
	s.process.mu.Lock()
	defer s.process.mu.Unlock()
	if s.process.gone {
		return 0, 0, false
	}
	return usageOf(s.PID(), limit)
}

// Track records members that must end with the service even if they move to another group or
// session. It has no effect unless AdoptOrphans was called before the service was started.
func (s *Service) Track(pids ...int) { s.process.track(pids...) }
