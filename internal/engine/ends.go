package engine

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A server that the run started for a URL may end by itself where no case
// brings that about: after so many requests, or when it likes. It is started
// again, and what it disturbed runs once more, but that is told; and a server
// that goes on ending while requests wait for it is not judged to the last case.

// ends counts what is known of the ends of the process that conversations share.
type ends struct {
	explained atomic.Int64 // those that units brought about on a process of their own, too

	mu      sync.Mutex
	pending map[*unit]*opener // units that may have brought about an end: running, or to be run again
}

// begin makes the unit one that may bring about an end.
func (e *ends) begin(u *unit, o *opener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pending == nil {
		e.pending = map[*unit]*opener{}
	}
	e.pending[u] = o
}

// settle says that it is known which ends the unit brought about.
func (e *ends) settle(u *unit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.pending, u)
}

// countUndecided returns how many conversations ended of units that have not been run
// again: each may explain one end, for a unit opens another after each.
func (e *ends) countUndecided() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, o := range e.pending {
		n += o.exits()
	}
	return n
}

// mostEnds is how many ends that nobody explains a run takes.
const mostEnds = 5

// endingError is why the run ends.
type endingError struct{ ended int }

func (e *endingError) Error() string {
	return fmt.Sprintf("the server's process exited by itself %s while requests waited for a response", countTimes(e.ended))
}

// endEarly ends the run where the process ended too often, with requests that
// it had not answered, and no case by itself brings that about.
func (r *session) endEarly() {
	sharer, ok := r.o.Dialer.(transport.Sharer)
	if !ok || r.stop == nil {
		return
	}
	cut := 0
	for _, e := range sharer.Endings() {
		if e.Cut {
			cut++
		}
	}
	if unexplained := cut - int(r.ends.explained.Load()) - r.ends.countUndecided(); unexplained >= mostEnds {
		r.stop(&endingError{unexplained})
	}
}

// endsNotice tells of the ends that nobody explains, "" where there are none.
func (r *session) endsNotice() string {
	sharer, ok := r.o.Dialer.(transport.Sharer)
	if !ok {
		return ""
	}
	all := sharer.Endings()
	n := len(all) - int(r.ends.explained.Load())
	if n <= 0 {
		return ""
	}
	last := all[len(all)-1]
	text := fmt.Sprintf("the server's process exited by itself %s, and no case causes that alone: %s", countTimes(n), last.Detail)
	if words := lastLines(r.o.Redactor.Known(last.Output)); words != "" {
		text += "; it wrote last: " + words
	}
	return text
}

func countTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Bounds of what is quoted of a server's output.
const (
	linesShown  = 3
	widestLines = 300
)

func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	lines = lines[max(0, len(lines)-linesShown):]
	for i := range lines {
		lines[i] = wire.Excerpt(strings.TrimSpace(lines[i]), widestLines/linesShown)
	}
	return strings.Join(lines, " | ")
}
